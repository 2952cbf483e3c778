# SPDX-License-Identifier: Apache-2.0
"""The arguments and options of lockyard compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lockyard import completions

A = Annotated[
    Path,
    typer.Argument(
        metavar="A",
        help="Records to compare with: a file, or a folder of files.",
        show_default=False,
    ),
]
B = Annotated[
    Path | None,
    typer.Argument(
        metavar="B",
        help="Records that are compared, likewise.",
        show_default="A, for two of its locks",
    ),
]
FailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="'[STUDY.]FIGURE > +N%'",
        help="End with status 4 if a figure of B is shown to be beyond this change from A's; "
        "several times for several.",
        autocompletion=completions.figures,
        show_default=False,
    ),
]
Studies = Annotated[
    str,
    typer.Option(
        "--study",
        metavar="NAME,…",
        help="Compare these studies alone.",
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
