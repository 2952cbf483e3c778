# SPDX-License-Identifier: Apache-2.0
"""The plan of a measurement, and its form in a file."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import jsonschema
import msgspec
import pytest
from fake_records import CATALOG

from lockyard import schema
from lockyard.errors import UsageError
from lockyard.machine.conditions import Conditions, Deadline
from lockyard.measure.cell import Cell
from lockyard.measure.noise import with_noise
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.measure.session import check_same_machine
from lockyard.measure.work import Work

PROCESSORS = len(os.sched_getaffinity(0))
MACHINE = CATALOG.select_studies(["costs", "noise"])
WAIT = CATALOG.select_studies(["wait"])


def a_cell(budget_s: float = 1.0, **changes: Any) -> Cell:
    known: dict[str, Any] = {
        "study": "wait",
        "lock": "futex_mutex",
        "threads": 2,
        "pinning": "none",
        "conditions": Conditions(),
        "loops": None,
        "run_s": 0.1,
        "runs": 10,
        "as_published": False,
    }
    return Cell(**{**known, "budget_s": budget_s, **changes})


@pytest.mark.parametrize(
    ("budgets_s", "blocks", "expected_s", "runs"),
    [
        ([60.0, 40.0], 30, 5.0, 30),  # its share, in every block
        ([10.0, 4.0], 1, 0.7, 1),
        ([0.5], 100, 0.1, 5),  # the least, in runs that are not too short
        ([1000.0], 6, 8.0, 6),  # the most
    ],
)
def test_the_machine_is_watched_in_every_block_for_a_share_of_the_time(
    budgets_s: list[float], blocks: int, expected_s: float, runs: int
) -> None:
    cells = [a_cell(s, runs=blocks, threads=n + 1) for n, s in enumerate(budgets_s)]
    noise, *others = with_noise(cells, CATALOG, Conditions())
    assert others == cells
    assert (noise.study, noise.lock, noise.threads) == ("noise", None, PROCESSORS)
    assert noise.budget_s == pytest.approx(expected_s)
    assert (noise.runs, noise.run_s) == (runs, noise.budget_s / runs)


def test_the_machine_is_not_watched_twice_nor_for_nothing() -> None:
    watched = plan_cells(CATALOG.select_studies(["noise", "wait"]), CATALOG.locks, Request([2]))
    assert with_noise(watched, CATALOG, Conditions()) == watched
    assert with_noise([], CATALOG, Conditions()) == []


def test_the_watch_is_under_the_machines_own_conditions() -> None:
    """A setting of the whole machine holds for the watch, too; one of the threads does not."""
    measured = a_cell(conditions=Conditions(policy="fifo", priority=1, autogroup=False))
    watch, _ = with_noise([measured], CATALOG, Conditions(nice=3, autogroup=True))
    assert watch.conditions == Conditions(nice=3, autogroup=False)


def test_studies_of_the_machine_have_one_cell_for_each_set_of_conditions() -> None:
    both = (Conditions(), Conditions(load=2))
    cells = plan_cells(MACHINE, CATALOG.locks, Request([1, 16], conditions=both))
    assert [(cell.study, cell.lock, cell.threads, cell.conditions.load) for cell in cells] == [
        ("costs", None, PROCESSORS, 0),
        ("costs", None, PROCESSORS, 2),
        ("noise", None, PROCESSORS, 0),
        ("noise", None, PROCESSORS, 2),
    ]


def test_studies_of_the_machine_look_at_each_named_processor_once() -> None:
    cpu = min(os.sched_getaffinity(0))
    (cell,) = plan_cells(MACHINE[:1], (), Request([1, 16], pinning=(cpu, cpu)))
    assert (cell.threads, cell.pinning) == (1, (cpu,))
    (of_lock,) = plan_cells(WAIT, CATALOG.locks[:1], Request([2], pinning=(cpu, cpu)))
    assert (of_lock.threads, of_lock.pinning) == (2, (cpu, cpu))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request([1], loops=5), "measures no lock, so --loops"),
        (Request([1], as_published=True), "has no published form"),
    ],
)
def test_studies_of_the_machine_have_no_loops(request_: Request, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan_cells(MACHINE, (), request_)


@pytest.mark.parametrize(
    "cell",
    [
        a_cell(),
        a_cell(lock=None, pinning=(2, 0, 2), loops=7, as_published=True),
        a_cell(work=Work(200, 2000, "exponential"), parameters=(("sleepers", 3), ("burst", 4))),
        a_cell(parameters=(("share_percent", 50.0), ("rate_per_s", 15000.0))),
        a_cell(parameters=(("workload", "lock1"),)),
        a_cell(conditions=Conditions(policy="deadline", deadline=Deadline(1, 2, 3))),
        a_cell(
            conditions=Conditions(
                "rr", 5, 0, 100_000, None, 2, 3, 1, autogroup=False, quota_cpus=1.5, rest_s=0.1
            )
        ),
    ],
)
def test_a_cell_comes_back_from_a_file_as_it_was(cell: Cell) -> None:
    kept = json.loads(json.dumps(dataclasses.asdict(cell)))
    again = msgspec.convert(kept, Cell)
    assert again == cell
    assert hash(again) == hash(cell)  # the runner keeps its books by cells


def test_a_job_fits_its_schema() -> None:
    clock = {"source": "tsc", "ns_per_tick": 0.5}
    conditions = Conditions(policy="deadline", deadline=Deadline(1, 2, 3))
    cell = a_cell(pinning=(0, 1), conditions=conditions)
    job = cell.job(1, 0.1, 2, {"clock": clock, "environment": "ab"})
    jsonschema.validate(json.loads(msgspec.json.encode(job)), schema.stored("job"))


SAME: dict[str, Any] = {
    "environment": "a",
    "system": {"kernel": "6.1", "hypervisor": None},
    "cpu": {"model": "x"},
    "scheduler": {"autogroup": "1"},
    "limits": {"nice": 0},
    "harness": {"compiler": "c"},
}


def test_the_same_machine_may_go_on() -> None:
    check_same_machine({**SAME, "system": {}}, SAME)  # the hash decides


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"cpu": {"model": "y"}}, r"file was written \(cpu\.model\), so"),
        ({"system": {"kernel": "6.2", "hypervisor": "yes"}}, "system.kernel, system.hypervisor"),
        ({"limits": {"nice": 0, "rtprio": 9}}, r"file was written \(limits\.rtprio\), so"),
        ({}, r"file was written \(unknown\), so"),
    ],
)
def test_another_machine_may_not_and_is_told_why(changed: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        check_same_machine(SAME, {**SAME, "environment": "b", **changed})


def test_a_file_without_its_environment_is_of_another_machine() -> None:
    with pytest.raises(UsageError, match=r"system\.kernel, .*measure again with --out"):
        check_same_machine({}, SAME)
