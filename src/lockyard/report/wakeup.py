# SPDX-License-Identifier: Apache-2.0
"""Columns of the study wakeup in clock cycles, and the published figures next to ours."""

from __future__ import annotations

import statistics
from functools import cache
from typing import TYPE_CHECKING

from lockyard.report.publications import printed_rows
from lockyard.report.units import MISSING, percent

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
