# SPDX-License-Identifier: Apache-2.0
"""The cells of a report, and the design that measures them: quick, default and full."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockyard.advice.design import Design
from lockyard.measure.noise import with_noise
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.measure.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockyard.catalog import Catalog, Lock
    from lockyard.machine.conditions import Conditions
    from lockyard.measure.cell import Cell

HARNESS_COST_LOCK = "null_lock"
HARNESS_COST_RUNS = 6
# The threads of an oversubscribed cell: at least this many, and at least twice the processors.
MANY_THREADS = 16
SHORT, LONG = Work(hold_ns=200, gap_ns=1_000), Work(hold_ns=20_000, gap_ns=100_000)
# More runs than any time allows: the design stops a cell, not its number of runs.
MOST_RUNS = 2000


@dataclass(frozen=True)
class Extent:
    """How much is measured, and for how long at most."""

    locks: Sequence[str]
    run_s: float
    budget_s: float
    pair_run_s: float  # a run of the study uncontended, which needs little time to be exact
    idle: bool = True
    # Runs of every other cell of the seed locks' studies, with this length; 0: none.
    other_runs: int = 0
    other_run_s: float = 0.0


RECOMMENDED = ("mutex", "fair_mutex", "adaptive_mutex")
EXTENTS = {
    "quick": Extent(
        ("std::mutex", "mutex", "fair_mutex", "futex_mutex", "ttas_spinlock", "ticket_spinlock"),
        run_s=0.02,
        budget_s=52.0,
        pair_run_s=0.01,
        idle=False,
    ),
    "default": Extent(("seeds", *RECOMMENDED), run_s=0.04, budget_s=228.0, pair_run_s=0.01),
    "full": Extent(
        ("all",),
        run_s=0.05,
        budget_s=900.0,
        pair_run_s=0.02,
        other_runs=30,
        other_run_s=0.02,
    ),
}


def planned(
    catalog: Catalog,
    extent: Extent,
    conditions: Conditions,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[list[Cell], Design]:
    """Returns all cells, and the design that decides which of them are measured on."""
    locks = catalog.select_locks(extent.locks)
    processors = len(os.sched_getaffinity(0))
    many = max(MANY_THREADS, 2 * processors)
    threads = [each for each in (processors, many) if each > 1]

    def cells(study: str, among: Sequence[Lock], request: Request, run_s: float) -> list[Cell]:
        planned = plan_cells(
            catalog.select_studies([study]), among, replace(request, conditions=[conditions])
        )
        return [_of_length(cell, run_s, MOST_RUNS) for cell in planned]

    null_lock = catalog.select_locks([HARNESS_COST_LOCK])
    sequential = [
        *cells("wait", locks, Request(threads, work=[SHORT, LONG]), extent.run_s),
        *(cells("idle", locks, Request([many]), extent.run_s) if extent.idle else ()),
        *cells("uncontended", [*locks, *null_lock], Request([1]), extent.pair_run_s),
    ]
    fixed = [
        _of_length(cell, extent.other_run_s, extent.other_runs)
        for study, counts in (("wait", threads), ("idle", threads[:-1]))
        for cell in cells(study, locks, Request([1, *counts]), extent.other_run_s)
        if extent.other_runs
    ]
    fixed += [
        _of_length(cell, extent.run_s, HARNESS_COST_RUNS)
        for cell in cells("wait", null_lock, Request([1]), extent.run_s)
    ]
    all_ = with_noise([*sequential, *fixed], catalog, conditions, extent.budget_s)
    watching = len(all_) - len(sequential) - len(fixed)
    places = range(watching + len(sequential), len(all_))
    return all_, Design(all_, extent.budget_s, always=places, clock=clock)


def _of_length(cell: Cell, run_s: float, runs: int) -> Cell:
    """Returns the cell with so many runs of that length; slow starts use up none of them."""
    return replace(cell, run_s=run_s, runs=runs, budget_s=10 * run_s * runs)
