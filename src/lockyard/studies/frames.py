# SPDX-License-Identifier: Apache-2.0
"""The table of the study frames."""

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
)
from lockyard.report.units import MISSING
from lockyard.studies import Shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockyard.report.summary import CellSummary

FAULTS = {
    "missed_by_lock": "lock",
    "missed_by_wake_up": "wake-up",
    "missed_by_both": "both",
    "missed_by_work": "work",
}


def per_minute(*keys: str) -> Callable[[CellSummary], str]:
    """Makes a column: missed deadlines of all runs, in a minute of their time."""

    def text(cell: CellSummary) -> str:
        minutes = minutes_of(cell)
        if not minutes:
            return MISSING
        count = sum(sum(cell.values(key)) for key in keys) / minutes
        return f"{count:,.0f}" if count >= 10 else f"{count:.2g}"

    return text


def minutes_of(cell: CellSummary) -> float:
    """Returns the time of all periods of all runs."""
    frames = zip(cell.values("frames"), cell.values("period_ns"), strict=False)
    return sum(count * period_ns for count, period_ns in frames) / 60e9


LAYOUT = Layout(
    title="frames: deadlines that a periodic thread missed, in a minute",
    columns=[
        RUNS,
        Column("missed", per_minute("missed")),
        Column("by the\nlock", per_minute("missed_by_lock")),
        Column("by the\nwake-up", per_minute("missed_by_wake_up"), 8),
        Column("by\nboth", per_minute("missed_by_both"), 6),
        Column("by its\nwork", per_minute("missed_by_work"), 7),
        maximum("overrun_max_ns", "longest\noverrun"),
        mean_of_runs("mean\nframe", "frame_mean_ns", 4),
        mean_of_runs("jitter", "jitter_ns", 8),
        percentile("wait\np99", "wait", 0.99, 6),
        maximum("wait_max_ns", "wait\nmax", 8),
        maximum("wake_late_max_ns", "wake-up\nlate, max", 7),
        median_rate("rate of\nthe others", "others_operations_per_s", 3),
    ],
    maxima="overrun_max_ns",
    compared=by_value("missed", "missed_per_minute"),
    also_compared=(by_value("jitter", "jitter_ns"),),
)
SHOWN = Shown(LAYOUT)
