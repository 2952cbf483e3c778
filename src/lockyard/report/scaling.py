# SPDX-License-Identifier: Apache-2.0
"""The published cost of recovery for the kernel's queued spinlock, shown next to our ratios, and
its published rates."""

from __future__ import annotations

import statistics
from functools import cache
from typing import TYPE_CHECKING

from lockyard.report.publications import printed_rows
from lockyard.report.units import MISSING, rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.report.summary import CellSummary

ARCHITECTURES = ("x86_64", "arm64")
# The text's names of our workloads; it has none without long holds.
PUBLISHED_NAMES = {
    "classic": "locktorture",
    "lock1": "lock1",
    "lock2": "lock2",
    "open1": "open1",
    "open2": "open2",
}
PUBLISHED_LOCKS = ("qspinlock", "rqspinlock")
MEAN = "mean"


@cache
def published_rows() -> dict[tuple[str, str, int], float]:
    """Returns the printed speed-ups, by the text's workload, architecture and number of threads."""
    return {
        (row["workload"], row["arch"], int(row["threads"])): float(row["speedup"])
        for row in printed_rows("rqspinlock_scaling.csv")
    }


@cache
def published_means() -> dict[tuple[str, str], float]:
    """Returns the geometric mean of each printed table."""
    return {
        (row["workload"], row["arch"]): float(row["geometric_mean"])
        for row in printed_rows("rqspinlock_means.csv")
    }


@cache
def published_rates(lock: str) -> dict[tuple[str, str, int], tuple[float, float | None]]:
    """Returns the printed operations per second of one of the text's locks, and their standard
    deviation where the text has one."""
    return {
        (row["workload"], row["arch"], int(row["threads"])): (
            float(row[lock]),
            float(row[f"{lock}_stddev"]) if row[f"{lock}_stddev"] else None,
        )
        for row in printed_rows("rqspinlock_scaling.csv")
    }


def published_rate(cell: CellSummary, architecture: str) -> str:
    """Returns the printed rate with its deviation, for the same workload and number of threads: of
    the spinlock that recovers, or, for the kernel's calls, of a kernel without it."""
    if not has_published_rate(cell):
        return MISSING
    place = (PUBLISHED_NAMES[cell.workload], architecture, cell.threads)
    found = published_rates("qspinlock" if calls_kernel(cell) else "rqspinlock").get(place)
    if found is None:
        return MISSING
    per_s, deviation = found
    return rate(per_s) if deviation is None else f"{rate(per_s)} ± {rate(deviation)}"


def calls_kernel(cell: CellSummary) -> bool:
    """Says whether the cell's threads made the workload's system calls."""
    return cell.parameters.get("calls") == "kernel"


def has_published(cell: CellSummary) -> bool:
    """Says whether the text has a ratio: it measured a spinlock that recovers."""
    return cell.recovers_spinning and cell.workload in PUBLISHED_NAMES


def has_published_rate(cell: CellSummary) -> bool:
    return has_published(cell) or (calls_kernel(cell) and cell.workload in PUBLISHED_NAMES)


def published_speedup(cells: Sequence[CellSummary], architecture: str) -> str:
    """Returns the published speed-up of one cell, or the geometric mean over several. Where the
    text lacks the number of threads, the mean of its table stands in, marked as such."""
    if not cells or not all(has_published(cell) for cell in cells):
        return MISSING
    places = [(PUBLISHED_NAMES[cell.workload], architecture, cell.threads) for cell in cells]
    found = [published_rows().get(place) or published_means()[place[:2]] for place in places]
    are_rows = all(place in published_rows() for place in places)
    text = f"{statistics.geometric_mean(found):.2f}"
    return text if are_rows else f"{text} ({MEAN})"
