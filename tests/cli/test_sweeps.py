# SPDX-License-Identifier: Apache-2.0
"""Sweeps: their cells, how cells are counted, and the time that is not spent on measuring."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from fake_records import CATALOG, a_record

from lockyard.errors import UsageError
from lockyard.machine.conditions import Conditions
from lockyard.measure.plan import plan_cells, plan_grids
from lockyard.measure.request import Request
from lockyard.measure.sweep import (
    MOST_CELLS,
    check_size,
    expand,
    in_words,
    runs_in_words,
    time_in_words,
)
from lockyard.measure.timing import expected
from lockyard.measure.work import Work
from lockyard.records.overhead import overhead_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

WAIT = CATALOG.select_studies(["wait"])
POLICIES = [Conditions("other"), Conditions("rr", 1), Conditions("fifo", 1)]
SMALL = ("measure", "wait", "--locks", "futex_mutex,std::mutex", "--threads", "1,2")


def grids(**changes: Any) -> Any:
    request = Request(**{"threads": [1, 2, 4, 16], "conditions": POLICIES, **changes})
    return plan_grids(WAIT, CATALOG.locks, request)


def test_each_number_of_threads_goes_with_each_policy_and_each_lock() -> None:
    cells = expand(grids()).cells
    found = [(cell.threads, cell.conditions.policy, cell.lock) for cell in cells]
    assert found == [
        (threads, policy, lock)
        for threads in (1, 2, 4, 16)
        for policy in ("other", "rr", "fifo")
        for lock in ("ticket_spinlock", "futex_mutex")
    ]


def test_counts_cells_without_making_them() -> None:
    """Counts and times cells as if each had been made."""
    request = Request([1, 2], conditions=POLICIES, work=[Work(n) for n in range(1, 40)])
    cells = plan_cells(WAIT, CATALOG.locks, request)
    counted = expand(plan_grids(WAIT, CATALOG.locks, request), most=10)
    assert counted.number == len(cells) == 2 * 3 * 39 * 2
    assert list(counted.cells) == cells[:10]
    assert counted.left_out == len(cells) - 10
    assert counted.expected.runs == sum(expected(cell).runs for cell in cells)
    total_s = sum(expected(cell).total_s for cell in cells)
    assert counted.expected.total_s == pytest.approx(total_s)


def test_a_million_cells_are_counted_and_refused() -> None:
    work = [Work(n) for n in range(1, 1001)]
    many = [Conditions(nice=nice) for nice in range(-20, 20)]
    found = expand(grids(threads=range(1, 1001), conditions=many, work=work))
    assert found.number == 1000 * 40 * 1000 * 2
    assert len(found.cells) == MOST_CELLS
    with pytest.raises(
        UsageError, match=r"80,000,000 cells in [0-9,]+ runs, .* days, so nothing .*--yes"
    ):
        check_size(found)


def test_as_many_cells_as_the_bound_are_accepted() -> None:
    check_size(expand(grids()))


def test_no_cells_are_an_error() -> None:
    with pytest.raises(UsageError, match="0 cells"):
        expand([])
    with pytest.raises(UsageError, match="0 cells"):
        expand(plan_grids(WAIT, [], Request([1, 2])))


def test_a_cell_of_two_sweeps_is_measured_once() -> None:
    both = [*grids(threads=[1, 2]), *grids(threads=[2, 4])]
    assert expand(both).cells == expand(grids(threads=[1, 2, 4])).cells


def test_a_cell_of_two_sweeps_with_other_runs_is_refused() -> None:
    both = [*grids(threads=[2]), *grids(threads=[2], runs=7)]
    with pytest.raises(UsageError, match="wait ticket_spinlock × 2 under the same conditions"):
        expand(both)


@pytest.mark.parametrize(
    ("changes", "runs", "measuring_s"),
    [
        ({}, 9, None),
        ({"runs": 5}, 5, 0.5),  # their number alone: of the study's usual length
        ({"loops": 10, "runs": 4, "budget_s": 2.0}, 4, None),
    ],
)
def test_the_time_of_a_cell_is_known_before(
    changes: dict[str, Any], runs: int, measuring_s: float | None
) -> None:
    (first, *_) = plan_cells(WAIT, CATALOG.locks, Request([2], **changes))
    found = expected(first)
    assert found.runs == runs
    assert found.total_s == pytest.approx(found.measuring_s + found.overhead_s)
    assert found.total_s <= found.at_most_s
    if measuring_s is not None:
        assert found.measuring_s == pytest.approx(measuring_s)


@pytest.mark.parametrize("threads", [1, 16, 512])
@pytest.mark.parametrize("rest_s", [0.0, 2.0])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"runs": 1},
        {"runs": 5000},
        {"budget_s": 0.06},
        {"budget_s": 0.006, "runs": 50},
        {"loops": 100, "runs": 5000, "budget_s": 2.0},  # starting the runs alone takes longer
        {"loops": 100, "budget_s": 0.001},
    ],
)
def test_the_bound_is_never_below_the_estimate(
    changes: dict[str, Any], rest_s: float, threads: int
) -> None:
    request = Request([threads], conditions=[Conditions(rest_s=rest_s)], **changes)
    (first, *_) = plan_cells(WAIT, CATALOG.locks, request)
    found = expected(first)
    assert 0 < found.total_s <= found.at_most_s
    assert 0 <= found.overhead_share <= 1


def test_the_bound_is_what_a_cell_takes_whose_last_run_begins_as_late_as_it_may() -> None:
    cell = plan_cells(WAIT, CATALOG.locks, Request([2], runs=7, budget_s=1.0))[0]
    each_s = expected(cell).overhead_s / expected(cell).runs
    spent_s = cell.budget_s - cell.run_s / 2
    assert cell.limit_s(spent_s - 1e-9) == cell.run_s and cell.limit_s(spent_s + 1e-9) == 0
    assert expected(cell).at_most_s == pytest.approx(spent_s + cell.run_s + each_s)


def test_the_bound_of_loops_follows_from_the_deadline_of_the_last_run() -> None:
    request = Request([2], loops=10, runs=4, budget_s=2.0)
    cell = plan_cells(WAIT, CATALOG.locks, request)[0]
    found = expected(cell)
    spent_s = 1.9
    each_s = found.overhead_s / found.runs
    assert found.at_most_s == pytest.approx(spent_s + cell.limit_s(spent_s) + each_s)


def test_loops_have_a_bound_and_no_estimate() -> None:
    (cell, *_) = plan_cells(WAIT, CATALOG.locks, Request([16], loops=100, runs=5000, budget_s=2.0))
    assert runs_in_words(expected(cell)) == "at most 5,000 runs"
    assert time_in_words(expected(cell)) == "at most 2.0 s"
    timed = expected(plan_cells(WAIT, CATALOG.locks, Request([16], runs=10, budget_s=2.0))[0])
    assert runs_in_words(timed) == "10 runs"
    assert time_in_words(timed) == "about 2.0 s, at most 2.1 s"
    assert time_in_words(timed + expected(cell)) == "at most 4.1 s"
    assert time_in_words(expected(cell) * 3) == "at most 6.0 s"


def test_a_time_too_short_for_a_run_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--for 1ms: too short for a run, .* at least 10 ms"):
        plan_cells(WAIT, CATALOG.locks, Request([2], runs=50, budget_s=0.001))


def test_rests_are_part_of_the_time_and_no_overhead() -> None:
    plain, rested = (
        expected(plan_cells(WAIT, CATALOG.locks, Request([2], conditions=[each]))[0])
        for each in (Conditions(), Conditions(rest_s=2.0))
    )
    assert rested.total_s == pytest.approx(plain.total_s + 2.0 * plain.runs)
    assert rested.overhead_share == plain.overhead_share


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "0.0 s"), (9.94, "9.9 s"), (119, "119 s"), (300, "5.0 min"), (7200, "2.0 h")],
)
def test_times_are_as_people_read_them(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def a_run(run_s: float, spent_s: float, between_s: float, **values: Any) -> dict[str, Any]:
    record = a_record(values={"run_ns": run_s * 1e9, **values})
    return {**record, "spent_s": spent_s, "between_s": between_s}


def test_time_not_spent_on_measuring_follows_from_the_records() -> None:
    failed = {**a_run(0.0, 10.0, 0.0), "status": "crashed"}
    found = overhead_of([a_run(0.2, 0.21, 0.01), a_run(0.1, 0.13, 0.05), failed])
    assert found is not None
    assert found.measured_s == pytest.approx(0.3)
    assert found.around_runs_s == pytest.approx(0.04)
    assert found.between_runs_s == pytest.approx(0.06)
    assert found.overhead_share == pytest.approx(0.1 / 0.4)


def test_each_part_of_a_run_counts_as_measuring_and_never_more_than_the_run() -> None:
    (parts, longer) = (
        overhead_of(
            [
                a_run(
                    0.1, 0.2, 0.0, capacity_run_ns=0.05e9, counting_run_ns=None, plain_run_ns=0.02e9
                )
            ]
        ),
        overhead_of([a_run(0.3, 0.2, 0.0)]),
    )
    assert parts is not None and longer is not None
    assert parts.measured_s == pytest.approx(0.17)
    assert (longer.measured_s, longer.overhead_share) == (0.2, 0.0)


def test_records_of_older_versions_do_not_tell() -> None:
    run = a_run(0.2, 0.21, 0.01)
    del run["between_s"]
    assert overhead_of([run]) is None
    assert overhead_of([]) is None


def test_every_run_says_what_it_took(lockyard: Callable[..., Outcome], tmp_path: Path) -> None:
    """The parts make up the time of the whole command, but for its own start and end."""
    out = tmp_path / "records.jsonl"
    measured = lockyard(*SMALL, "uncontended", "costs", "--for", "200ms", "--out", str(out))
    assert measured.returncode == 0, measured.stderr
    records = [json.loads(line) for line in out.read_text().splitlines()]
    runs = [record for record in records if "record" not in record]
    for run in runs:
        of_run = overhead_of([run])
        assert of_run is not None and 0 < of_run.measured_s <= run["spent_s"]
        assert of_run.between_runs_s == run["between_s"] >= 0
    found = overhead_of(runs)
    assert found is not None
    assert f"time: {found.total_s:.1f} s, of which " in measured.stdout


def test_a_dry_run_prints_the_cells_and_measures_nothing(
    lockyard: Callable[..., Outcome], state: Path, tmp_path: Path
) -> None:
    out = tmp_path / "records.jsonl"
    dry = lockyard(*SMALL, "--policy", "other,fifo", "--dry-run", "--out", str(out))
    assert dry.returncode == 0, dry.stderr
    rows = [line for line in dry.stdout.splitlines() if line.split()[:1] == ["wait"]]
    assert len(rows) == 8
    assert sum("2 threads · policy fifo · priority 1" in row for row in rows) == 2
    assert "9 cells in " in dry.stdout  # with the machine's noise
    assert "nothing was measured" in dry.stdout
    assert not out.exists() and not state.exists()


def test_a_dry_run_of_loops_prints_a_bound_and_no_estimate(
    lockyard: Callable[..., Outcome],
) -> None:
    dry = lockyard(*SMALL, "--loops", "100", "--runs", "5000", "--for", "2s", "--dry-run").stdout
    rows = [" ".join(line.split()) for line in dry.splitlines() if line.split()[:1] == ["wait"]]
    assert len(rows) == 4
    assert all("≤ 5000 100 loops ≤ 2.0 s" in row for row in rows)
    assert "5 cells in at most 20," in dry and "about 8" not in dry
    assert " runs, at most 8." in dry  # with the machine's noise


def test_a_dry_run_is_what_is_measured_then(lockyard: Callable[..., Outcome]) -> None:
    options = (*SMALL, "--runs", "2", "--for", "100ms", "--seed", "4", "--json")
    dry = json.loads(lockyard(*options, "--dry-run").stdout)
    lines = [json.loads(line) for line in lockyard(*options).stdout.splitlines()]
    (plan,) = [line for line in lines if line.get("record") == "plan"]
    assert dry["number"] == len(dry["cells"]) == len(plan["cells"])
    assert dry["cells_left_out"] == 0 and dry["needs_yes"] is False
    assert dry["runs"] == sum(cell["runs"] for cell in dry["cells"])
    assert dry["expected_s"] == pytest.approx(sum(c["expected_s"] for c in dry["cells"]), abs=0.01)
    for cell, planned in zip(dry["cells"], plan["cells"], strict=True):
        assert (cell["study"], cell["lock"]) == (planned["study"], planned["lock"])
        assert (cell["runs"], cell["run_s"]) == (planned["runs"], planned["run_s"])
    asked = dry["cells"][1]["conditions"]
    (run, *_) = [line for line in lines if line.get("cell") == 1]
    assert asked == {key: run["conditions"][key] for key in asked}


def test_too_many_cells_need_a_yes(lockyard: Callable[..., Outcome], state: Path) -> None:
    many = (*SMALL[:4], "--threads", ",".join(map(str, range(1, 1002))))
    refused = lockyard(*many)
    assert refused.returncode == 2
    assert "2,002 cells in " in refused.stderr and "--yes" in refused.stderr
    assert not state.exists()
    dry = json.loads(lockyard(*many, "--dry-run", "--json").stdout)
    assert (dry["number"], dry["cells_left_out"], dry["needs_yes"]) == (2002, 2, True)
    agreed = json.loads(lockyard(*many, "--dry-run", "--yes", "--json").stdout)
    assert (agreed["number"], agreed["cells_left_out"]) == (2003, 0)  # with the machine's noise


def test_short_runs_are_warned_of(lockyard: Callable[..., Outcome]) -> None:
    short = lockyard(*SMALL, "--for", "60ms", "--dry-run")
    assert "starting and ending runs takes about" in short.stdout
    assert "starting and ending" not in lockyard(*SMALL, "--dry-run").stdout


def test_sweeps_over_policies_and_threads(lockyard: Callable[..., Outcome]) -> None:
    measured = lockyard(
        *("measure", "throughput", "--locks", "futex_mutex", "--threads", "1,2,4"),
        *("--policy", "other,rr,fifo", "--hold", "1us", "--gap", "1us", "--runs", "1", "--json"),
    )
    if measured.returncode == 3:
        assert os.geteuid() != 0, measured.stderr
        pytest.skip("real-time policies are not permitted here")
    assert measured.returncode == 0, measured.stderr
    runs = [json.loads(line) for line in measured.stdout.splitlines()]
    found = {
        (run["conditions"]["threads"], run["conditions"]["policy"])
        for run in runs
        if run.get("study") == "throughput" and run["status"] == "ok"
    }
    assert found == {(n, policy) for n in (1, 2, 4) for policy in ("other", "rr", "fifo")}
