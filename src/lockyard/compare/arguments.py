# SPDX-License-Identifier: Apache-2.0
"""The arguments and options of lockyard compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click
import typer

from lockyard.cli import completions

A = Annotated[
    Path,
    typer.Argument(
        metavar="A",
        help="The records to compare with: a file, or a folder of files.",
        show_default=False,
    ),
]
B = Annotated[
    Path | None,
    typer.Argument(
        metavar="B",
        help="The records to judge, likewise.",
        show_default="A, for two of its locks",
    ),
]
FailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="'[STUDY.]FIGURE > +N%'",
        help="End with status 4 if a figure of B provably exceeds this change from A; repeat the "
        "option for more gates.",
        autocompletion=completions.figures,
        show_default=False,
    ),
]
Studies = Annotated[
    str,
    typer.Option(
        "--study",
        metavar="NAME,…",
        help="Compare only these studies.",
        show_default="all",
        autocompletion=completions.studies_listed,
    ),
]
Locks = Annotated[
    str,
    typer.Option(
        "--locks",
        metavar="OF_A,OF_B",
        help="Compare this lock of A with that lock of B.",
        show_default="each with itself",
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="text|markdown",
        help="Markdown is for a comment on a pull request.",
        click_type=click.Choice(["text", "markdown"]),
    ),
]
