# SPDX-License-Identifier: Apache-2.0
"""Columns of the studies whose runs have other threads besides the lock's contenders: bystander,
background and priority."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from lockyard.report.publications import printed_rows
from lockyard.report.units import MISSING, duration, percent, ratio
from lockyard.stats import paired_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockyard.report.summary import CellSummary

# The published text's names of our locks.
PUBLISHED_NAMES = {"tas_spinlock": "terrible_spinlock"}


@cache
def published_slowdowns() -> dict[str, tuple[int, float]]:
    """Returns the published slowdown of a bystander and its thread count, by the text's lock
    name."""
    return {
        row["lock"]: (int(row["threads"]), float(row["slowdown"]))
        for row in printed_rows("bystander_ryzen1700.csv")
    }


def published_slowdown(cell: CellSummary) -> str:
    """Returns the published slowdown, with its thread count where that differs from ours."""
    found = published_slowdowns().get(PUBLISHED_NAMES.get(cell.lock, ""))
    if found is None:
        return MISSING
    threads, slowdown = found
    return f"{slowdown:g}" if threads == cell.threads else f"{slowdown:g} ({threads} threads)"


def within_runs(of: str, to: str) -> Callable[[CellSummary], str]:
    """Makes a column: the ratio of two values of the same run, with its interval over the runs."""

    def text(cell: CellSummary) -> str:
        found = paired_ratio(cell.by_block(of), cell.by_block(to))
        return ratio(found) if found else MISSING

    return text


def of_waits(key: str) -> Callable[[CellSummary], str]:
    """Makes a column: a count of the urgent thread's waits, as a share of all its waits."""

    def text(cell: CellSummary) -> str:
        waits = sum(cell.values("high_operations"))
        return percent(sum(cell.values(key)) / waits) if waits else MISSING

    return text


def rescued(cell: CellSummary) -> str:
    """Says how often and how soon the waiter was rescued; missing where no rescuer ran."""
    if not cell.values("rescued_after_ns"):
        return MISSING
    count = sum(cell.values("rescues"))
    after = cell.maximum("rescued_after_ns")
    return f"{count:.0f} after {duration(after)}" if count else "0"


def gaps(cell: CellSummary) -> str:
    """Returns the share of the processors that the foreground leaves unused when it runs alone."""
    used = cell.mean("cpu_share")
    return MISSING if used is None else percent(max(1 - used, 0.0))
