# SPDX-License-Identifier: Apache-2.0
"""What is to be measured: cells, how often each, for how long, and in which order."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.catalog import Lock, Study
    from lockyard.harness import Job

SCHEMA = 1
PUBLISHED_BUDGET_S = 30.0
DEFAULT_BUDGET_S = 2.0
DEFAULT_LOOP_RUNS = 100
# Starting and ending a run takes about this long, and so much more for each thread.
RUN_OVERHEAD_S = 0.005
THREAD_OVERHEAD_S = 0.0005
# Fewer runs than this leave no 95 % interval; shorter runs than this measure their own start.
WANTED_RUNS = 6
SHORTEST_RUN_S = 0.01
# The harness's counts may overflow in a longer one.
LONGEST_RUN_S = 60.0
# What the runs of a cell may take when only their number was given: a multiple of their length,
# and some seconds for locks that cannot stop in time.
BUDGET_PER_RUN = 3.0
BUDGET_SPARE_S = 5.0

Pinning = str | tuple[int, ...]


@dataclass(frozen=True)
class Cell:
    """One lock in one study under one set of conditions."""

    study: str
    lock: str
    threads: int
    pinning: Pinning
    loops: int | None  # per thread and run; a run without them is bounded by time
    run_s: float  # length of a run bounded by time
    runs: int  # at most
    budget_s: float  # for all runs together
    as_published: bool

    @property
    def label(self) -> str:
        return f"{self.study} {self.lock} × {self.threads}"

    def limit_s(self, spent_s: float) -> float:
        """How long the next run may take; 0 if no run is worth starting in what is left."""
        left_s = self.budget_s - spent_s
        if self.loops is not None:
            return min(max(left_s, 0.0), LONGEST_RUN_S)
        return self.run_s if left_s >= self.run_s / 2 else 0.0

    def job(self, block: int, limit_s: float, seed: int, environment: dict[str, Any]) -> Job:
        bound: dict[str, float | int] = {"duration_s": limit_s}
        if self.loops is not None:
            bound["loops"] = self.loops
        return {
            "schema": SCHEMA,
            "study": self.study,
            "lock": self.lock,
            "conditions": {"threads": self.threads, "pinning": self.pinning},
            "bound": bound,
            "as_published": self.as_published,
            "block": block,
            "run": block,
            "seed": seed,
            "clock": {key: environment["clock"][key] for key in ("source", "ns_per_tick")},
            "environment": environment["environment"],
        }


@dataclass(frozen=True)
class Request:
    """What the command line asked for; nothing where it left the choice to the study."""

    threads: Sequence[int]
    pinning: Pinning = "none"
    budget_s: float | None = None
    runs: int | None = None
    loops: int | None = None
    as_published: bool = False


def plan_cells(studies: Sequence[Study], locks: Sequence[Lock], request: Request) -> list[Cell]:
    if request.as_published and request.loops is not None:
        raise UsageError("--loops and --as-published contradict each other: give one of them")
    cells = []
    for study in studies:
        if request.as_published and study.published_loops == 0:
            raise UsageError(
                f"study '{study.name}' has no published form: leave --as-published out, or "
                "measure wait and idle"
            )
        threads = [1] if study.single_threaded else list(dict.fromkeys(request.threads))
        by_loops = request.as_published or request.loops is not None
        make = _loops_cell if by_loops else _timed_cell
        cells += [make(study, lock, n, request) for n in threads for lock in locks]
    return cells


def _loops_cell(study: Study, lock: Lock, threads: int, request: Request) -> Cell:
    """As many runs as fit the time, up to those asked for or published."""
    return Cell(
        study=study.name,
        lock=lock.name,
        threads=threads,
        pinning=request.pinning,
        loops=request.loops or study.published_loops,
        run_s=0.0,
        runs=request.runs or study.published_runs or DEFAULT_LOOP_RUNS,
        budget_s=request.budget_s
        or (PUBLISHED_BUDGET_S if request.as_published else DEFAULT_BUDGET_S),
        as_published=request.as_published,
    )


def _timed_cell(study: Study, lock: Lock, threads: int, request: Request) -> Cell:
    """Either the time is given and the runs follow, or the runs and the time follows, or both."""
    run_s = study.default_run_s
    overhead_s = RUN_OVERHEAD_S + threads * THREAD_OVERHEAD_S
    budget_s = request.budget_s
    if request.runs is not None and budget_s is None:
        runs = request.runs
        budget_s = BUDGET_PER_RUN * runs * run_s + BUDGET_SPARE_S
    else:
        budget_s = budget_s or DEFAULT_BUDGET_S
        runs = request.runs or max(WANTED_RUNS, int(budget_s / (run_s + overhead_s)))
        run_s = max(budget_s / runs - overhead_s, SHORTEST_RUN_S)
        if run_s > LONGEST_RUN_S:
            raise UsageError(
                f"a run of {run_s:.0f} s is too long to count exactly; ask for more --runs or "
                f"less time, so that a run takes at most {LONGEST_RUN_S:.0f} s"
            )
    return Cell(
        study=study.name,
        lock=lock.name,
        threads=threads,
        pinning=request.pinning,
        loops=None,
        run_s=run_s,
        runs=runs,
        budget_s=budget_s,
        as_published=False,
    )


def order_of_block(cells: Sequence[Cell], seed: int, block: int) -> list[Cell]:
    """The cells in an order of chance that seed and block determine."""
    shuffled = list(cells)
    random.Random(f"{seed}/{block}").shuffle(shuffled)  # noqa: S311 - no secret
    return shuffled
