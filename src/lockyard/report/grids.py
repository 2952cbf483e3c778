# SPDX-License-Identifier: Apache-2.0
"""Lays out the cells of a study by its parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from lockyard.report.console import fitted, titled_table
from lockyard.report.naming import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType
    from rich.table import Table

    from lockyard.report.naming import Naming
    from lockyard.report.summary import CellSummary


@dataclass
class Grid:
    """Cells that differ only in the lock and in the parameters along the axes."""

    threads: int
    workload: str
    setting: str
    cells: list[CellSummary] = field(default_factory=list)

    @property
    def locks(self) -> list[str]:
        return list(dict.fromkeys(cell.lock for cell in self.cells))

    def values(self, parameter: str) -> list[float]:
        return sorted({cell.parameters[parameter] for cell in self.cells})

    def of(self, lock: str) -> list[CellSummary]:
        return [cell for cell in self.cells if cell.lock == lock]

    def at(self, lock: str, **parameters: float) -> CellSummary | None:
        """Returns the cell at these parameters, or None if it has no runs."""
        for cell in self.of(lock):
            if cell.runs and parameters.items() <= cell.parameters.items():
                return cell
        return None


def grids(cells: Sequence[CellSummary], axes: Sequence[str], naming: Naming) -> list[Grid]:
    found: dict[str, Grid] = {}
    for cell in cells:
        if set(axes) <= cell.parameters.keys():
            conditions = naming.conditions(cell, besides=axes)
            setting = " · ".join([counted(cell.threads, "thread"), *conditions])
            grid = found.setdefault(setting, Grid(cell.threads, cell.workload, setting))
            grid.cells.append(cell)
    return list(found.values())


def grid_table(
    title: str,
    head: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Text, Sequence[Text]]],
    console: Console,
) -> Group:
    """Builds the table, and continues it below if it does not fit."""

    def table_of(places: Sequence[int]) -> Table:
        table = titled_table("")
        table.add_column(head, no_wrap=True)
        for place in places:
            table.add_column(Text(columns[place]), justify="right", no_wrap=True)
        for name, texts in rows:
            table.add_row(name, *(texts[place] for place in places))
        return table

    # A table's own title would be wrapped to the width of the table.
    parts: list[RenderableType] = [Text(title, style="bold")]
    left = list(range(len(columns)))
    while left:
        # The last column goes first, but not the only column.
        table, shown = fitted(left, console.width, table_of, lambda some: some[1:][-1:])
        parts.append(table)
        left = left[len(shown) :]
    return Group(*parts)
