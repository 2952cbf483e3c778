# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share. A command's own options are in its module."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click
import typer

from lockyard import options as parse
from lockyard.cli.command import option

FILE = click.Path(path_type=Path)

Json = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")
]
Out = Annotated[Path | None, option("FILE", "Write the records to FILE.", FILE, shown=False)]
Seed = Annotated[
    int | None, option("N", "Seed for order and placement.", parse.seed, shown="random; printed")
]
Program = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- PROGRAM [ARGS...]]",
        help="The program to start, and its arguments.",
        show_default=False,
    ),
]
