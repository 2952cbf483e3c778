# SPDX-License-Identifier: Apache-2.0
"""The arguments and options of `lockyard simulate` and `lockyard machines`, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lockyard.cli import completions

SETTING = "Machine and setting"
WORK = "Work"

SimulatedStudy = Annotated[
    str,
    typer.Argument(
        metavar="[STUDY]",
        help="What to simulate: wait, idle, throughput, contention or scale.",
        autocompletion=completions.simulated_studies,
        show_default=False,
    ),
]
MachineName = Annotated[
    str,
    typer.Option(
        "--machine",
        metavar="NAME|FILE.toml",
        help="The machine; 'lockyard machines' shows them.",
        autocompletion=completions.machines,
        rich_help_panel=SETTING,
    ),
]
Scheduler = Annotated[
    str,
    typer.Option(
        metavar="NAME,...",
        help="The schedulers.",
        autocompletion=completions.simulated_schedulers,
        rich_help_panel=SETTING,
    ),
]
Background = Annotated[
    str,
    typer.Option(
        metavar="quiet|server|desktop",
        help="What else runs; without it, each figure's range covers all three.",
        show_default=False,
        rich_help_panel=SETTING,
    ),
]
SetCosts = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Another value of a cost, or of a scheduler's parameter; may be repeated.",
        autocompletion=completions.simulated_settings,
        show_default=False,
        rich_help_panel=SETTING,
    ),
]
SimulatedThreads = Annotated[
    str,
    typer.Option(
        "--threads",
        metavar="N,...",
        help="Numbers of threads, up to 256.",
        show_default="one for each processor",
    ),
]
SimulatedLocks = Annotated[
    str,
    typer.Option(
        "--locks",
        metavar="NAME,...",
        help="Locks of the catalogue, or all.",
        autocompletion=completions.simulated_locks,
    ),
]
SimulatedHold = Annotated[
    str, typer.Option("--hold", metavar="TIME", help="Work with the lock.", rich_help_panel=WORK)
]
SimulatedGap = Annotated[
    str, typer.Option("--gap", metavar="TIME", help="Work without it.", rich_help_panel=WORK)
]
SimulatedLengths = Annotated[
    str,
    typer.Option(
        "--lengths",
        metavar="constant|exponential",
        help="How long each of these is.",
        rich_help_panel=WORK,
    ),
]
SimulatedFor = Annotated[
    str,
    typer.Option("--for", metavar="TIME", help="Virtual time of a run.", rich_help_panel=WORK),
]
SimulatedLoops = Annotated[
    int | None,
    typer.Option(
        "--loops",
        metavar="N",
        min=1,
        help="Acquisitions of each thread in a run, for wait and idle.",
        show_default="as many as the time permits; 16384 for idle",
        rich_help_panel=WORK,
    ),
]
SimulatedRuns = Annotated[
    int,
    typer.Option("--runs", metavar="N", min=1, help="Runs, with --loops.", rich_help_panel=WORK),
]
Workload = Annotated[
    str,
    typer.Option(
        metavar="lock1|lock2|open1|open2", help="The workload of scale.", rich_help_panel=WORK
    ),
]
PinThreads = Annotated[
    bool, typer.Option("--pin", help="Pin thread n to processor n.", rich_help_panel=WORK)
]
SimulatedSeed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all chance.")]
Sensitivity = Annotated[
    bool,
    typer.Option("--sensitivity", help="Let ranges also cover a change of every cost by 20 %."),
]
ExplainTime = Annotated[bool, typer.Option("--explain", help="Show where the time went, too.")]
AgainstPublished = Annotated[
    bool,
    typer.Option(
        "--against-published",
        help="Simulate the published tables that lockyard has, and show how well they agree.",
    ),
]
Like = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Simulate the cells of records that were measured, with the costs and gaps in the "
        "same file, and show how well they agree.",
        show_default=False,
    ),
]
DefinitionOut = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE.toml",
        help="With measure: write the definition here and not to standard output.",
        show_default=False,
    ),
]
MachineRecords = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="With measure: take the costs from records that 'lockyard measure costs' wrote.",
        show_default=False,
    ),
]
MachineShown = Annotated[
    str,
    typer.Argument(
        metavar="[NAME|FILE.toml|measure]",
        help="The machine to show; without it, all are listed. 'measure' defines this machine by "
        "its measured costs.",
        autocompletion=completions.machines,
        show_default=False,
    ),
]
