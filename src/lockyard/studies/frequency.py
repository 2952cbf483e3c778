# SPDX-License-Identifier: Apache-2.0
"""The study frequency: a heat map of parallelism for each lock, and the cost of a pair."""

from __future__ import annotations

import statistics
from functools import cache
from typing import TYPE_CHECKING

from rich.text import Text

from lockyard.report.columns import PARALLELISM, by_value
from lockyard.report.grids import Grid, grid_table, grids
from lockyard.report.naming import Naming
from lockyard.report.publications import printed_rows
from lockyard.report.reference import mean_over_cells
from lockyard.report.tables import row_name
from lockyard.report.units import MISSING, duration, rate, ratio
from lockyard.studies import Shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console, Group

    from lockyard.report.reference import Against
    from lockyard.report.summary import CellSummary
    from lockyard.studies import Setting

INTERVAL = "interval_ns"
SHARE = "share_percent"
PAIR = by_value("pair", "pair_ns")
# Shades from little to much parallelism, so that the map is readable without colours.
SHADES = "·░▒▓█"
NOTHING, ONE_THREAD, ALL_THREADS = (178, 24, 43), (250, 219, 120), (26, 152, 80)


@cache
def published() -> dict[str, str]:
    """Returns the published values by the name of the figure."""
    return {row["figure"]: row["value"] for row in printed_rows("frequency_preshing.csv")}


def frequency_tables(cells: Sequence[CellSummary], setting: Setting) -> Iterable[Group]:
    for grid in grids(cells, [INTERVAL, SHARE], Naming.of(cells)):
        for lock in grid.locks:
            yield _heat_map(grid, lock, setting.console)
        yield _pairs(grid, setting.against, setting.console)


def _heat_map(grid: Grid, lock: str, console: Console) -> Group:
    shares = grid.values(SHARE)
    rows = []
    for interval_ns in grid.values(INTERVAL):
        at = [grid.at(lock, **{INTERVAL: interval_ns, SHARE: share}) for share in shares]
        values = [cell.median("parallelism") if cell else None for cell in at]
        name = f"{duration(interval_ns)} ({rate(1e9 / interval_ns)})"
        rows.append((Text(name), [_heat(value, grid.threads) for value in values]))
    title = Text.assemble("frequency: parallelism of ", row_name(*grid.of(lock)))
    return grid_table(
        f"{title.plain}, by interval and share of the work that needs the lock · {grid.setting}",
        "interval (rate)",
        [f"{share:g} %" for share in shares],
        rows,
        console,
    )


def _heat(value: float | None, threads: int) -> Text:
    if value is None:
        return Text(MISSING)
    part = min(max(value / threads, 0.0), 1.0)
    shade = SHADES[round(part * (len(SHADES) - 1))]
    red, green, blue = _colour(value, threads)
    return Text(f"{value:.2f} {shade}", style=f"rgb(0,0,0) on rgb({red},{green},{blue})")


def _colour(value: float, threads: int) -> tuple[int, ...]:
    """Returns red for no work at all, yellow for one thread's work, green for all threads' work."""
    if value < 1 or threads == 1:
        start, end, part = NOTHING, ONE_THREAD if threads > 1 else ALL_THREADS, value
    else:
        start, end, part = ONE_THREAD, ALL_THREADS, (value - 1) / (threads - 1)
    part = min(max(part, 0.0), 1.0)
    return tuple(round(a + (b - a) * part) for a, b in zip(start, end, strict=True))


def _pairs(grid: Grid, against: Against | None, console: Console) -> Group:
    """Builds the table of pair costs over all cells of a lock: a pair is measured after the run,
    and so does not depend on its parameters."""
    columns = ["a pair"]
    if against is not None:
        columns.append(f"pair / {against.name}\n[95 % interval]")
    rows = []
    for lock in grid.locks:
        texts = [_pair(grid.of(lock))]
        if against is not None:
            texts.append(_pair_ratio(grid, lock, against))
        rows.append((row_name(*grid.of(lock)), texts))
    for figure, name in (("light", "published: light"), ("kernel", "published: in the kernel")):
        rows.append((Text(name), [Text(published()[f"{figure}_pair"])]))
        if against is not None:
            rows[-1][1].append(Text(MISSING))
    title = "frequency: lock and unlock when no other thread wants the lock"
    return grid_table(f"{title} · {grid.setting}", "lock", columns, rows, console)


def _pair(cells: Sequence[CellSummary]) -> Text:
    values = [value for cell in cells for value in cell.values("pair_ns")]
    return Text(duration(statistics.median(values)) if values else MISSING)


def _pair_ratio(grid: Grid, lock: str, against: Against) -> Text:
    by_place: dict[tuple[tuple[str, float], ...], list[CellSummary]] = {}
    for cell in grid.cells:
        by_place.setdefault(tuple(cell.parameters.items()), []).append(cell)
    groups = [
        (reference, some)
        for some in by_place.values()
        if (reference := against.among(some, PAIR)) is not None
    ]
    if groups and all(reference.cell.lock == lock for reference, _ in groups):
        return Text("the reference")
    found, _ = mean_over_cells(PAIR, lock, groups)
    return Text(ratio(found) if found else MISSING)


SHOWN = Shown(tables=frequency_tables, compared=(PARALLELISM, PAIR))
