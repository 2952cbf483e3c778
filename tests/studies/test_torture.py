# SPDX-License-Identifier: Apache-2.0
"""The studies with workloads, torture and scale: what is planned, measured and shown. recovery, the
third one, has its own tests."""

from __future__ import annotations

import os
import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from fake_records import CATALOG, a_lock, a_record, a_study, shown, workloads
from measured_records import runs_of
from rich.console import Console

from lockyard import harness
from lockyard.catalog import Catalog
from lockyard.errors import UsageError
from lockyard.measure.parameters import check_names
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.measure.work import NONE, Work
from lockyard.report.reference import Against
from lockyard.report.scaling import PUBLISHED_NAMES, published_means, published_rows
from lockyard.report.summary import summarise
from lockyard.report.tables import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conftest import Outcome


TORTURE = a_study("torture", takes="none", parameters=(workloads("classic", "nohold"),))
SCALE = a_study("scale", takes="none", parameters=(workloads("lock1", "lock2"),))
WAIT = CATALOG.select_studies(["wait"])
RECOVERING = replace(a_lock("recovering_spinlock"), recovering=True)
SLEEPING = replace(a_lock("recovering_mutex"), recovering=True, family="park")
LOCKS = Catalog("0", (*CATALOG.locks, RECOVERING, SLEEPING), (), (TORTURE, SCALE))


def planned(*studies: Any, names: Sequence[str] = (), **request: Any) -> list[tuple[Any, ...]]:
    given = {"workload": names} if names else {}
    cells = plan_cells(studies, CATALOG.locks[:1], Request([2], parameters=given, **request))
    return [(cell.study, cell.work, dict(cell.parameters).get("workload")) for cell in cells]


def test_has_a_cell_for_each_workload_and_no_lengths() -> None:
    work = [Work(200, 100)]
    assert planned(TORTURE, *WAIT, work=work) == [
        ("torture", NONE, "classic"),
        ("torture", NONE, "nohold"),
        ("wait", work[0], None),
    ]
    named = planned(TORTURE, SCALE, names=["lock2", "nohold"])
    assert named == [("torture", NONE, "nohold"), ("scale", NONE, "lock2")]


@pytest.mark.parametrize(
    ("studies", "request_", "message"),
    [
        ([TORTURE], {"names": ["lock1"]}, "unknown workload; choose from classic, nohold"),
        ([TORTURE, SCALE], {"names": ["lock1"]}, "names no workload of study 'torture'"),
        ([SCALE], {"work": [Work(1)]}, "mean nothing to studies"),
    ],
)
def test_refuses_requests_that_measure_nothing(
    studies: list[Any], request_: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        planned(*studies, **request_)


def test_a_workload_of_studies_that_are_not_measured_is_refused() -> None:
    message = "--workload: applies only to the studies torture and scale: add one of them"
    with pytest.raises(UsageError, match=message):
        check_names(["workload"], WAIT, [*WAIT, TORTURE, SCALE])


def measured(lockyard: Callable[..., Outcome], *arguments: str) -> list[dict[str, Any]]:
    return runs_of(lockyard("measure", *arguments, "--json"), (0, 4))


def test_a_wrong_name_is_refused_with_similar_names(
    lockyard: Callable[..., Outcome],
) -> None:
    refused = lockyard("measure", "scale", "--workload", "lokc1")
    assert refused.returncode == 2
    assert "did you mean lock1" in refused.stderr


def test_every_lock_excludes_in_every_workload_past_the_processors(
    lockyard: Callable[..., Outcome],
) -> None:
    bound = ("--locks", "ours", "--threads", "1,4", "--loops", "300", "--runs", "1")
    runs = measured(lockyard, "torture", "scale", *bound)
    found = {(run["study"], run["conditions"]["parameters"]["workload"]) for run in runs}
    assert found == {
        *(("torture", workload) for workload in ("classic", "nohold")),
        *(("scale", workload) for workload in ("lock1", "lock2", "open1", "open2")),
    }
    passed_on_in_order = {
        lock.name
        for lock in harness.catalog().locks
        if (lock.waiting, lock.fairness) == ("spin", "fifo")
    }
    processors = len(os.sched_getaffinity(0))
    for run in runs:
        values, conditions = run["values"], run["conditions"]
        of = (
            run["study"],
            run["lock"],
            conditions["parameters"]["workload"],
            conditions["threads"],
        )
        assert set(run["checks"].values()) == {True}, of
        done = values["operations_per_thread"]
        if run["lock"] in passed_on_in_order and conditions["threads"] > processors:
            # Each acquisition may take a time slice, so the deadline may end the run first.
            assert len(done) == conditions["threads"], of
            assert max(done) <= 300, of
        else:
            assert done == [300] * conditions["threads"], of
        if conditions["parameters"]["workload"] == "lock1":
            assert values["owner_switches"] is None
        elif conditions["threads"] == 1:
            assert values["owner_switches"] == 1, of


def test_long_holds_come_at_the_same_acquisitions_for_every_lock(
    lockyard: Callable[..., Outcome],
) -> None:
    """One in each 200,000 of a thread alone, so the first of a run are known to within a stretch;
    which block it is decides, not which lock."""
    bound = ("--threads", "1", "--loops", "300000", "--runs", "4", "--seed", "3")
    locks = ("--locks", "queued_spinlock,ticket_spinlock")
    runs = measured(lockyard, "torture", *bound, *locks)
    by_block: dict[tuple[str, int], set[int]] = {}
    for run in runs:
        place = (run["conditions"]["parameters"]["workload"], run["block"])
        by_block.setdefault(place, set()).add(run["values"]["long_holds"])
        assert run["values"]["short_holds"] > 0
        assert run["values"]["yields"] > 0
    assert all(len(found) == 1 for found in by_block.values())
    for (workload, _), (holds,) in by_block.items():
        assert holds in ((1, 2) if workload == "classic" else (0,))


def test_a_lock_that_admits_everybody_is_caught(lockyard: Callable[..., Outcome]) -> None:
    arguments = ("--locks", "broken_lock", "--threads", "4", "--for", "60ms", "--runs", "1")
    for run in measured(lockyard, "torture", "scale", *arguments):
        assert run["checks"]["refused_while_held"] is False


def test_every_lock_of_a_block_has_the_same_think_steps(lockyard: Callable[..., Outcome]) -> None:
    bound = ("--threads", "1", "--for", "60ms", "--runs", "2")
    locks = ("--locks", "queued_spinlock,mutex")
    steps: dict[tuple[str, int], set[int]] = {}
    for run in measured(lockyard, "scale", *bound, *locks):
        place = (run["conditions"]["parameters"]["workload"], run["block"])
        steps.setdefault(place, set()).add(run["values"]["think_steps"])
    assert all(len(found) == 1 for found in steps.values())
    assert all(min(found) > 0 for found in steps.values())


def runs(study: str, lock: str, ratio: float, cell: int, **conditions: Any) -> list[dict[str, Any]]:
    values = {"operations": 1, "operations_per_s": ratio * 1e6, "cpu_share": 1.0}
    return [a_record(study, lock, block, cell, values, **conditions) for block in range(6)]


def tables_of(study: str, *settings: tuple[str, int]) -> str:
    """Makes cells for workloads and threads: a recovering spinlock at 0.5 and a mutex at 0.25."""
    rates = {"ticket_spinlock": 1.0, RECOVERING.name: 0.5, SLEEPING.name: 0.25}
    records = [
        run
        for cell, (workload, threads) in enumerate(settings)
        for lock, rate in rates.items()
        for run in runs(study, lock, rate, cell, parameters={"workload": workload}, threads=threads)
    ]
    against = Against.of("ticket_spinlock", LOCKS)
    return shown(*tables(summarise(records, LOCKS), against, Console(width=300)))


def rows_of(text: str, lock: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(lock)]


def test_the_published_ratios_are_shown_with_recovering_spinlocks_only() -> None:
    text = tables_of("scale", ("lock1", 8), ("lock2", 9))
    first, second, mean = rows_of(text, RECOVERING.name)
    assert first.endswith("0.50 [0.50, 0.50] 0.77 0.99 (mean)")
    assert second.endswith("0.50 [0.50, 0.50] 0.96 (mean) 0.97 (mean)")
    expected = statistics.geometric_mean([0.77, 0.958])
    assert mean.endswith(f"0.50 [0.50, 0.50] {expected:.2f} (mean) 0.98 (mean)")
    assert all(row.endswith("0.25 [0.25, 0.25] – –") for row in rows_of(text, SLEEPING.name))
    assert "conditions compared" not in text


def test_without_long_holds_nothing_was_published() -> None:
    text = tables_of("torture", ("classic", 4), ("nohold", 4))
    classic, nohold, mean = rows_of(text, RECOVERING.name)
    assert classic.endswith("0.50 [0.50, 0.50] 1.39 0.98 (mean)")
    assert nohold.endswith("0.50 [0.50, 0.50]")
    assert mean.endswith("2 0.50 [0.50, 0.50] – –")


def test_each_workload_has_a_mean_over_its_cells_and_all_have_one() -> None:
    text = tables_of("scale", ("lock1", 2), ("lock1", 4), ("lock2", 2))
    titles = [line for line in text.splitlines() if "geometric mean over the cells" in line]
    assert titles == [
        "scale: geometric mean over the cells · lock1",
        "scale: geometric mean over the cells",
    ]
    *_, of_lock1, of_all = rows_of(text, RECOVERING.name)
    assert of_lock1.startswith(f"{RECOVERING.name} 2 0.50")
    assert of_all.startswith(f"{RECOVERING.name} 3 0.50")


def test_the_means_of_whole_tables_agree_with_their_rows() -> None:
    for (workload, architecture), mean in published_means().items():
        rows = [
            ratio
            for (of, on, _), ratio in published_rows().items()
            if (of, on) == (workload, architecture)
        ]
        if rows:  # rounded to two digits
            assert statistics.geometric_mean(rows) == pytest.approx(mean, abs=0.002)


def test_every_published_workload_is_one_of_the_harness() -> None:
    assert set(PUBLISHED_NAMES) <= {
        choice.name for each in harness.catalog().parameters for choice in each.choices
    }
    assert {workload for workload, _ in published_means()} == set(PUBLISHED_NAMES.values())
    assert {of for of, *_ in published_rows()} <= set(PUBLISHED_NAMES.values())
