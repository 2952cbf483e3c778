# SPDX-License-Identifier: Apache-2.0
"""The options of `lockyard measure` for a user's own locks, each declared once."""

from __future__ import annotations

from typing import Annotated

import typer

from lockyard import completions

OWN = "A lock of your own"

Lock = Annotated[
    list[str] | None,
    typer.Option(
        "--lock",
        metavar="HEADER:TYPE",
        help="Compile the studies for a type of yours and measure it too, as in "
        "my/lock.hpp:my::lock; may be given several times.",
        autocompletion=completions.headers,
        show_default=False,
        rich_help_panel=OWN,
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="DIR",
        help="Where its headers are looked for; may be given several times.",
        autocompletion=completions.folders,
        show_default=False,
        rich_help_panel=OWN,
    ),
]
Flags = Annotated[
    str,
    typer.Option(
        metavar="FLAGS",
        help="For its compiler and linker, after the harness's own: '-march=native -DFOO'.",
        show_default=False,
        rich_help_panel=OWN,
    ),
]
