# SPDX-License-Identifier: Apache-2.0
"""How long the lock is held and how long threads stay away: options, plan, and what is measured."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import pytest
from fake_records import CATALOG, a_count, a_study
from fake_requests import works_of
from measured_records import runs_of

from lockyard.errors import UsageError
from lockyard.measure.parameters import check_names
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.measure.work import NONE, Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

WAIT = CATALOG.select_studies(["wait"])
ALONE = [
    a_study("uncontended", takes="none", threads=1, parameters=(a_count("sleepers", 1, 64, 1),))
]


def test_each_hold_goes_with_each_gap() -> None:
    assert works_of("0, 200ns", "1us,0", "constant") == [
        Work(0, 1000),
        NONE,
        Work(200, 1000),
        Work(200, 0),
    ]


def test_a_gap_may_be_a_multiple_of_the_hold_and_no_cell_comes_twice() -> None:
    assert works_of("0,2us", "1x,10x,0.5x", "constant,exponential") == [
        NONE,
        *(
            Work(2000, gap_ns, kind)
            for kind in ("constant", "exponential")
            for gap_ns in (2000, 20_000, 1000)
        ),
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("1", "0", "constant"), "--hold 1: not a duration"),
        (("0", "x", "constant"), "--gap x: not a duration"),
        (("0", "-1x", "constant"), "--gap -1x: not a duration"),
        (("101ms", "0", "constant"), "--hold 101ms: longer than 100 ms"),
        (("20ms", "10x", "constant"), "--gap 10x: longer than 100 ms"),
        (
            ("0", "0", "normal"),
            "--lengths normal: no such .* bimodal and recorded:FILE",
        ),
    ],
)
def test_refuses_invalid_times(given: tuple[str, str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        works_of(*given)


def test_only_studies_with_a_team_have_cells_for_each_work() -> None:
    request = Request([2], work=[NONE, Work(200)])
    cells = plan_cells([*WAIT, *ALONE], CATALOG.locks[:1], request)
    found = [(cell.study, cell.work.hold_ns) for cell in cells]
    assert found == [("wait", 0), ("wait", 200), ("uncontended", 0)]


@pytest.mark.parametrize(
    ("studies", "request_", "message"),
    [
        (ALONE, Request([1], work=[Work(1)]), "mean nothing to studies"),
        (WAIT, Request([1], work=[Work(0, 1)], as_published=True), "do no work"),
    ],
)
def test_refuses_work_that_no_thread_would_do(
    studies: list[Any], request_: Request, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        plan_cells(studies, CATALOG.locks, request_)


def test_only_uncontended_has_sleepers() -> None:
    given = Request([2], parameters={"sleepers": ["3"]})
    cells = plan_cells([*WAIT, *ALONE], CATALOG.locks[:1], given)
    found = [(cell.study, cell.threads, cell.parameters) for cell in cells]
    assert found == [("wait", 2, ()), ("uncontended", 1, (("sleepers", 3),))]
    (by_default,) = plan_cells(ALONE, CATALOG.locks[:1], Request([2]))
    assert by_default.parameters == (("sleepers", 1),)
    with pytest.raises(UsageError, match="--sleepers: applies only to the study uncontended"):
        check_names(["sleepers"], WAIT, [*WAIT, *ALONE])


def measured(lockyard: Callable[..., Outcome], *arguments: str) -> list[dict[str, Any]]:
    return runs_of(lockyard("measure", *arguments, "--locks", "futex_mutex,null_lock", "--json"))


@pytest.mark.parametrize("study", ["throughput", "wait", "idle"])
@pytest.mark.parametrize("lengths", ["constant", "exponential"])
def test_threads_hold_and_stay_away_for_as_long_as_asked(
    lockyard: Callable[..., Outcome], study: str, lengths: str
) -> None:
    """No operation is shorter than its two lengths together. Other work of the processor only
    makes it longer."""
    work = ("--hold", "20us", "--gap", "1x", "--lengths", lengths)
    runs = measured(lockyard, study, "--threads", "1", "--for", "200ms", *work)
    conditions = runs[0]["conditions"]
    assert (conditions["hold_ns"], conditions["gap_ns"]) == (20_000, 20_000)
    assert conditions["lengths"] == lengths
    each_ns = statistics.median(
        run["values"]["run_ns"] / run["values"]["operations"] for run in runs
    )
    assert each_ns > 0.6 * 40_000  # one of the two alone is half of it
    assert all(run["values"]["work_step_ns"] > 0 for run in runs)


def test_a_pair_is_timed_in_turn_over_many_locks_and_with_sleepers(
    lockyard: Callable[..., Outcome],
) -> None:
    """Only of a lock whose waiters sleep; a control has no waiters at all."""
    runs = measured(lockyard, "uncontended", "--sleepers", "3", "--for", "200ms", "--runs", "2")
    assert {run["lock"] for run in runs} == {"futex_mutex", "null_lock"}
    for run in runs:
        values, sleeps = run["values"], run["lock"] == "futex_mutex"
        assert run["conditions"]["parameters"]["sleepers"] == 3
        assert values["pair_of_64_ns"] > 0
        assert "pair_of_64" in run["histograms"]
        assert (values["pair_beside_sleepers_ns"] is not None) == sleeps
        assert ("pair_beside_sleepers" in run["histograms"]) == sleeps
        assert values["sleepers_share_bucket"] is (False if sleeps else None)  # it has no table
        counted = sum(n for each in run["histograms"].values() for _, n in each["counts"])
        parts = 4 if sleeps else 3
        assert values["operations"] == 1000 * (counted + parts)  # each part warms up
        assert run["checks"]["counter"] is (True if sleeps else None)
