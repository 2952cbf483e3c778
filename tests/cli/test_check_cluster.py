# SPDX-License-Identifier: Apache-2.0
"""`lockyard check --cluster`: checks on workers that may be lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_cluster import FakeCluster

from lockyard.campaign.engine import LostError, Worker
from lockyard.checker import Checker
from lockyard.checks import clients, mutations, on_cluster
from lockyard.checks.clients import ClientSize
from lockyard.checks.result import Check, Settings
from lockyard.checks.session import Session
from lockyard.errors import LockyardError, MissingCapabilityError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    from lockyard.checks.clients import Client


@pytest.fixture(scope="module")
def locks() -> list[Client]:
    with Checker() as checker:
        return clients.named(clients.listed(checker), ["tas_spinlock", "ticket_spinlock"])


@pytest.fixture
def checks(locks: list[Client]) -> list[Check]:
    return [Check(each, ClientSize(), Settings()) for each in locks]


def checked(pool: FakeCluster, checks: list[Check]) -> list[tuple[str, str, str]]:
    found = on_cluster.results(pool, checks)  # type: ignore[arg-type]
    return [(each.check.client.name, each.verdict, each.left_out) for each in found]


def test_workers_check_again_what_a_lost_worker_did_not(checks: list[Check]) -> None:
    pool = FakeCluster(LostError("gone"))
    assert checked(pool, checks) == [
        ("tas_spinlock", "passed", ""),
        ("ticket_spinlock", "passed", ""),
    ]
    assert len(pool.tasks) == 3


def test_check_whose_worker_is_lost_each_time_is_inconclusive(checks: list[Check]) -> None:
    pool = FakeCluster(*(LostError("gone") for _ in range(3)))
    assert checked(pool, checks) == [
        ("tas_spinlock", "inconclusive", "gone"),
        ("ticket_spinlock", "passed", ""),
    ]


class FailingCluster(FakeCluster):
    """Its list of workers raises after the first `calls` calls."""

    def __init__(self, calls: int, error: Exception) -> None:
        super().__init__()
        self._calls = calls
        self._error = error

    def workers(self) -> list[Worker]:
        if len(self.tasks) >= self._calls:
            raise self._error
        return super().workers()


@pytest.mark.parametrize("error", [MissingCapabilityError("too old"), LostError("too old")])
def test_cluster_that_fails_keeps_what_was_checked(checks: list[Check], error: Exception) -> None:
    first, second = checked(FailingCluster(1, error), checks)
    assert first == ("tas_spinlock", "passed", "")
    assert second[:2] == ("ticket_spinlock", "inconclusive")
    assert "too old" in second[2]
    with pytest.raises(LockyardError, match="too old"):
        checked(FailingCluster(0, error), checks)


def test_workers_check_mutants(locks: list[Client]) -> None:
    ticket = locks[1:]
    with Checker() as checker:
        session = Session(checker)
        wanted = mutations.mutations_of(session, ticket, [], Settings())
        here = list(mutations.results(session, wanted, Settings(), {}))
    there = list(on_cluster.mutation_results(FakeCluster(), wanted, Settings(), {}))  # type: ignore[arg-type]
    assert wanted
    assert [_summary(each) for each in there] == [_summary(each) for each in here]
    lost = FakeCluster(*(LostError("gone") for _ in range(3)))
    first = next(on_cluster.mutation_results(lost, wanted, Settings(), {}))  # type: ignore[arg-type]
    assert (first.outcome, first.last.left_out) == ("undecided", "gone")


def _summary(each: mutations.MutationResult) -> Any:
    return (each.mutation.words, each.outcome, each.checks, each.last.verdict, each.last.executions)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--bench"], "--bench runs on this machine alone"),
        (["ticket_spinlock", "--replay", "2x1:0"], "--replay runs on this machine alone"),
        (["--lock", "mine.hpp:mine"], "exclude each other"),
    ],
)
def test_refuses_what_only_this_machine_can_do(
    lockyard: Callable[..., Outcome],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.hpp").touch()
    refused = lockyard("check", *arguments, "--cluster", "tcp://127.0.0.1:1")
    assert refused.returncode == 2
    assert expected in " ".join(refused.stderr.split())
