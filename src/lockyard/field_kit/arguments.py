# SPDX-License-Identifier: Apache-2.0
"""The arguments and options of the field kit's commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Pid = Annotated[
    int | None,
    typer.Argument(metavar="[PID]", min=1, help="The process to look at.", show_default=False),
]
Core = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Look at this core file instead of a running process."),
]
Watch = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="Look again and again, until there is a deadlock or a thread has waited for an owner "
        "this long, as in 10s.",
        show_default="look once",
    ),
]
Stacks = Annotated[
    bool,
    typer.Option(
        "--stacks", help="Add all call stacks by eu-stack or gdb, which stop the process meanwhile."
    ),
]
Program = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- PROGRAM ARGS", help="The program to run.", show_default=False),
]
Mutex = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The lock that takes the place of the program's mutexes; glibc for none.",
        show_default=False,
    ),
]
Condition = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="condition_variable or condition_variable_any.",
        show_default="condition_variable with mutex, condition_variable_any with other locks",
    ),
]
Only = Annotated[
    str,
    typer.Option(
        metavar="SITE",
        help="Swap only the mutexes that are this variable, or that functions of this name, class "
        "or namespace initialise or acquire first.",
        show_default="all mutexes",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing about the run.")]
Command = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- PROGRAM [ARGS...]]",
        help="The program to start, and its arguments.",
        show_default=False,
    ),
]
ProfileFrom = Annotated[
    str,
    typer.Option(
        "--from", metavar="PID|FILE", help="Read the records of a program that is running under "
        "profile, or a profile's file.", show_default=False,
    ),
]  # fmt: skip
ProfileOut = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="FILE", help="Write the profile as JSON Lines, too."),
]
Perfetto = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a trace of the long waits, for Perfetto, too."),
]
Pprof = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a file for pprof, too.")]
Folded = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write folded stacks, for flame graphs, too."),
]
ProfileLengths = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the holds and gaps of the lock with the longest waits, which 'lockyard measure "
        "--lengths recorded:FILE' reads. The file's name ends in .csv.",
    ),
]
TriedLocks = Annotated[
    str,
    typer.Option(
        "--mutex", metavar="NAMES", help="The locks to try; the control glibc is always added."
    ),
]
Higher = Annotated[
    list[str] | None,
    typer.Option(
        metavar="REGEX",
        help="A figure in the program's output, in parentheses, that should be high.",
    ),
]
Lower = Annotated[
    list[str] | None,
    typer.Option(metavar="REGEX", help="The same for a figure that should be low."),
]
Rounds = Annotated[
    int, typer.Option(metavar="N", help="How often the program runs alone and with each lock.")
]
PredictFrom = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="FILE", help="Read this profile in place of profiling the program."
    ),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify", help="Run the program with each lock, and compare with the prediction."
    ),
]
MostLocks = Annotated[
    int, typer.Option("--most", metavar="N", min=1, help="How many of its locks are measured.")
]
OnDeadlock = Annotated[
    str,
    typer.Option(
        metavar="REACTION",
        help="The reaction of the thread that closes a deadlock: report; error, which also returns "
        "EDEADLK where the mutex is error-checking; error-to-all, which returns it always, though "
        "most programs then go on without the lock; abort.",
    ),
]
LongHold = Annotated[
    str, typer.Option(metavar="TIME", help="Report mutexes that are held this long.")
]
GuardOut = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="FILE", help="Write the findings as JSON Lines, too."),
]
