# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share. A command's own options are in its module."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click
import typer

from lockyard import options as parse
from lockyard.cli.command import Parsed

FILE = click.Path(path_type=Path)

Json = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write the records to FILE.", show_default=False, click_type=FILE
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Seed for order and placement.",
        show_default="random; printed",
        click_type=Parsed(parse.seed),
    ),
]
Program = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- PROGRAM [ARGS...]]",
        help="The program to start, and its arguments.",
        show_default=False,
    ),
]
