# SPDX-License-Identifier: Apache-2.0
"""The study torture: what is planned, measured and shown."""

from __future__ import annotations

import os
import statistics
from typing import TYPE_CHECKING, Any

import pytest
from fake_records import CATALOG, a_study, workloads
from fake_scaling import RECOVERING, rows_of, tables_of
from measured_records import measured

from lockyard import harness
from lockyard.errors import UsageError
from lockyard.measure.parameters import check_names
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.measure.work import NONE, Work
from lockyard.report.scaling import PUBLISHED_NAMES, published_means, published_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conftest import Outcome


TORTURE = a_study("torture", takes="none", parameters=(workloads("classic", "nohold"),))
SCALE = a_study("scale", takes="none", parameters=(workloads("lock1", "lock2"),))
WAIT = CATALOG.select_studies(["wait"])


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


def test_without_long_holds_nothing_was_published() -> None:
    text = tables_of("torture", ("classic", 4), ("nohold", 4))
    classic, nohold, mean = rows_of(text, RECOVERING.name)
    assert classic.endswith("0.50 [0.50, 0.50] 1.39 19.2 M/s 0.98 (mean) –")
    assert nohold.endswith("0.50 [0.50, 0.50]")
    assert mean.endswith("2 0.50 [0.50, 0.50] – – – –")


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
