# SPDX-License-Identifier: Apache-2.0
"""One table for each study, with every measured lock in it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from lockyard.report.columns import Column, by_value
from lockyard.report.console import fitted, titled_table
from lockyard.report.naming import SEPARATOR, Naming
from lockyard.report.reference import Reference, mean_over_cells
from lockyard.report.scaling import (
    ARCHITECTURES,
    has_published,
    has_published_rate,
    published_rate,
    published_speedup,
)
from lockyard.report.units import MISSING, duration, ratio
from lockyard.studies import layout_of, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console
    from rich.table import Table

    from lockyard.report.columns import Compared, Layout
    from lockyard.report.reference import Against, Groups
    from lockyard.report.summary import CellSummary


CONTINUED = ", continued"
LONGEST_IMPORTANCE = 7
RATIO_IMPORTANCE = 6


# By study (and whether as published), threads and work, and then by everything else that sets
# cells apart besides the lock.
Studies = dict[tuple[tuple[str, bool], int, str], dict[str, list["CellSummary"]]]


def tables(
    cells: Sequence[CellSummary], against: Against | None, console: Console
) -> Iterable[Table | Group | Text]:
    """Yields the tables of the studies of locks: one for each set of conditions, and one that
    compares the conditions with each other."""
    naming = Naming.of(cells)
    studies: Studies = {}
    for cell in cells:
        if not cell.of_machine and shown(cell.study).tables is None:
            study = (cell.study, cell.as_published)
            settings = studies.setdefault((study, cell.threads, cell.work), {})
            settings.setdefault(naming.setting(cell), []).append(cell)
    for (study, *_), settings in studies.items():
        name = _name(*study)
        layout = layout_of(*study)
        if layout is None:
            yield Text(f"{name}: this version has no table for it; the records hold its values")
            continue
        for setting, group in settings.items():
            columns = [
                *layout.columns,
                *_compared_columns(layout, group, against),
                *_published_columns(group, lambda cell: [cell]),
            ]
            yield fitting(f"{layout.title} · {setting}", columns, group, console, layout.of)
        if len(settings) > 1:
            yield _conditions_compared(name, layout, settings, console)
    if against is not None:
        yield from _means(studies, against, console)


def _name(study: str, as_published: bool) -> str:
    return f"{study} as published" if as_published else study


def _means(
    studies: Studies,
    against: Against,
    console: Console,
) -> Iterable[Table | Group]:
    """Yields, for each study with several settings, the mean of each lock over all settings,
    preceded by the means over each workload."""
    for study in dict.fromkeys(study for study, *_ in studies):
        layout = layout_of(*study)
        if layout is None:
            continue
        groups = [
            (reference, group)
            for (of, *_), settings in studies.items()
            for group in settings.values()
            if of == study and (reference := against.among(group, layout.compared)) is not None
        ]
        title = f"{_name(*study)}: geometric mean over the cells"
        by_workload: dict[str, list[tuple[Reference, list[CellSummary]]]] = {}
        for reference, group in groups:
            by_workload.setdefault(group[0].workload, []).append((reference, group))
        if len(by_workload) > 1:
            for workload, some in by_workload.items():
                yield from _mean_over(some, f"{title} · {workload}", layout, against, console)
        yield from _mean_over(groups, title, layout, against, console)


def _mean_over(
    groups: Groups, title: str, layout: Layout, against: Against, console: Console
) -> Iterable[Table | Group]:
    if len(groups) < 2:
        return
    first = {cell.lock: cell for _, group in reversed(groups) for cell in group if cell.runs}
    columns = [
        Column("cells", lambda of: str(len(_cells_with(groups, of)))),
        *(
            Column(
                f"{compared.title} / {against.name}\n[95 % interval]",
                partial(_mean, compared, groups),
            )
            for compared in (layout.compared, *layout.also_compared)
        ),
        *_published_columns(list(first.values()), partial(_cells_with, groups)),
    ]
    yield fitting(title, columns, list(first.values()), console, layout.of)


def _cells_with(groups: Groups, of: CellSummary) -> list[CellSummary]:
    return [cell for _, all_ in groups for cell in all_ if cell.lock == of.lock and cell.runs]


def _mean(compared: Compared, groups: Groups, of: CellSummary) -> str:
    found, _ = mean_over_cells(compared, of.lock, groups)
    return ratio(found) if found else MISSING


def _conditions_compared(
    name: str, layout: Layout, settings: dict[str, list[CellSummary]], console: Console
) -> Table | Group:
    """Shows each lock under each set of conditions, paired by block with itself under the first."""
    title, *_ = settings
    first = {cell.lock: cell for cell in settings[title]}
    ordered = [
        cell
        for lock in dict.fromkeys(cell.lock for group in settings.values() for cell in group)
        for group in settings.values()
        for cell in group
        if cell.lock == lock
    ]
    named = {
        id(cell): name
        for name, group in zip(_differences(list(settings)), settings.values(), strict=True)
        for cell in group
    }

    def ratio_of(compared: Compared) -> Callable[[CellSummary], str]:
        def text(cell: CellSummary) -> str:
            reference = first.get(cell.lock)
            if reference is None or not reference.runs:
                return MISSING
            return ratio_text(compared, Reference(reference, chosen=False), cell)

        return text

    columns = [
        Column("conditions", lambda cell: named[id(cell)]),
        Column(f"{layout.compared.title} / first\n[95 % interval]", ratio_of(layout.compared)),
    ]
    if layout.maxima is not None:
        columns.append(
            Column(
                "longest of a run / first\n[95 % interval]",
                ratio_of(by_value("longest", layout.maxima)),
                8,
            )
        )
    return fitting(f"{name}: conditions compared", columns, ordered, console, layout.of)


def _differences(settings: Sequence[str]) -> list[str]:
    """Leaves out of each setting what all of them have in common, if each has something else."""
    parts = [setting.split(SEPARATOR) for setting in settings]
    common = set(parts[0]).intersection(*parts)
    own = [SEPARATOR.join(part for part in each if part not in common) for each in parts]
    return own if all(own) else list(settings)


def _compared_columns(
    layout: Layout, cells: Sequence[CellSummary], against: Against | None
) -> Iterable[Column]:
    """Yields the columns that compare the locks of a table."""
    if layout.maxima is not None:
        key = layout.maxima
        runs = min((len(cell.runs) for cell in cells if cell.runs), default=0)
        yield Column(
            f"longest of each of\nthe first {runs} runs"
            if runs > 1
            else "longest of\nthe first run",
            lambda cell: ", ".join(duration(value) for value in cell.longest(key, runs)),
            LONGEST_IMPORTANCE,
        )
    reference = against.among(cells, layout.compared) if against else None
    if against is None or reference is None:
        return
    name = f"{against.name}\n({reference.cell.lock})" if against.chooses else against.name
    for compared in (layout.compared, *layout.also_compared):
        yield Column(
            f"{compared.title} / {name}\n[95 % interval]",
            partial(ratio_text, compared, reference),
            RATIO_IMPORTANCE,
        )


def _published_columns(
    cells: Sequence[CellSummary], meant_by: Callable[[CellSummary], Sequence[CellSummary]]
) -> Iterable[Column]:
    """Yields the published speed-ups; `meant_by` names the cells that a row stands for."""
    has_ratio = any(has_published(cell) for cell in cells)
    has_rate = any(has_published_rate(cell) for cell in cells)
    for architecture in ARCHITECTURES:
        if has_ratio:
            yield Column(
                f"published:\n{architecture}",
                partial(_published, architecture, meant_by),
                RATIO_IMPORTANCE,
            )
        if has_rate:
            yield Column(
                f"published rate:\n{architecture}",
                partial(_published_rate, architecture, meant_by),
                RATIO_IMPORTANCE - 1,
            )


def _published(
    architecture: str,
    meant_by: Callable[[CellSummary], Sequence[CellSummary]],
    cell: CellSummary,
) -> str:
    return published_speedup(meant_by(cell), architecture)


def _published_rate(
    architecture: str,
    meant_by: Callable[[CellSummary], Sequence[CellSummary]],
    cell: CellSummary,
) -> str:
    """Returns the printed operations per second; a row over several cells has none."""
    cells = meant_by(cell)
    return published_rate(cells[0], architecture) if len(cells) == 1 else MISSING


def ratio_text(compared: Compared, reference: Reference, cell: CellSummary) -> str:
    if cell is reference.cell:
        return "the reference"
    found = reference.ratio(compared, cell)
    return ratio(found) if found else MISSING


def fitting(
    title: str,
    columns: Sequence[Column],
    cells: Sequence[CellSummary],
    console: Console,
    of: str,
) -> Table | Group:
    """Builds the table with the most important columns that fit, followed by a table with the
    others."""
    table, shown = fitted(
        columns, console.width, lambda some: _table(title, some, cells, of), _least_important
    )
    others = [column for column in columns if column not in shown]
    if not others:
        return table
    name = title.removesuffix(CONTINUED).split(":")[0]
    return Group(table, "", fitting(f"{name}{CONTINUED}", others, cells, console, of))


def _least_important(columns: Sequence[Column]) -> list[Column]:
    """Returns the last one of the least important columns, unless it is the only column."""
    if len(columns) < 2:
        return []
    return [min(reversed(columns), key=lambda column: column.importance)]


def _table(title: str, columns: Sequence[Column], cells: Sequence[CellSummary], of: str) -> Table:
    table = titled_table(title)
    table.add_column(of, no_wrap=True)
    for column in columns:
        table.add_column(Text(column.title), justify="right", no_wrap=True)
    for cell in cells:
        if cell.runs:
            table.add_row(row_name(cell), *(Text(column.cell(cell)) for column in columns))
        else:
            table.add_row(Text(cell.lock), Text(cell.failure.split(":")[0], style="red"))
    return table


def row_name(*cells: CellSummary) -> Text:
    """Returns the lock's name, followed by what went wrong in any of its cells."""
    name = Text(cells[0].lock)
    if not all(cell.checks_hold for cell in cells):
        name.append(" BROKEN", style="bold red")
    for failure in dict.fromkeys(cell.failure.split(":")[0] for cell in cells if cell.failure):
        name.append(f" ({failure})", style="red")
    if cut_short := sum(cell.cut_short for cell in cells):
        name.append(f" ({cut_short} cut short)", style="yellow")
    return name
