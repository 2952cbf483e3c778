# SPDX-License-Identifier: Apache-2.0
"""Charts for the terminal: a row of blocks for each lock, with the figures that blocks cannot show.

Heights carry the meaning, in characters that need no colour; a terminal that cannot print blocks
gets letters of the same order.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from rich.text import Text

from lockyard.report.grids import grids
from lockyard.report.naming import Naming
from lockyard.report.units import MISSING, duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from lockyard.explain.totals import Total
    from lockyard.records.histogram import Histogram
    from lockyard.report.grids import Grid
    from lockyard.report.summary import CellSummary

BLOCKS = " ▁▂▃▄▅▆▇█"
LETTERS = " .,:-=+*#"  # as many, for terminals without blocks
MOST_ROWS = 16  # a chart with more rows is a table
LEAST_COLUMNS, MOST_COLUMNS = 20, 72  # of the blocks
SHARE = "share_percent"
DISTRIBUTIONS = {
    "wait": ("waits", "wait", "wait"),
    "idle": ("free but wanted", "idle_wanted", "idle_published"),
}


def charts(cells: Sequence[CellSummary], console: Console) -> Iterator[Text]:
    """Yields the charts of all studies that have a shape to look at."""
    naming = Naming.of(cells)
    for study, (title, plain, as_published) in DISTRIBUTIONS.items():
        groups: dict[str, list[CellSummary]] = {}
        for cell in cells:
            if cell.study == study and cell.runs:
                form = " · as published" if cell.as_published else ""
                groups.setdefault(naming.setting(cell) + form, []).append(cell)
        for setting, group in groups.items():
            name = as_published if group[0].as_published else plain
            rows = [(cell.lock, cell.histogram(name)) for cell in group]
            yield from ridges(f"{title} · {setting}", rows, console)
    of_contention = [cell for cell in cells if cell.study == "contention" and cell.runs]
    for grid in grids(of_contention, [SHARE], naming):
        yield from _contention(grid, console)


def ridges(title: str, rows: Sequence[tuple[str, Histogram]], console: Console) -> Iterator[Text]:
    """Yields a row for each distribution, over one logarithmic axis of time. The height is the
    logarithm of the number of samples, since a few long ones matter among millions."""
    sampled = [(name, each) for name, each in rows if each.total]
    shown = sampled[:MOST_ROWS]
    if not shown:
        return
    values = [max(value, 1.0) for _, each in shown for value in each.counts]
    low, high = math.log10(min(values)), math.log10(max(values))
    names = max(len(name) for name, _ in shown)
    columns = min(max(console.width - names - 24, LEAST_COLUMNS), MOST_COLUMNS)
    step = max((high - low) / columns, 1e-9)
    yield Text(f"{title}: number of samples (logarithm) by length", "bold")
    for name, histogram in shown:
        bins = [0.0] * columns
        for value, count in histogram.counts.items():
            place = int((math.log10(max(value, 1.0)) - low) / step)
            bins[min(place, columns - 1)] += count
        most = math.log10(max(bins)) + 1
        heights = [(math.log10(count) + 1) / most if count else 0.0 for count in bins]
        middle, longest = histogram.percentile(0.5), max(histogram.counts)
        figures = f"{duration(middle):>8} {duration(longest):>8}"
        yield Text(f"  {name:<{names}}  {_blocks(heights, console)}  {figures}")
    axis = _axis(low, high, columns)
    yield Text(f"  {'':<{names}}  {axis}  {'p50':>8} {'longest':>8}", "dim")
    yield from _left_out(len(sampled) - len(shown))


def _axis(low: float, high: float, columns: int) -> str:
    """Returns the labels of powers of ten below the columns that they stand for."""
    line = [" "] * columns
    free = 0
    for power in range(math.ceil(low), math.floor(high) + 1):
        label = f"|{duration(10.0**power).replace('.00', '').replace('.0', '')}"
        at = int((power - low) / max(high - low, 1e-9) * columns)
        if at >= free and at + len(label) <= columns:
            line[at : at + len(label)] = label
            free = at + len(label) + 1
    return "".join(line)


def _contention(grid: Grid, console: Console) -> Iterator[Text]:
    shares = grid.values(SHARE)
    if len(shares) < 3:
        return
    found = {lock: [grid.at(lock, **{SHARE: each}) for each in shares] for lock in grid.locks}
    values = {
        lock: [cell.median("parallelism") if cell else None for cell in at]
        for lock, at in list(found.items())[:MOST_ROWS]
    }
    known = [value for line in values.values() for value in line if value is not None]
    if not known:
        return
    most = max(known)
    names = max(map(len, values))
    wide = max(1, min(6, (console.width - names - 22) // len(shares)))
    yield Text(f"parallelism by share of the work that needs the lock · {grid.setting}", "bold")
    for lock, line in values.items():
        heights = [value / most if value is not None else 0.0 for value in line]
        blocks = "".join(each * wide for each in _blocks(heights, console))
        first, last = (MISSING if v is None else f"{v:.2f}" for v in (line[0], line[-1]))
        yield Text(f"  {lock:<{names}}  {blocks}  {first:>6} {last:>6}")
    ends = f"{shares[0]:g} %", f"{shares[-1]:g} %"
    room = len(shares) * wide - len(ends[0])
    axis = f"{ends[0]}{ends[1]:>{max(room, len(ends[1]) + 1)}}"
    yield Text(
        f"  {'':<{names}}  {axis}  {'first':>6} {'last':>6}   full height: {most:.2f}", "dim"
    )
    yield from _left_out(len(found) - len(values))


def cause_bars(
    totals: Sequence[Total], named: Sequence[tuple[str, str, float]], console: Console
) -> Iterator[Text]:
    """Yields a bar for each lock, in which each cause has a letter; `named` has, for each lock and
    cause, the share."""
    letters: dict[str, str] = {}
    for _, cause, _ in named:
        letter = next((each for each in cause if each not in letters.values()), "?")
        letters.setdefault(cause, letter)
    names = max((len(total.lock) for total in totals), default=0)
    columns = min(max(console.width - names - 14, LEAST_COLUMNS), MOST_COLUMNS)
    for total in totals[:MOST_ROWS]:
        shares = [(cause, share) for lock, cause, share in named if lock == total.lock and share]
        bar = "".join(letters[cause] * round(share * columns) for cause, share in shares)
        yield Text(
            f"  {total.lock:<{names}}  {bar[:columns]:<{columns}}  {duration(total.stalled_ns)}"
        )
    used = ", ".join(f"{letter} = {cause}" for cause, letter in letters.items())
    yield Text(f"  {used}", "dim")
    yield from _left_out(len(totals) - MOST_ROWS)


def _left_out(rows: int) -> Iterator[Text]:
    if rows > 0:
        yield Text(f"  and {rows} more, which the tables show", "dim")


def _blocks(heights: Iterable[float], console: Console) -> str:
    """Returns a character for each height from 0 to 1; what is above 0 is never blank."""
    glyphs = BLOCKS if _prints_blocks(console) else LETTERS
    top = len(glyphs) - 1
    return "".join(glyphs[max(round(each * top), 1) if each > 0 else 0] for each in heights)


def _prints_blocks(console: Console) -> bool:
    encoding = console.encoding or sys.getdefaultencoding()
    try:
        BLOCKS.encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True
