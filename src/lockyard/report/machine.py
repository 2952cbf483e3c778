# SPDX-License-Identifier: Apache-2.0
"""The studies of the machine itself: the noise line of every report, and their tables."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from rich.text import Text

from lockyard.report.console import titled_table
from lockyard.report.naming import Naming, counted
from lockyard.report.units import MISSING, duration
from lockyard.report.watch import listed, watches_of
from lockyard.stats import median_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from lockyard.report.summary import CellSummary
    from lockyard.report.watch import Watch

NOISE = "noise"
COSTS = "costs"

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


def noise_lines(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Yields a line for each set of conditions under which the machine was watched."""
    naming = Naming.of(cells)
    for cell in cells:
        watches = watches_of(cell)
        if cell.study != NOISE or not watches:
            continue
        under = " · ".join(naming.conditions(cell))
        name = f"noise ({under})" if under else "noise"
        each = "; ".join(_line_of(cpu, watch) for cpu, watch in watches.items())
        seen_ns = [watch.watched_ns for watch in watches.values() if not watch.shortfall]
        if seen_ns:
            mean_ns = statistics.fmean(seen_ns)
            yield f"{name}: {duration(mean_ns)} watched without a lock: {each}"
        else:
            yield f"{name}: {each}"


def _line_of(cpu: int, watch: Watch) -> str:
    if watch.shortfall:
        return f"cpu{cpu} unavailable ({watch.shortfall})"
    return (
        f"cpu{cpu} {watch.lost.explained} lost, longest {duration(watch.longest_ns)}, "
        f"steal {watch.steal.explained}"
    )


def machine_tables(cells: Sequence[CellSummary]) -> Iterator[Table]:
    naming = Naming.of(cells)
    for cell in cells:
        if cell.of_machine and cell.runs:
            make = {NOISE: _noise_table, COSTS: _costs_table}.get(cell.study)
            if make is not None:
                yield make(cell, f"{cell.study} · {naming.setting(cell)}")


def _table(title: str, *columns: str) -> Table:
    table = titled_table(title)
    for number, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if number else "left", no_wrap=True)
    return table


def _noise_table(cell: CellSummary, title: str) -> Table:
    columns = ("core", "watched", "gaps\nper second", "lost", "longest", "steal")
    table = _table(f"{title}: gaps over 1 µs", *columns, "behind other\nthreads")
    reasons: dict[str, list[int]] = {}
    for cpu, watch in watches_of(cell).items():
        saw = not watch.shortfall
        table.add_row(
            f"cpu{cpu}",
            duration(watch.watched_ns),
            f"{watch.gaps_per_s:.0f}" if saw else MISSING,
            str(watch.lost) if saw else MISSING,
            duration(watch.longest_ns) if saw else MISSING,
            str(watch.steal),
            str(watch.run_delay),
        )
        shares = {"lost": watch.lost, "steal": watch.steal, "behind other threads": watch.run_delay}
        for name, share in shares.items():
            if share.reason:
                reasons.setdefault(f"{name}: {share.reason}", []).append(cpu)
    if reasons:
        each = (f"{listed(cpus)} {reason}" for reason, cpus in reasons.items())
        table.caption = f"unavailable: {'; '.join(each)}"
    return table


def _costs_table(cell: CellSummary, title: str) -> Table:
    table = _table(title, "operation", "median", "between runs\n[95 % interval]", "quietest run")
    for name, words in COST_NAMES.items():
        medians = cell.values(f"{name}_ns")
        if medians:
            table.add_row(
                words,
                duration(statistics.median(medians)),
                _interval(medians),
                duration(min(medians)),  # the most repeatable figure on a busy host
            )
        else:
            needs_two = name in NEED_TWO_PROCESSORS
            why = "needs a second processor" if needs_two else "never observed"
            table.add_row(words, MISSING, why, MISSING)
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
