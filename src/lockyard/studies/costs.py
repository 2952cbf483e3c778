# SPDX-License-Identifier: Apache-2.0
"""The table of the study costs."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from lockyard.report.console import machine_table
from lockyard.report.naming import Naming, counted
from lockyard.report.publications import printed_costs_ns
from lockyard.report.units import MISSING, duration
from lockyard.stats import median_interval
from lockyard.studies import Shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

    from lockyard.report.summary import CellSummary
    from lockyard.studies import Setting

# In the order of the table; the records append _ns to each name.
COST_NAMES = {
    "clock_read": "a clock read",
    "clock_read_early": "a clock read, early",
    "monotonic_raw_read": "a read of CLOCK_MONOTONIC_RAW",
    "pause": "pause",
    "exchange": "uncontended exchange",
    "fence": "fence (sequentially consistent)",
    "notify_nobody": "event_count notify without waiters",
    "line_round_trip": "cache line to another core and back",
    "futex_wake_nobody": "futex wake without waiters",
    "yield_alone": "yield, alone on the core",
    "yield_with_company": "yield, with another runnable thread",
    "context_switch": "context switch, by yield",
    "wake_same_core": "wake-up until running, same core",
    "wake_other_core": "wake-up until running, other core",
    "membarrier_alone": "membarrier, alone",
    "membarrier_with_siblings": "membarrier, with running siblings",
    "sleep_50us": "sleep of 50 µs",
    "sleep_50us_fine": "sleep of 50 µs, timer slack 1 ns",
    "sleep_1ms": "sleep of 1 ms",
    "sleep_1ms_fine": "sleep of 1 ms, timer slack 1 ns",
}
NEED_TWO_PROCESSORS = ("line_round_trip", "wake_other_core", "membarrier_with_siblings")


def _costs_table(cell: CellSummary, title: str) -> Table:
    table = machine_table(
        title,
        *("operation", "median", "between runs\n[95 % interval]", "quietest run"),
        "published,\nRyzen 1700",
    )
    for name, words in COST_NAMES.items():
        medians = cell.values(f"{name}_ns")
        if medians:
            table.add_row(
                words,
                duration(statistics.median(medians)),
                _interval(medians),
                duration(min(medians)),  # the most repeatable figure on a busy host
                duration(printed_costs_ns().get(name)),
            )
        else:
            needs_two = name in NEED_TWO_PROCESSORS
            why = "needs a second processor" if needs_two else "never observed"
            table.add_row(words, MISSING, why, MISSING, MISSING)
    table.caption = f"medians of {counted(len(cell.runs), 'run')}"
    pairs = _line_pairs(cell)
    if len(pairs) > 1:
        table.caption += f"; cache lines between pairs of cores: {min(pairs)} to {max(pairs)} ns"
    return table


def _interval(medians: list[float]) -> str:
    low, high = median_interval(sorted(medians))
    return "too few runs" if low is None else f"{duration(low)} to {duration(high)}"


def _line_pairs(cell: CellSummary) -> list[float]:
    """Returns the median round trip of each pair of cores."""
    by_pair: dict[tuple[int, int], list[float]] = {}
    for run in cell.runs:
        for pair in run["values"]["line_round_trips"]:
            by_pair.setdefault(tuple(pair["cpus"]), []).append(pair["ns"])
    return [round(statistics.median(found), 1) for found in by_pair.values()]


def costs_tables(cells: Sequence[CellSummary], _setting: Setting) -> Iterable[Table]:
    naming = Naming.of(cells)
    for cell in cells:
        if cell.runs:
            yield _costs_table(cell, f"costs · {naming.setting(cell)}")


SHOWN = Shown(tables=costs_tables)
