# SPDX-License-Identifier: Apache-2.0
"""The arguments and options of `lockyard check`, each declared once."""

from __future__ import annotations

from typing import Annotated

import typer

from lockyard import completions

SEARCH = "Search"

Checked = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[LOCK]...",
        help="What to check, by name.",
        autocompletion=completions.checked,
        show_default=False,
    ),
]
All = Annotated[bool, typer.Option("--all", help="Every lock, and every client of the tests.")]
Litmus = Annotated[
    bool, typer.Option("--litmus", help="The checker itself: what the memory model allows.")
]
Mutants = Annotated[
    bool,
    typer.Option("--mutants", help="Faults by hand, and every order weakened; each must be found."),
]
Bench = Annotated[bool, typer.Option("--bench", help="How fast the checker is.")]
CheckThreads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", help="Up to 5.", show_default="a suite of shapes"),
]
Acquisitions = Annotated[
    int | None,
    typer.Option(metavar="N", help="Of each thread.", show_default="a suite of shapes"),
]
Bound = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Preemptions at most 1, then 2, and so on up to N.",
        show_default="any number",
        rich_help_panel=SEARCH,
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        help="Time of each check; what is not done by then is inconclusive.",
        show_default="none; 10 of pct and random",
        rich_help_panel=SEARCH,
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        metavar="SIZE", help="Room for what is known, as in 512M, 2G.", rich_help_panel=SEARCH
    ),
]
Search = Annotated[
    str,
    typer.Option(
        metavar="exhaustive|pct|random",
        help="Every execution, or samples.",
        rich_help_panel=SEARCH,
    ),
]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache", help="Search on where others have been before.", rich_help_panel=SEARCH
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Threads that search.",
        show_default="one for each processor",
        rich_help_panel=SEARCH,
    ),
]
Replay = Annotated[
    str,
    typer.Option(
        metavar="TEXT",
        help="Show the execution that a failing check of LOCK printed.",
        show_default=False,
    ),
]
