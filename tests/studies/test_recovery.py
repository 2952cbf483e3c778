# SPDX-License-Identifier: Apache-2.0
"""The study of recovery: which scenarios, which locks, and what a record of it holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from fake_records import CATALOG, a_lock, a_study, workloads
from measured_records import runs_of, total

from lockyard import harness
from lockyard.catalog import Choice
from lockyard.errors import ExitStatus, UsageError
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

LOCKS = (a_lock("resilient_spinlock"), a_lock("resilient_mutex"))
NAMES = tuple(lock.name for lock in LOCKS)
SCENARIOS = (
    Choice("aa", "", 1, 0.1, 1.0),
    Choice("stuck8", "stuck", 9, 0.6, 4.0),
    Choice("ordered", "", 0, 0.1, 1.0),
)
RECOVERY = a_study(
    "recovery",
    measures="some_locks",
    takes="none",
    parameters=(workloads(*SCENARIOS),),
    only_locks=NAMES,
)
WAIT = CATALOG.select_studies(["wait"])
STUCK = ("stuck1", "stuck2", "stuck8", "stuck64")


def planned(request: Request, *others: Any) -> list[tuple[Any, ...]]:
    cells = plan_cells([RECOVERY, *others], CATALOG.locks[:1], request)
    return [
        (cell.study, cell.lock, cell.threads, dict(cell.parameters).get("workload"))
        for cell in cells
    ]


def test_has_a_cell_for_each_lock_in_each_scenario_with_the_threads_that_it_takes() -> None:
    assert planned(Request([2, 4], recovering=LOCKS), *WAIT) == [
        ("recovery", "resilient_spinlock", 1, "aa"),
        ("recovery", "resilient_mutex", 1, "aa"),
        ("recovery", "resilient_spinlock", 9, "stuck8"),
        ("recovery", "resilient_mutex", 9, "stuck8"),
        ("recovery", "resilient_spinlock", 2, "ordered"),
        ("recovery", "resilient_mutex", 2, "ordered"),
        ("recovery", "resilient_spinlock", 4, "ordered"),
        ("recovery", "resilient_mutex", 4, "ordered"),
        ("wait", "ticket_spinlock", 2, None),
        ("wait", "ticket_spinlock", 4, None),
    ]
    one = Request([2], recovering=LOCKS[1:], parameters={"workload": ["stuck8"]})
    assert planned(one) == [("recovery", "resilient_mutex", 9, "stuck8")]


def test_what_waits_for_a_time_out_has_more_time_unless_some_was_given() -> None:
    cells = plan_cells([RECOVERY], (), Request([2], recovering=LOCKS[:1]))
    assert [cell.budget_s for cell in cells] == [1.0, 4.0, 1.0]
    cells = plan_cells([RECOVERY], (), Request([2], recovering=LOCKS[:1], budget_s=3.0))
    assert [cell.budget_s for cell in cells] == [3.0, 3.0, 3.0]


def test_refuses_requests_that_measure_nothing() -> None:
    with pytest.raises(
        UsageError,
        match="measures only resilient_spinlock, resilient_mutex, and --locks names none",
    ):
        planned(Request([2]))


def test_finds_scenarios_by_name_and_by_group() -> None:
    recovery = harness.catalog().select_studies(["recovery"])

    def named(*names: str) -> list[Any]:
        request = Request([2], recovering=LOCKS[:1], parameters={"workload": names})
        cells = plan_cells(recovery, LOCKS, request)
        return [dict(cell.parameters)["workload"] for cell in cells]

    assert named("stuck", "aa", "stuck8") == ["aa", *STUCK]
    assert named("cycle4") == ["cycle4"]
    with pytest.raises(UsageError, match="--workload stack: unknown workload; did you mean stuck"):
        named("stack")


def test_finds_the_resilient_locks_that_recover() -> None:
    catalog = harness.catalog()
    studies = catalog.select_studies(["recovery"])
    cells = plan_cells(studies, (), Request([2], recovering=catalog.select_recovering(["all"])))
    assert tuple(dict.fromkeys(cell.lock for cell in cells)) == NAMES  # and no control
    others = catalog.select_recovering(["resilient_mutex[plain]", "seeds", "peers"])
    with pytest.raises(
        UsageError,
        match="measures only resilient_spinlock, resilient_mutex, broken_lock, and --locks",
    ):
        plan_cells(studies, (), Request([2], recovering=others))


def run_it(lockyard: Callable[..., Outcome], scenarios: str, *arguments: str) -> Outcome:
    return lockyard("measure", "recovery", "--workload", scenarios, *arguments, "--runs", "1")


def measured(
    lockyard: Callable[..., Outcome],
    scenarios: str,
    *arguments: str,
    status: ExitStatus = ExitStatus.DONE,
) -> list[dict[str, Any]]:
    found = run_it(lockyard, scenarios, *arguments, "--json")
    return runs_of(found, (status,))


def scenario_of(run: dict[str, Any]) -> str:
    return str(run["conditions"]["parameters"]["workload"])


def test_every_lock_reports_each_fault_by_its_name(lockyard: Callable[..., Outcome]) -> None:
    runs = measured(lockyard, "aa,abba,cycle,dead", "--loops", "30", "--for", "20s")
    assert {(run["lock"], scenario_of(run)) for run in runs} == {
        (name, scenario)
        for name in NAMES
        for scenario in ("aa", "abba", "cycle3", "cycle4", "cycle8", "dead_waited", "dead_found")
    }
    for run in runs:
        values, answers = run["values"], run["values"]["answers"]
        assert False not in run["checks"].values(), (run["lock"], scenario_of(run))
        assert (values["operations"], values["wrong_answers"]) == (30, 0)
        assert total(run["histograms"]["recovery"]) == 30
        assert values["recovery_max_ns"] > 0
        assert answers["timed_out"] == 0
        if scenario_of(run).startswith("dead"):
            assert answers["owner_dead"] == 30
            assert run["checks"]["released_once"] is True
        elif scenario_of(run) == "aa":
            assert (answers["deadlock"], values["victims"]) == (30, None)
        else:
            threads = run["conditions"]["threads"]
            assert values["victims"] == answers["deadlock"] >= 30
            assert values["innocents_harmed"] == 0
            assert sum(answers.values()) == 30 * threads


def test_every_waiter_leaves_a_stuck_owner_and_none_before_the_limit(
    lockyard: Callable[..., Outcome],
) -> None:
    runs = measured(lockyard, "stuck1,stuck8", "--loops", "1", "--for", "20s")
    assert len(runs) == 4
    for run in runs:
        values = run["values"]
        assert values["answers"]["timed_out"] == run["conditions"]["threads"] - 1
        assert values["wrong_answers"] == 0
        assert run["checks"]["not_before_limit"] is True
        assert (values["pending_limit_ns"], values["head_limit_ns"]) == (250e6, 500e6)


def test_there_is_no_error_without_a_fault(lockyard: Callable[..., Outcome]) -> None:
    arguments = ("--threads", "3", "--loops", "3000", "--for", "20s")
    for run in measured(lockyard, "ordered,gated", *arguments):
        values = run["values"]
        assert run["checks"] == {"no_false_positive": True, "counter": True}
        assert values["complete"]
        assert values["operations"] >= 9000
        assert values["answers"]["acquired"] == values["operations"]
        assert values["false_positives"] == 0


def test_a_lock_that_never_tells_fails_every_scenario(lockyard: Callable[..., Outcome]) -> None:
    arguments = ("--locks", "broken_lock", "--loops", "5")
    status = ExitStatus.CHECK_FAILED
    runs = measured(lockyard, "aa,abba,cycle3,stuck2,dead", *arguments, status=status)
    assert len(runs) == 6
    for run in runs:
        assert run["checks"]["right_answers"] is False, scenario_of(run)
        assert run["values"]["wrong_answers"] >= 5


def test_shows_a_row_for_each_lock_in_each_scenario(lockyard: Callable[..., Outcome]) -> None:
    arguments = ("--threads", "2", "--for", "60ms", "--against", "resilient_spinlock")
    scenarios = "cycle3,dead_found,ordered"
    shown = lockyard(
        *("measure", "recovery", "--workload", scenarios, *arguments, "--runs", "2"),
        extra={"COLUMNS": "200"},
    )
    assert shown.returncode == 0, shown.stderr
    for words in ("recovery: from the fault to the error", "p50 < 2 ms, p99 < 6 ms"):
        assert words in shown.stdout, words
    for words in ("recovery: traffic without faults", "p50 / resilient_spinlock"):
        assert words in shown.stdout, words
    rows = [line.split()[:2] for line in shown.stdout.splitlines() if " resilient_" in line]
    listed = [[name, each] for name in NAMES for each in ("cycle3", "dead_found")]
    assert [row for row in rows if row in listed] == listed
    assert ["resilient_mutex", "ordered"] in rows


def test_the_verdict_names_the_scenario_that_failed(lockyard: Callable[..., Outcome]) -> None:
    shown = run_it(lockyard, "cycle3", "--locks", "broken_lock", "--loops", "5")
    assert shown.returncode == ExitStatus.CHECK_FAILED
    assert "Do not use broken_lock: BROKEN, failed the checks of recovery." in shown.stdout
    # With a nice value other than 0, the cell's name has it in between.
    words = " ".join(shown.stdout.split())
    assert re.search(r"\[recovery · broken_lock · 4 threads ·.* workload cycle3\]", words)
    assert (
        "recovery cycle3 of broken_lock with 4 threads failed its checks (right_answers)"
        in shown.stdout
    )


def test_completes_groups_and_names(lockyard: Callable[..., Outcome]) -> None:
    completed = lockyard(
        extra={
            "_LOCKYARD_COMPLETE": "complete_bash",
            "COMP_WORDS": "lockyard measure recovery --workload aa,stuck",
            "COMP_CWORD": "4",
        }
    )
    assert completed.stdout.split() == [f"aa,{name}" for name in ("stuck", *STUCK)]
