# SPDX-License-Identifier: Apache-2.0
"""Consoles and tables for printing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeVar

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
# A table in a file or a pipe may be this wide.
PIPE_WIDTH = 400
# A report in a file or a pipe is this wide, so that people can read it anywhere.
TEXT_COLUMNS = 100


def stdout_console(pipe_width: int = PIPE_WIDTH) -> Console:
    """Returns a console with colours only on a terminal without NO_COLOR, and with this width in a
    pipe."""
    if sys.stdout.isatty():
        return Console(emoji=False)
    return Console(width=pipe_width, emoji=False)


def titled_table(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
    )


def fitted(
    columns: Sequence[T],
    width: int,
    table_of: Callable[[Sequence[T]], Table],
    least: Callable[[Sequence[T]], Sequence[T]],
) -> tuple[Table, Sequence[T]]:
    """Builds a table with the columns that fit into the width, and returns both. `least` names the
    columns to drop next, or none if the rest must stay."""
    unlimited = Console(width=PIPE_WIDTH, emoji=False)
    shown = columns
    while True:
        table = table_of(shown)
        dropped = least(shown)
        if not dropped or unlimited.measure(table).maximum <= width:
            return table, shown
        shown = [column for column in shown if column not in dropped]


def print_line(console: Console, text: str, style: str = "") -> None:
    """Prints the text unchanged: without markup and without wrapping."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def machine_table(title: str, *columns: str) -> Table:
    """Makes a table of the machine, with numbers in all columns but the first."""
    table = titled_table(title)
    for number, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if number else "left", no_wrap=True)
    return table
