# SPDX-License-Identifier: Apache-2.0
"""The execution that a failed check shows is the simplest that was found in its time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from lockyard.checks.clients import Client, ClientSize
from lockyard.checks.minimal import minimised
from lockyard.checks.result import Check, Result, Settings


def steps(count: int) -> list[dict[str, object]]:
    return [{"text": str(number)} for number in range(count)]


@dataclass
class FakeSession:
    """Fails from a number of preemptions on, in a number of steps at least."""

    preemptions: int
    shortest: int
    first: int  # steps of the first failure that a search without a depth finds
    verdict: str = "race"
    interrupted: bool = False
    asked: list[tuple[int | None, int | None]] = field(default_factory=list)

    def result(self, check: Check) -> Result:
        bound, depth = check.settings.bound, check.settings.depth
        self.asked.append((bound, depth))
        fails = bound is not None and bound >= self.preemptions
        if not fails or (depth is not None and depth < self.shortest):
            return Result(check, "passed")
        found = min(self.first, depth or self.first)
        return Result(check, self.verdict, steps=steps(found), choices=f"{bound}:{found}")


@pytest.fixture
def failure() -> Result:
    client = Client(name="mine", group="lock", summary="", expected="passed", size=ClientSize())
    check = Check(client, ClientSize(), Settings())
    return Result(check, "race", executions=77, steps=steps(40), choices="long")


def test_finds_the_shortest_execution_with_the_fewest_preemptions(failure: Result) -> None:
    session = FakeSession(preemptions=1, shortest=9, first=30)
    found = minimised(session, failure)  # type: ignore[arg-type]
    assert (found.choices, len(found.steps)) == ("1:9", 9)
    assert [bound for bound, depth in session.asked if depth is None] == [0, 1]


def test_keeps_the_counts_of_the_search_that_failed(failure: Result) -> None:
    found = minimised(FakeSession(0, 5, 5), failure)  # type: ignore[arg-type]
    assert found.executions == 77
    assert found.check.settings.bound == 0


def test_keeps_the_failure_if_only_another_one_is_simpler(failure: Result) -> None:
    session = FakeSession(0, 5, 5, verdict="hang")
    assert minimised(session, failure) is failure  # type: ignore[arg-type]
    assert [bound for bound, _ in session.asked] == [0, 1, 2, 3]


@pytest.mark.parametrize("settings", [Settings(bound=2), Settings(search="pct")])
def test_searches_no_further_where_the_user_chose_a_bound(
    failure: Result, settings: Settings
) -> None:
    chosen = replace(failure, check=replace(failure.check, settings=settings))
    session = FakeSession(0, 5, 5)
    assert minimised(session, chosen) is chosen  # type: ignore[arg-type]
    assert session.asked == []
