# SPDX-License-Identifier: Apache-2.0
"""The tables of the study contention: a row for each lock, a column for each share of lock time.
Its preset frequency has a heat map for each lock, and the cost of a pair."""

from __future__ import annotations

import itertools
import statistics
from functools import cache
from typing import TYPE_CHECKING

from rich.text import Text

from lockyard.report.columns import PARALLELISM, by_value
from lockyard.report.grids import Grid, grid_table, grids
from lockyard.report.heat import heat
from lockyard.report.ideal import Ideal, ideal
from lockyard.report.naming import Naming
from lockyard.report.publications import printed_rows
from lockyard.report.reference import mean_over_cells
from lockyard.report.tables import ratio_text, row_name
from lockyard.report.units import MISSING, duration, percent, rate, ratio
from lockyard.studies import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console, Group

    from lockyard.report.reference import Against
    from lockyard.report.summary import CellSummary
    from lockyard.studies import Setting

SHARE, INTERVAL = "share_percent", "interval_ns"
PAIR = by_value("pair", "pair_ns")
# The share from which the text found less parallelism than chance explains.
PUBLISHED_CLIFF = {4: "near 60 %"}
FALL = "steepest fall\nagainst ideal"


@cache
def published() -> dict[tuple[int, float], Ideal]:
    """Returns the published parallelism and waiting share, by threads and share."""
    return {
        (int(row["threads"]), float(row["share_percent"])): Ideal(
            float(row["parallelism"]), float(row["waiting_percent"]) / 100
        )
        for row in printed_rows("contention_preshing.csv")
    }


@cache
def published_pairs() -> dict[str, str]:
    """Returns the published costs of a pair by the name of the figure."""
    return {row["figure"]: row["value"] for row in printed_rows("frequency_preshing.csv")}


def contention_tables(cells: Sequence[CellSummary], setting: Setting) -> Iterable[Group]:
    """Yields three tables: parallelism, the share of time spent waiting, ratios to the
    reference."""
    for grid in grids(cells, [SHARE], Naming.of(cells)):
        yield _by_share(grid, setting, "parallelism, by the share of the work that needs the lock",
                        lambda of: _digits(of.parallelism), "parallelism")  # fmt: skip
        yield _by_share(grid, setting,
                        "share of the threads' time between the call and the acquisition",
                        lambda of: percent(of.waiting_share), "waiting_share")  # fmt: skip
        if setting.against is not None:
            yield _ratios(grid, setting.against, setting.console)


def frequency_tables(cells: Sequence[CellSummary], setting: Setting) -> Iterable[Group]:
    for grid in grids(cells, [INTERVAL, SHARE], Naming.of(cells)):
        for lock in grid.locks:
            yield _heat_map(grid, lock, setting.console)
        yield _pairs(grid, setting.against, setting.console)


def _by_share(
    grid: Grid, setting: Setting, title: str, text: Callable[[Ideal], str], key: str
) -> Group:
    """Returns the table of one value, with its ideal and its published values; parallelism has the
    steepest fall in a column of its own."""
    shares = grid.values(SHARE)
    ideals = _ideals(grid, setting.processors)
    falls = key == "parallelism"

    def of_cell(cell: CellSummary) -> str:
        return (_digits if falls else percent)(cell.median(key))

    rows = [
        (name, [*texts, Text(_steepest_fall(grid, lock, ideals))])
        for lock, name, texts in _rows(grid, of_cell)
    ]
    found = [published().get((grid.threads, share)) for share in shares]
    cliff = PUBLISHED_CLIFF.get(grid.threads, MISSING)
    if ideals:
        texts = [Text(text(ideals[share])) for share in shares]
        rows.append((Text("ideal"), [*texts, Text(MISSING)]))
    if grid.workload != "allocator" and (any(found) or (falls and cliff != MISSING)):
        texts = [Text(text(each) if each else MISSING) for each in found]
        rows.append((Text("published"), [*texts, Text(cliff)]))
    columns = [*_columns(grid), *([FALL] if falls else [])]
    return grid_table(f"contention: {title} · {grid.setting}", "lock", columns, rows,
                      setting.console)  # fmt: skip


def _ratios(grid: Grid, against: Against, console: Console) -> Group:
    """Returns ratios paired by block, each to the reference at the same share."""

    def text(cell: CellSummary) -> str:
        same = [each for each in grid.cells if each.parameters == cell.parameters]
        reference = against.among(same, PARALLELISM)
        return ratio_text(PARALLELISM, reference, cell) if reference else MISSING

    title = f"contention: parallelism / {against.name} [95 % interval]"
    rows = [(name, texts) for _, name, texts in _rows(grid, text)]
    return grid_table(f"{title} · {grid.setting}", "lock", _columns(grid), rows, console)


def _columns(grid: Grid) -> list[str]:
    return [f"{share:g} %" for share in grid.values(SHARE)]


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


def _heat_map(grid: Grid, lock: str, console: Console) -> Group:
    rows = []
    for interval_ns in grid.values(INTERVAL):
        at = [grid.at(lock, **{INTERVAL: interval_ns, SHARE: e}) for e in grid.values(SHARE)]
        values = [cell.median("parallelism") if cell else None for cell in at]
        name = f"{duration(interval_ns)} ({rate(1e9 / interval_ns)})"
        rows.append((Text(name), [heat(value, grid.threads) for value in values]))
    title = Text.assemble("frequency: parallelism of ", row_name(*grid.of(lock)))
    return grid_table(
        f"{title.plain}, by interval and share of the work that needs the lock · {grid.setting}",
        "interval (rate)",
        _columns(grid),
        rows,
        console,
    )


def _pairs(grid: Grid, against: Against | None, console: Console) -> Group:
    """Builds the table of pair costs over all cells of a lock: a pair is measured after the run,
    and so does not depend on its parameters."""
    columns = ["a pair"]
    if against is not None:
        columns.append(f"pair / {against.name}\n[95 % interval]")
    rows = []
    for lock in grid.locks:
        values = [value for cell in grid.of(lock) for value in cell.values("pair_ns")]
        texts = [Text(duration(statistics.median(values)) if values else MISSING)]
        if against is not None:
            texts.append(_pair_ratio(grid, lock, against))
        rows.append((row_name(*grid.of(lock)), texts))
    for figure, name in (("light", "published: light"), ("kernel", "published: in the kernel")):
        rows.append((Text(name), [Text(published_pairs()[f"{figure}_pair"])]))
        if against is not None:
            rows[-1][1].append(Text(MISSING))
    title = "frequency: lock and unlock when no other thread wants the lock"
    return grid_table(f"{title} · {grid.setting}", "lock", columns, rows, console)


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


SHOWN = Shown(
    tables=contention_tables,
    compared=(PARALLELISM, by_value("waiting", "waiting_share")),
    presets={"frequency": Shown(tables=frequency_tables, compared=(PARALLELISM, PAIR))},
)
