# SPDX-License-Identifier: Apache-2.0
"""The table of the study priority."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.report.columns import (
    RUNS,
    Column,
    Layout,
    by_value,
    maximum,
    mean_of_runs,
    median_rate,
    percentile,
    percentiles,
    share,
)
from lockyard.report.units import MISSING, duration, percent
from lockyard.studies import Shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockyard.report.summary import CellSummary


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


LAYOUT = Layout(
    title="priority: the waits of the one urgent thread",
    columns=[
        RUNS,
        mean_of_runs("mean", "wait_mean_ns"),
        *percentiles("wait"),
        maximum("wait_max_ns"),
        Column("inverted", of_waits("inverted_waits")),
        percentile("inversion\np50", "inversion", 0.5, 6),
        maximum("inversion_max_ns", "inversion\nmax", 8),
        Column("rescued", rescued, 8),
        median_rate("rate of\nthe others", "low_operations_per_s", 5),
        share("processor time\nof busy threads", "hog_cpu_share", 2),
    ],
    maxima="wait_max_ns",
    compared=by_value("mean", "wait_mean_ns"),
)
SHOWN = Shown(LAYOUT)
