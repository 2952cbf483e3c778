# SPDX-License-Identifier: Apache-2.0
"""Computes the number and length of a cell's runs, and the time that they take together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError
from lockyard.measure.cell import LONGEST_RUN_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockyard.catalog import Study
    from lockyard.measure.cell import Cell
    from lockyard.measure.request import Request

PUBLISHED_BUDGET_S = 30.0
DEFAULT_LOOP_RUNS = 100
# Starting and ending a run takes about this long, plus a time for each thread.
RUN_OVERHEAD_S = 0.005
THREAD_OVERHEAD_S = 0.0005
# Fewer runs than this leave no 95 % interval; shorter runs than this measure their own start.
WANTED_RUNS = 6
SHORTEST_RUN_S = 0.01
# The time limit of a cell if only the number of runs was given: a multiple of their length, plus
# some seconds for locks that cannot stop in time.
BUDGET_PER_RUN = 3.0
BUDGET_SPARE_S = 5.0


def lengths_of_runs(study: Study, threads: int, request: Request) -> dict[str, Any]:
    """Returns the fields of a cell that describe its runs."""
    if request.as_published or request.loops is not None:
        return _by_loops(study, request)
    return _by_time(study, threads, request)


def _by_loops(study: Study, request: Request) -> dict[str, Any]:
    """Plans as many runs as fit in the time, up to the requested or published number."""
    default_s = PUBLISHED_BUDGET_S if request.as_published else study.default_budget_s
    return {
        "loops": request.loops or study.published_loops,
        "run_s": 0.0,
        "runs": request.runs or study.published_runs or DEFAULT_LOOP_RUNS,
        "budget_s": request.budget_s or default_s,
    }


def _by_time(study: Study, threads: int, request: Request) -> dict[str, Any]:
    """Derives the number of runs from the time, or the time from the runs, or takes both."""
    run_s = study.default_run_s
    overhead_s = _overhead_s(threads)
    budget_s = request.budget_s
    if request.runs is not None and budget_s is None:
        runs = request.runs
        budget_s = runs * BUDGET_PER_RUN * run_s + BUDGET_SPARE_S
    else:
        budget_s = budget_s or study.default_budget_s
        runs = request.runs or max(WANTED_RUNS, int(budget_s / (run_s + overhead_s)))
        run_s = max(budget_s / runs - overhead_s, SHORTEST_RUN_S)
        if budget_s < run_s / 2:
            raise UsageError(
                f"--for {budget_s * 1e3:g}ms: too short for a run, which takes at least "
                f"{SHORTEST_RUN_S * 1e3:g} ms, so nothing would be measured; give more time"
            )
        if run_s > LONGEST_RUN_S:
            raise UsageError(
                f"a run of {run_s:.0f} s is too long to count exactly; give more --runs or less "
                f"time, so that a run takes at most {LONGEST_RUN_S:.0f} s"
            )
    return {"loops": None, "run_s": run_s, "runs": runs, "budget_s": budget_s}


def _overhead_s(threads: int) -> float:
    return RUN_OVERHEAD_S + threads * THREAD_OVERHEAD_S


@dataclass(frozen=True)
class Expected:
    """The expected time and number of runs of some cells."""

    runs: int = 0
    measuring_s: float = 0.0
    overhead_s: float = 0.0  # starting and ending runs
    rest_s: float = 0.0  # requested pauses before runs
    at_most_s: float = 0.0  # if every run ends at its limit
    has_loops: bool = False  # some runs are bounded by loops: then all figures are upper limits

    @property
    def total_s(self) -> float:
        return self.measuring_s + self.overhead_s + self.rest_s

    @property
    def overhead_share(self) -> float:
        """Returns the share of the time, without rests, that is spent on overhead."""
        busy_s = self.measuring_s + self.overhead_s
        return self.overhead_s / busy_s if busy_s else 0.0

    def __add__(self, other: Expected) -> Expected:
        return Expected(
            self.runs + other.runs,
            self.measuring_s + other.measuring_s,
            self.overhead_s + other.overhead_s,
            self.rest_s + other.rest_s,
            self.at_most_s + other.at_most_s,
            self.has_loops or other.has_loops,
        )

    def __mul__(self, cells: int) -> Expected:
        return Expected(
            self.runs * cells,
            self.measuring_s * cells,
            self.overhead_s * cells,
            self.rest_s * cells,
            self.at_most_s * cells,
            self.has_loops,
        )


def total(cells: Iterable[Cell]) -> Expected:
    return sum(map(expected, cells), Expected())


def expected(cell: Cell) -> Expected:
    """Estimates a cell. The duration of a run bounded by loops is unknown, so all the time and all
    the runs that the cell may have are expected.

    A run begins while its cell has time left, so the last run may end after that time: by its own
    start and end, and a run bounded by time by up to half of its length.
    """
    each_s = _overhead_s(cell.threads)
    if cell.loops is None:
        runs = _runs_begun(cell, cell.run_s + each_s)
        overhead_s = runs * each_s
        measuring_s = runs * cell.run_s
        most_runs = _runs_begun(cell, cell.run_s)
        late_s = cell.run_s / 2 + each_s
    else:
        runs = most_runs = cell.runs
        overhead_s = min(runs * each_s, cell.budget_s)
        measuring_s = cell.budget_s - overhead_s
        late_s = each_s
    rest_s = cell.conditions.rest_s
    return Expected(
        runs,
        measuring_s,
        overhead_s,
        runs * rest_s,
        cell.budget_s + late_s + most_runs * rest_s,
        cell.loops is not None,
    )


def _runs_begun(cell: Cell, each_s: float) -> int:
    """Returns how many runs bounded by time a cell begins if each takes this long."""
    spare_s = cell.budget_s - cell.run_s / 2
    return min(cell.runs, int(spare_s / each_s) + 1) if spare_s >= 0 else 0
