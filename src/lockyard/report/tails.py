# SPDX-License-Identifier: Apache-2.0
"""Tails with names: the lengths that long waits have most often, and what takes as long.

A mode is a length around which the tail is clearly denser than on both sides of it. Its name is a
period of the machine of which it is a small multiple.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lockyard.report.naming import Naming
from lockyard.report.units import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lockyard.records.histogram import Histogram
    from lockyard.report.summary import CellSummary

# The tail: waits from this length on, if there are at least so many.
LONG_NS = 1e6
# Shorter tails, where no wait is that long: this many times the median.
TIMES_MEDIAN = 100.0
FEWEST = 30
# A mode contains the lengths within this factor of its middle; the flanks are as wide on each side.
WIDTH = 1.10
# It has this share of the tail, and is this many times as dense as its denser flank.
LEAST_SHARE = 0.10
DENSER = 2.0
MODES = 3
# A mode is a multiple of a period if it is this near to it; larger multiples would fit anything.
NEAR = 0.06
MULTIPLES = 4
# The policies whose threads the real-time throttle stops.
THROTTLED = ("fifo", "rr", "deadline")
HISTOGRAMS = ("wait", "idle_wanted", "response")
# A mode is named after the tick at which it ends if at least this share of it ended at one. By
# chance a tenth would, or less.
AT_TICKS = 0.5


@dataclass(frozen=True)
class Mode:
    length_ns: float
    share: float  # this part of the tail


@dataclass(frozen=True)
class Period:
    """Something that the machine does again and again, or for a fixed time."""

    name: str
    length_ns: float


def modes(counts: Mapping[float, int], from_ns: float) -> list[Mode]:
    """Returns the modes of the values from `from_ns` on, those with the largest share first."""
    tail = sorted((math.log(value), count) for value, count in counts.items() if value >= from_ns)
    total = sum(count for _, count in tail)
    if total < FEWEST:
        return []
    width = math.log(WIDTH)
    found: list[Mode] = []
    for place, _ in sorted(tail, key=lambda each: -_mass(tail, each[0] - width, each[0] + width)):
        if any(abs(place - math.log(mode.length_ns)) < 2 * width for mode in found):
            continue
        inside = _mass(tail, place - width, place + width)
        if inside < LEAST_SHARE * total or len(found) == MODES:
            break
        flanks = (
            _mass(tail, place - 3 * width, place - width),
            _mass(tail, place + width, place + 3 * width),
        )
        # The lower flank of the tail's beginning is cut off: it proves nothing.
        known = flanks if place - 3 * width >= math.log(from_ns) else (flanks[1] * 2, flanks[1])
        densest = max(known)
        if inside >= DENSER * densest and inside - densest >= 3 * math.sqrt(inside + densest):
            found.append(Mode(_middle(tail, place, width), inside / total))
    return found


def _mass(tail: Sequence[tuple[float, int]], low: float, high: float) -> int:
    return sum(count for place, count in tail if low <= place < high)


def _middle(tail: Sequence[tuple[float, int]], place: float, width: float) -> float:
    """Returns the median of the lengths of a mode."""
    inside = [each for each in tail if abs(each[0] - place) <= width]
    half, seen = sum(count for _, count in inside) / 2, 0
    for each, count in inside:
        seen += count
        if seen >= half:
            return math.exp(each)
    return math.exp(place)


def periods(environment: Mapping[str, Any], cell: CellSummary) -> list[Period]:
    """Returns the periods of the machine and of the cell's conditions, as far as they are known."""
    of = cell.conditions
    found = [
        ("slice", of.get("slice_ns") or (environment.get("harness") or {}).get("default_slice_ns")),
        ("tick", _tick_ns(environment)),
        *(_throttle(environment.get("scheduler") or {}) if of.get("policy") in THROTTLED else ()),
        ("timer slack", of.get("timer_slack_ns") or 50_000),
        ("deadline period", (of.get("deadline") or {}).get("period_ns")),
        ("quota period", 100e6 if of.get("quota_cpus") else None),
        ("round of rr", 100e6 if of.get("policy") == "rr" else None),
        ("round of yields", _yield_round_ns(environment, cell)),
    ]
    return [Period(name, length_ns) for name, length_ns in found if length_ns]


def _tick_ns(environment: Mapping[str, Any]) -> float | None:
    hz = (environment.get("system") or {}).get("tick_hz")
    return 1e9 / hz if hz else None


def _throttle(scheduler: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Yields the real-time throttle's period, and the time that it takes from real-time threads."""
    try:
        runtime_us = int(scheduler["sched_rt_runtime_us"])
        period_us = int(scheduler["sched_rt_period_us"])
    except (KeyError, TypeError, ValueError):
        return
    if 0 < runtime_us < period_us:
        yield "period of the real-time throttle", period_us * 1e3
        yield "pause of the real-time throttle", (period_us - runtime_us) * 1e3


def _yield_round_ns(environment: Mapping[str, Any], cell: CellSummary) -> float | None:
    """Returns how long all other threads take to yield once each, if the file says what a yield to
    another thread costs here."""
    cost_ns = environment.get("yield_with_company_ns")
    return cost_ns * (cell.threads - 1) if cost_ns and cell.threads > 1 else None


def names_of(length_ns: float, among: Iterable[Period]) -> list[str]:
    """Returns the periods of which a length is a small multiple, the best match first."""
    found = []
    for period in among:
        times = round(length_ns / period.length_ns)
        if 1 <= times <= MULTIPLES:
            error = abs(length_ns / (times * period.length_ns) - 1)
            if error <= NEAR:
                found.append((times, error, _times(times, period.name)))
    return [name for _, _, name in sorted(found)]


def _ended_at_ticks(mode: Mode, name: str, cell: CellSummary) -> list[str]:
    """Returns a name if most waits of a mode ended at a tick of the kernel, whose length they do
    not have: they began when their processor was given to a thread that does not yield."""
    to_tick = f"{name}_to_tick"
    looked = replace(cell, runs=[run for run in cell.runs if to_tick in run["histograms"]])
    share = _inside(mode, looked.histogram(to_tick)) / (_inside(mode, looked.histogram(name)) or 1)
    return [f"up to a tick ({_percent(share)} ended at one)"] if share >= AT_TICKS else []


def _inside(mode: Mode, of: Histogram) -> int:
    low, high = mode.length_ns / WIDTH, mode.length_ns * WIDTH
    return sum(count for value, count in of.counts.items() if low <= value < high)


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _times(number: int, name: str) -> str:
    words = ("one", "two", "three", "four")
    head, of, rest = name.partition(" of ")
    return f"{words[number - 1]} {head if number == 1 else f'{head}s'}{of}{rest}"


def tail_lines(cells: Iterable[CellSummary], environment: Mapping[str, Any]) -> Iterator[str]:
    """Yields a line for each lock, under each set of conditions, whose long waits have lengths in
    common."""
    cells = list(cells)
    naming = Naming.of(cells)
    for cell in cells:
        for name in HISTOGRAMS:
            histogram = cell.histogram(name)
            if not cell.lock or not histogram.total:
                continue
            from_ns = _begin_of_tail(histogram.counts)
            found = modes(histogram.counts, from_ns)
            if not found:
                continue
            known = periods(environment, cell)
            named = [
                (mode, names_of(mode.length_ns, known) or _ended_at_ticks(mode, name, cell))
                for mode in found
            ]
            if from_ns < LONG_NS and not any(names for _, names in named):
                continue  # short lengths have too many reasons to be worth a line
            parts = [_part(mode, names) for mode, names in named]
            what = name.replace("_", " ")
            under = " · ".join(naming.differences(cell))
            where = f"{cell.study} of {cell.lock} × {cell.threads}{under and f' ({under})'}"
            yield f"{where}: of {what}s over {duration(from_ns)}, {'; '.join(parts)}"


def _begin_of_tail(counts: Mapping[float, int]) -> float:
    """Returns a millisecond, or less if hardly any value is as long."""
    if sum(count for value, count in counts.items() if value >= LONG_NS) >= FEWEST:
        return LONG_NS
    total, seen = sum(counts.values()), 0
    for value, count in sorted(counts.items()):
        seen += count
        if 2 * seen >= total:
            return min(max(value, 1.0) * TIMES_MEDIAN, LONG_NS)
    return LONG_NS


def _part(mode: Mode, names: Sequence[str]) -> str:
    text = f"{_percent(mode.share)} are {duration(mode.length_ns)}"
    return f"{text} = {' or '.join(names[:2])}" if names else f"{text}, which no known period takes"
