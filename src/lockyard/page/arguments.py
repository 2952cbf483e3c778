# SPDX-License-Identifier: Apache-2.0
"""The options of the page, which several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lockyard.cli.command import option

PageFile = Annotated[
    Path | None,
    option(
        "FILE.html",
        "Write a page with charts to FILE, which opens without a network.",
        names=("--page",),
        shown=False,
    ),
]
Charts = Annotated[
    bool | None,
    typer.Option(
        "--charts/--no-charts",
        help="Print charts of distributions and contention below the tables.",
        show_default="in measure, charts on a terminal",
    ),
]
Simulated = Annotated[
    list[Path] | None,
    option(
        "FILE.json",
        "Draw what 'lockyard simulate --json' printed into the page's charts; repeatable.",
        names=("--simulated",),
        shown=False,
    ),
]
