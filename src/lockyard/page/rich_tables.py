# SPDX-License-Identifier: Apache-2.0
"""Converts the tables of the terminal to tables of the page, so that both show the same figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from lockyard.page.model import Remark, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OPEN_ROWS = 12  # a longer table is folded


def converted(renderables: Iterable[Any]) -> list[Table | Remark]:
    """Returns the tables and the lines between them. A bold line before a table is its title."""
    found: list[Table | Remark] = []
    title = ""
    for each in _flat(renderables):
        if isinstance(each, RichTable):
            found.append(_table(each, title))
            title = ""
        else:
            if title:
                found.append(Remark(title))
            title = _plain(each)
    if title:
        found.append(Remark(title))
    return found


def _flat(renderables: Iterable[Any]) -> Iterator[Any]:
    for each in renderables:
        if isinstance(each, Group):
            yield from _flat(each.renderables)
        else:
            yield each


def _table(table: RichTable, title: str) -> Table:
    columns = [_plain(column.header).replace("\n", " ") for column in table.columns]
    cells = [[_plain(cell) for cell in column.cells] for column in table.columns]
    rows = list(zip(*cells, strict=True))
    own = _plain(table.title) if table.title else title
    caption = _plain(table.caption) if table.caption else ""
    return Table(own, columns, rows, caption, open=len(rows) <= OPEN_ROWS)


def _plain(cell: Any) -> str:
    if isinstance(cell, Text):
        return cell.plain
    return Text.from_markup(str(cell), emoji=False).plain if isinstance(cell, str) else str(cell)
