# SPDX-License-Identifier: Apache-2.0
"""The options for user locks, which `lockyard measure` and `lockyard check` share."""

from __future__ import annotations

from typing import Annotated

import typer

from lockyard.cli import completions

PANEL = "A lock of your own"

Lock = Annotated[
    list[str] | None,
    typer.Option(
        "--lock",
        metavar="HEADER:TYPE",
        help="Compile the studies for your own lock type and measure it too, as in "
        "my/lock.hpp:my::lock; repeat the option for more locks.",
        autocompletion=completions.headers,
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="DIR",
        help="Folder to search for its headers; repeat the option for more folders.",
        autocompletion=completions.folders,
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Flags = Annotated[
    str,
    typer.Option(
        metavar="FLAGS",
        help="Flags for its compiler and linker, after the harness's own: '-march=native -DFOO'.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
