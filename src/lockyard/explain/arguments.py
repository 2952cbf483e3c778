# SPDX-License-Identifier: Apache-2.0
"""The arguments and options of `lockyard explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lockyard.cli import completions

Explained = Annotated[
    Path | None,
    typer.Argument(
        metavar="RESULT",
        help="Records of traced runs, with their traces next to them; or a trace; or a folder of "
        "traces.",
        show_default=False,
    ),
]
TraceFile = Annotated[
    Path | None,
    typer.Option("--file", metavar="TRACE", help="A trace that a program wrote."),
]
TracedPid = Annotated[
    int | None,
    typer.Option("--pid", metavar="PID", help="A running program that traces its locks."),
]
Top = Annotated[
    int, typer.Option(metavar="N", min=0, help="How many of the longest stalls to draw.")
]
ExplainedLock = Annotated[
    str,
    typer.Option(
        "--lock",
        metavar="NAME,…",
        help="Explain only these locks.",
        show_default="all",
        autocompletion=completions.locks,
    ),
]
LongerThan = Annotated[
    str, typer.Option(metavar="TIME", help="The shortest wait that is a stall, as in 50us, 1ms.")
]
PerfettoFile = Annotated[
    Path | None,
    typer.Option(
        "--perfetto",
        metavar="FILE.json",
        help="Write the traces to FILE, for https://ui.perfetto.dev or chrome://tracing.",
        show_default=False,
    ),
]
Truth = Annotated[
    bool,
    typer.Option(
        "--truth", help="Compare with the injected causes, and print the confusion matrix."
    ),
]
