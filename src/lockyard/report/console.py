# SPDX-License-Identifier: Apache-2.0
"""Where tables go."""

from __future__ import annotations

import sys

from rich import box
from rich.console import Console
from rich.table import Table

# A table in a file or a pipe is as wide as it needs to be, up to here.
PIPE_WIDTH = 400


def stdout_console() -> Console:
    """Colours only on a terminal and only without NO_COLOR; no wrapping in a pipe."""
    if sys.stdout.isatty():
        return Console()
    return Console(width=PIPE_WIDTH)


def titled_table(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
    )


def print_line(console: Console, text: str, style: str = "") -> None:
    """As it is: neither marked up nor wrapped."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
