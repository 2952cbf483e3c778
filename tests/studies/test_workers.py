# SPDX-License-Identifier: Apache-2.0
"""The study of workers: which pools, which bursts, and what a record of it holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from fake_records import CATALOG, a_count, a_lock, a_study
from measured_records import runs_of, total

from lockyard import harness
from lockyard.catalog import Catalog
from lockyard.errors import UsageError
from lockyard.measure.parameters import check_names
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.measure.work import Work
from lockyard.records.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

POOLS = (a_lock("worker_pool[spin]"), a_lock("worker_pool[event]"))
BURST = (a_count("burst", 1, 4096, 8),)
WORKERS = a_study("workers", measures="pools", pools=POOLS, parameters=BURST, default_gap_ns=1e6)
WAIT = CATALOG.select_studies(["wait"])


def planned(request: Request, *others: Any) -> list[tuple[Any, ...]]:
    cells = plan_cells([WORKERS, *others], CATALOG.locks[:1], request)
    return [
        (cell.study, cell.lock, cell.work, dict(cell.parameters).get("burst")) for cell in cells
    ]


def test_has_pools_where_other_studies_have_locks() -> None:
    assert planned(Request([2], pools=POOLS), *WAIT) == [
        ("workers", "worker_pool[spin]", Work(gap_ns=1_000_000), 8),
        ("workers", "worker_pool[event]", Work(gap_ns=1_000_000), 8),
        ("wait", "ticket_spinlock", Work(), None),
    ]


def test_each_burst_goes_with_each_work_and_a_gap_that_was_given_counts() -> None:
    works = [Work(500, 0), Work(500, 2000)]
    given = {"burst": ["1", "32"]}
    request = Request([2], pools=POOLS[:1], work=works, default_gap=False, parameters=given)
    assert [found[2:] for found in planned(request)] == [
        (work, burst) for work in works for burst in (1, 32)
    ]
    found = planned(Request([2], pools=POOLS[:1], work=works))
    assert [work for _, _, work, _ in found] == [Work(500, 1_000_000)]


def test_refuses_bursts_where_there_are_no_tasks() -> None:
    with pytest.raises(UsageError, match="--burst: applies only to the study workers"):
        check_names(["burst"], WAIT, [*WAIT, WORKERS])


def test_finds_pools_by_name_by_group_and_by_the_texts_names() -> None:
    catalog = harness.catalog()
    ours = [pool.name for pool in catalog.select_pools(["ours"])]
    policies = ("spin", "pause", "yield", "sleep", "event", "spin_then_event")
    assert ours == [f"worker_pool[{policy}]" for policy in policies]
    system = [pool.name for pool in catalog.select_pools(["all"])]
    assert system == [*ours, "std::async"]
    assert [pool.name for pool in catalog.select_pools(["seeds"])] == ours[:5]
    assert [pool.name for pool in catalog.select_pools(["waitable object"])] == [ours[4]]
    assert [pool.name for pool in catalog.references("std::async")] == ["std::async"]
    with pytest.raises(UsageError, match="unknown pool 'futex_mutex'"):
        catalog.select_pools(["futex_mutex"])


def test_a_pool_whose_library_is_missing_is_known_to_be() -> None:
    document = json.loads(json.dumps(harness.ask("--catalog")))
    for library in document["libraries"]:
        library.update(version=None, missing=f"{library['name']} is missing")
    missing = Catalog.from_json(document).missing_locks
    assert "tbb::task_arena" in missing
    assert "std::async" not in missing


def measured(lockyard: Callable[..., Outcome], *arguments: str) -> list[dict[str, Any]]:
    return runs_of(lockyard("measure", "workers", "--threads", "2", *arguments, "--json"))


def test_every_pool_runs_every_task_once(lockyard: Callable[..., Outcome]) -> None:
    arguments = ("--pools", "all,no_pool", "--burst", "3", "--for", "60ms", "--runs", "1")
    runs = measured(lockyard, *arguments)
    assert len({run["lock"] for run in runs}) == 8
    for run in runs:
        values = run["values"]
        assert run["checks"] == {"each_task_ran_once": True}, run["lock"]
        assert values["operations"] == 3 * values["bursts"] > 0
        assert total(run["histograms"]["start"]) == values["operations"]
        assert total(run["histograms"]["submit"]) == values["operations"]
        assert total(run["histograms"]["burst"]) == values["bursts"]
        assert values["gap_ns"] >= 1_000_000
        assert run["conditions"]["parameters"]["burst"] == 3


def test_a_spinning_worker_burns_the_pause_and_a_sleeping_one_does_not(
    lockyard: Callable[..., Outcome],
) -> None:
    """At least one of two workers runs while no other thread wants the processor."""
    pools = ("worker_pool[spin]", "worker_pool[event]")
    arguments = ("--pools", ",".join(pools), "--gap", "20ms", "--for", "400ms", "--runs", "2")
    found = {run["lock"]: run["values"]["gap_cpu_share"] for run in measured(lockyard, *arguments)}
    assert found[pools[0]] > 10 * found[pools[1]] >= 0


def test_a_task_takes_as_long_as_asked_and_loops_are_bursts(
    lockyard: Callable[..., Outcome],
) -> None:
    arguments = ("--pools", "worker_pool[event]", "--hold", "100us", "--gap", "0", "--loops", "5")
    (run,) = measured(lockyard, *arguments, "--burst", "4", "--runs", "1")
    values = run["values"]
    assert (values["bursts"], values["complete"]) == (5, True)
    assert values["gap_cpu_share"] is None
    burst = Histogram()
    burst.add(run["histograms"]["burst"])
    assert min(burst.counts) > 0.6 * 2 * 100_000  # four tasks of two workers


def test_threads_that_cannot_be_pinned_are_an_error(lockyard: Callable[..., Outcome]) -> None:
    found = lockyard("measure", "workers", "--pools", "std::async", "--pin", "compact", "--json")
    assert found.returncode == 2
    assert "drop --pin" in found.stderr


def test_shows_a_row_for_each_pool(lockyard: Callable[..., Outcome]) -> None:
    arguments = ("--pools", "worker_pool[event],no_pool", "--for", "30ms", "--runs", "1")
    shown = lockyard("measure", "workers", "--threads", "1", *arguments, extra={"COLUMNS": "160"})
    assert shown.returncode == 0, shown.stderr
    assert "workers: from submitting a task to its start" in shown.stdout
    for words in ("worker_pool[event]", "no_pool", "burst 8", "gap 1.00 ms", "in pauses"):
        assert words in shown.stdout, words
