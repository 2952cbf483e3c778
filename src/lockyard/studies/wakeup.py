# SPDX-License-Identifier: Apache-2.0
"""The tables of the study wakeup, in time and in clock cycles, next to the published figures."""

from __future__ import annotations

import statistics
from functools import cache
from typing import TYPE_CHECKING

from lockyard.report.columns import (
    RUNS,
    Column,
    Layout,
    by_value,
    maximum,
    mean_of_runs,
    median,
    share,
)
from lockyard.report.publications import printed_rows
from lockyard.report.units import MISSING, duration, percent
from lockyard.studies import Shown

if TYPE_CHECKING:
    from lockyard.report.summary import CellSummary

# The published text's names of our ways to wait.
PUBLISHED_NAMES = {
    "spin": "spin",
    "pause": "pause",
    "yield": "yield",
    "manual_reset_event": "event",
    "auto_reset_event": "event",
    "sleep_1ms[fine]": "sleep-1ms-fine-timer",
    "sleep_1ms": "sleep-1ms",
}


@cache
def published_table() -> dict[str, int]:
    """Returns the published median cycles, by the text's names."""
    return {
        row["mechanism"]: int(row["median_cycles"])
        for row in printed_rows("wakeup_i7-8750h_windows.csv")
    }


def published_cycles(cell: CellSummary) -> str:
    name = PUBLISHED_NAMES.get(cell.lock)
    return MISSING if name is None else f"{published_table()[name]:,}"


def cycles(cell: CellSummary, key: str) -> str:
    """Returns the median over the runs in ticks of the time-stamp counter, if that is the clock."""
    found = [
        run["values"][key] / run["clock"]["ns_per_tick"]
        for run in cell.runs
        if run["clock"]["source"] == "tsc" and run["values"].get(key) is not None
    ]
    return f"{statistics.median(found):,.0f}" if found else MISSING


def negatives(cell: CellSummary, values: str) -> str:
    """Returns the share of latencies that are negative."""
    workers = cell.threads - 1
    wakeups = workers * sum(run["values"]["operations_per_thread"][0] for run in cell.runs)
    if wakeups == 0:
        return MISSING
    return percent(sum(cell.values(f"{values}_negatives")) / wakeups)


def power(cell: CellSummary) -> str:
    """Returns the power of the processors' packages, if the machine reports it."""
    found = cell.median("power_w")
    return MISSING if found is None else f"{found:.1f} W"


def _wakeup(title: str, values: str) -> Layout:
    """Makes the layout for one of the publisher's two time stamps."""
    return Layout(
        title=title,
        columns=[
            RUNS,
            median("median", f"{values}_median_ns"),
            Column("cycles", lambda cell: cycles(cell, f"{values}_median_ns")),
            Column("published:\ncycles", published_cycles, 7),
            mean_of_runs("mean", f"{values}_mean_ns", 5),
            Column(
                "min", lambda cell: duration(min(cell.values(f"{values}_min_ns"), default=None))
            ),
            maximum(f"{values}_max_ns"),
            mean_of_runs("deviation", f"{values}_deviation_ns", 5),
            share("processor\nwhile waiting", "waiting_cpu_share", 8),
            Column("power", power, 6),
            mean_of_runs("left alone", "idle_ns", 3),
            Column("negative,\nstamp before", lambda cell: negatives(cell, "wakeup"), 2),
            Column("negative,\nstamp after", lambda cell: negatives(cell, "published"), 4),
        ],
        compared=by_value("median", f"{values}_median_ns"),
        of="way to wait",
    )


LAYOUT = _wakeup("wakeup: from just before the publication until the worker continues", "wakeup")
AS_PUBLISHED = _wakeup(
    "wakeup as published: from just after the publication until the worker continues",
    "published",
)
SHOWN = Shown(LAYOUT, AS_PUBLISHED)
