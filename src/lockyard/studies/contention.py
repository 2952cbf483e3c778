# SPDX-License-Identifier: Apache-2.0
"""The tables of the study contention: a row for each lock, a column for each share of lock time."""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING

from rich.text import Text

from lockyard.report.columns import PARALLELISM, by_value
from lockyard.report.grids import Grid, grid_table, grids
from lockyard.report.ideal import Ideal, ideal
from lockyard.report.naming import Naming
from lockyard.report.publications import printed_rows
from lockyard.report.tables import ratio_text, row_name
from lockyard.report.units import MISSING, percent
from lockyard.studies import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console, Group

    from lockyard.report.reference import Against
    from lockyard.report.summary import CellSummary
    from lockyard.studies import Setting

SHARE = "share_percent"
# The share from which the text found less parallelism than chance explains.
PUBLISHED_CLIFF = {4: "near 60 %"}
FALL = "steepest fall\nagainst ideal"


@cache
def published() -> dict[tuple[int, float], tuple[float, float]]:
    """Returns the published parallelism and waiting share, by threads and share."""
    return {
        (int(row["threads"]), float(row["share_percent"])): (
            float(row["parallelism"]),
            float(row["waiting_percent"]) / 100,
        )
        for row in printed_rows("contention_preshing.csv")
    }


def contention_tables(cells: Sequence[CellSummary], setting: Setting) -> Iterable[Group]:
    """Yields three tables: parallelism, the share of time spent waiting, ratios to the
    reference."""
    console = setting.console
    for grid in grids(cells, [SHARE], Naming.of(cells)):
        yield _parallelism(grid, console, setting.processors)
        yield _waiting(grid, console, setting.processors)
        if setting.against is not None:
            yield _ratios(grid, setting.against, console)


def _parallelism(grid: Grid, console: Console, processors: int | None) -> Group:
    shares = grid.values(SHARE)
    ideals = _ideals(grid, processors)
    rows = [
        (name, [*texts, Text(_steepest_fall(grid, lock, ideals))])
        for lock, name, texts in _rows(grid, lambda cell: _digits(cell.median("parallelism")))
    ]
    extra = []
    if ideals:
        texts = [_digits(ideals[share].parallelism) for share in shares]
        extra.append(("ideal", texts, MISSING))
    found = [published().get((grid.threads, share)) for share in shares]
    if grid.workload != "allocator" and (any(found) or grid.threads in PUBLISHED_CLIFF):
        texts = [_digits(each[0] if each else None) for each in found]
        extra.append(("published", texts, PUBLISHED_CLIFF.get(grid.threads, MISSING)))
    rows += [(Text(name), [*map(Text, texts), Text(last)]) for name, texts, last in extra]
    columns = [*(f"{share:g} %" for share in shares), FALL]
    title = "contention: parallelism, by the share of the work that needs the lock"
    return grid_table(f"{title} · {grid.setting}", "lock", columns, rows, console)


def _waiting(grid: Grid, console: Console, processors: int | None) -> Group:
    shares = grid.values(SHARE)
    ideals = _ideals(grid, processors)
    rows = [
        (name, texts)
        for _, name, texts in _rows(grid, lambda cell: percent(cell.median("waiting_share")))
    ]
    if ideals:
        rows.append(
            (Text("ideal"), [Text(percent(ideals[share].waiting_share)) for share in shares])
        )
    found = [published().get((grid.threads, share)) for share in shares]
    if grid.workload != "allocator" and any(found):
        rows.append((Text("published"), [Text(percent(e[1] if e else None)) for e in found]))
    title = "contention: share of the threads' time between the call and the acquisition"
    columns = [f"{share:g} %" for share in shares]
    return grid_table(f"{title} · {grid.setting}", "lock", columns, rows, console)


def _ratios(grid: Grid, against: Against, console: Console) -> Group:
    """Returns ratios paired by block, each to the reference at the same share."""

    def text(cell: CellSummary) -> str:
        same = [each for each in grid.cells if each.parameters == cell.parameters]
        reference = against.among(same, PARALLELISM)
        return ratio_text(PARALLELISM, reference, cell) if reference else MISSING

    title = f"contention: parallelism / {against.name} [95 % interval]"
    columns = [f"{share:g} %" for share in grid.values(SHARE)]
    rows = [(name, texts) for _, name, texts in _rows(grid, text)]
    return grid_table(f"{title} · {grid.setting}", "lock", columns, rows, console)


def _rows(
    grid: Grid, shown: Callable[[CellSummary], str]
) -> Iterable[tuple[str, Text, list[Text]]]:
    for lock in grid.locks:
        at = [grid.at(lock, **{SHARE: share}) for share in grid.values(SHARE)]
        yield lock, row_name(*grid.of(lock)), [Text(shown(e) if e else MISSING) for e in at]


def _ideals(grid: Grid, processors: int | None) -> dict[float, Ideal]:
    """Returns the ideal at each share; empty if the number of processors is unknown."""
    pinning = grid.cells[0].conditions.get("pinning")
    if isinstance(pinning, list):
        processors = len(set(pinning))
    if processors is None:
        return {}
    return {share: ideal(grid.threads, processors, share / 100) for share in grid.values(SHARE)}


def _steepest_fall(grid: Grid, lock: str, ideals: dict[float, Ideal]) -> str:
    """Returns the largest drop, from one share to the next, of the achieved part of the ideal."""
    achieved = []
    for share, best in ideals.items():
        cell = grid.at(lock, **{SHARE: share})
        found = cell.median("parallelism") if cell else None
        if found is not None:
            achieved.append((share, found / best.parallelism))
    falls = [
        ((before - after) / before, first, second)
        for (first, before), (second, after) in itertools.pairwise(achieved)
        if before > after
    ]
    if len(achieved) < 3 or not falls:
        return MISSING
    fall, first, second = max(falls)
    return f"{first:g} to {second:g} %: {percent(fall)}"


def _digits(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


SHOWN = Shown(
    tables=contention_tables, compared=(PARALLELISM, by_value("waiting", "waiting_share"))
)
