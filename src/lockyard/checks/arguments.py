# SPDX-License-Identifier: Apache-2.0
"""The arguments and options of `lockyard check`, each declared once."""

from __future__ import annotations

from typing import Annotated

import typer

from lockyard.cli import completions
from lockyard.user_locks import arguments as own

SEARCH = "Search"

Checked = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[LOCK]...",
        help="The locks and clients to check, by name.",
        autocompletion=completions.checked,
        show_default=False,
    ),
]
All = Annotated[bool, typer.Option("--all", help="Check every lock, and every client.")]
Litmus = Annotated[
    bool, typer.Option("--litmus", help="Check the checker: what the memory model allows.")
]
Mutants = Annotated[
    bool,
    typer.Option(
        "--mutants",
        help="Check hand-written faults, and every order weakened; each must be killed.",
    ),
]
Bench = Annotated[bool, typer.Option("--bench", help="Measure the speed of the checker.")]
CheckThreads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        help="Number of threads, up to 5.",
        show_default="several client sizes",
    ),
]
Acquisitions = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Acquisitions of each thread.", show_default="several client sizes"
    ),
]
Bound = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Search with at most 1 preemption, then 2, and so on up to N.",
        show_default="any number",
        rich_help_panel=SEARCH,
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        help="Time limit of each check; a check not done by then is inconclusive.",
        show_default="none; 10 for pct and random",
        rich_help_panel=SEARCH,
    ),
]
Memory = Annotated[
    str,
    typer.Option(
        metavar="SIZE",
        help="Memory for known states, as in 512M, 2G.",
        rich_help_panel=SEARCH,
    ),
]
Search = Annotated[
    str,
    typer.Option(
        metavar="exhaustive|pct|random",
        help="How to search: every execution, or samples.",
        rich_help_panel=SEARCH,
    ),
]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        help="Explore again from states that were explored before.",
        rich_help_panel=SEARCH,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Number of threads that search.",
        show_default="one for each processor",
        rich_help_panel=SEARCH,
    ),
]
Client = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="Compile a client of your own, the class `client` in this C++ file, and check it.",
        show_default=False,
        rich_help_panel=own.OWN,
    ),
]
Lock = Annotated[
    list[str] | None,
    typer.Option(
        "--lock",
        metavar="HEADER:TYPE",
        help="Compile your own lock type, written with std::atomic, and check it, as in "
        "my/lock.hpp:my::lock; repeat the option for more locks.",
        autocompletion=completions.headers,
        show_default=False,
        rich_help_panel=own.OWN,
    ),
]
Replay = Annotated[
    str,
    typer.Option(
        metavar="TEXT",
        help="Show the execution that a failed check of LOCK printed.",
        show_default=False,
    ),
]
