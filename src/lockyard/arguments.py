# SPDX-License-Identifier: Apache-2.0
"""The arguments and options of the command line, each declared once; those of `lockyard check`,
`compare` and `explain`, and of one's own locks, are in the folders of the same names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lockyard import completions

CONDITIONS = "Conditions"
WORK = "Work"

Json = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the records to FILE.", show_default=False),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Determines order and placement.", show_default="by chance; printed"),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Go on with the measuring that FILE holds, where it stopped; alone, or with --json.",
        show_default=False,
    ),
]
Scenario = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help="Measure the sweeps of FILE, whose keys are these options; beside it --out, --seed, "
        "--against, --lock and what it takes, --dry-run, --yes, --json.",
        show_default=False,
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Only print the cells, their number, their runs and the time."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Measure however many cells there are.")]
Studies = Annotated[
    list[str] | None,
    typer.Argument(
        help="What to measure; 'lockyard list' shows the studies.",
        autocompletion=completions.studies,
        show_default=False,
    ),
]
Locks = Annotated[
    str,
    typer.Option(
        metavar="seeds|ours|peers|all|NAME,…",
        help="Which locks: groups and names; all is ours and the system's. Of these, readers "
        "measures those that can be shared, recovery the resilient ones.",
        show_default="seeds; in readers and recovery all; in priority some of either kind",
        autocompletion=completions.locks,
    ),
]
Pools = Annotated[
    str,
    typer.Option(
        metavar="seeds|ours|peers|all|NAME,…",
        help="Which pools of workers, in workers: groups and names; all is ours and the system's.",
        autocompletion=completions.pools,
    ),
]
Peers = Annotated[
    bool,
    typer.Option(
        "--peers", help="Other libraries' locks and pools too; 'lockyard list --peers' shows them."
    ),
]
ListPeers = Annotated[
    bool,
    typer.Option("--peers", help="Only other libraries' locks: which are there, what is missing."),
]
Threads = Annotated[
    str,
    typer.Option(
        metavar="N,…",
        help="How many threads, one cell each.",
        show_default="one for each processor",
    ),
]
For = Annotated[
    str,
    typer.Option(
        "--for",
        metavar="TIME",
        help="Time for each cell, as in 500ms, 2s, 1m.",
        show_default="2s, of the machine and of stuck owners more; 30s as published",
    ),
]
Runs = Annotated[
    int | None,
    typer.Option(metavar="N", help="Runs of each cell.", show_default="as many as fit the time"),
]
Loops = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Lock operations of each thread in a run; in recovery rounds.",
        show_default="as many as fit the run",
    ),
]
Pin = Annotated[
    str,
    typer.Option(metavar="none|compact|spread|CPU,…", help="Which processors threads run on."),
]
AsPublished = Annotated[
    bool,
    typer.Option(
        "--as-published", help="The loops, runs and definitions of the text, nothing else."
    ),
]
Against = Annotated[
    str,
    typer.Option(
        metavar="NAME|best-sleeping-peer",
        help="Print ratios to this lock, paired by block, with 95 % intervals; or in each cell to "
        "the best peer that sleeps (of those named, if any), chosen on odd blocks and compared on "
        "even ones.",
        autocompletion=completions.references,
    ),
]
Policy = Annotated[
    str,
    typer.Option(
        metavar="other|batch|idle|fifo|rr|deadline,…",
        help="Scheduling policies, one cell each.",
        show_default="as lockyard was started; in priority fifo, if permitted",
        autocompletion=completions.policies,
        rich_help_panel=CONDITIONS,
    ),
]
Priority = Annotated[
    int | None,
    typer.Option(
        metavar="1..99",
        help="Of fifo and rr.",
        show_default="1, or lockyard's own",
        rich_help_panel=CONDITIONS,
    ),
]
Nice = Annotated[
    int | None,
    typer.Option(
        metavar="-20..19",
        help="Of other and batch.",
        show_default="as lockyard was started",
        rich_help_panel=CONDITIONS,
    ),
]
Slice = Annotated[
    str,
    typer.Option(
        "--slice",
        metavar="TIME,…",
        help="Slices of other and batch, 100us to 100ms, one cell each.",
        show_default="the kernel's",
        rich_help_panel=CONDITIONS,
    ),
]
Deadline = Annotated[
    str,
    typer.Option(
        metavar="RUNTIME/DEADLINE/PERIOD",
        help="Of deadline, as in 3ms/10ms/10ms.",
        show_default="equal shares of 80 % in 10 ms",
        rich_help_panel=CONDITIONS,
    ),
]
Load = Annotated[
    int,
    typer.Option(metavar="N", help="Busy threads of another process.", rich_help_panel=CONDITIONS),
]
LoadNice = Annotated[
    int | None,
    typer.Option(
        metavar="-20..19",
        help="Their nice.",
        show_default="as lockyard was started",
        rich_help_panel=CONDITIONS,
    ),
]
TimerSlack = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="How late timers may fire.",
        show_default="the kernel's",
        rich_help_panel=CONDITIONS,
    ),
]
Autogroup = Annotated[
    str,
    typer.Option(
        metavar="on|off",
        help="Whether the scheduler groups processes by session; put back afterwards.",
        show_default="as it is",
        rich_help_panel=CONDITIONS,
    ),
]
Quota = Annotated[
    float | None,
    typer.Option(
        metavar="PROCESSORS",
        help="Processor time for the threads together, by a control group.",
        show_default="none",
        rich_help_panel=CONDITIONS,
    ),
]
Rest = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="Rest before each run, as in 60ms.",
        show_default="none",
        rich_help_panel=CONDITIONS,
    ),
]
Hold = Annotated[
    str,
    typer.Option(
        metavar="0|TIME,…",
        help="How long a thread holds the lock, or a task takes, as in 200ns, one cell each.",
        show_default="0",
        rich_help_panel=WORK,
    ),
]
Gap = Annotated[
    str,
    typer.Option(
        metavar="0|TIME|Nx,…",
        help="How long it stays away before each call, or bursts are apart; 10x: ten times as "
        "long as --hold.",
        show_default="0; in workers 1ms",
        rich_help_panel=WORK,
    ),
]
Lengths = Annotated[
    str,
    typer.Option(
        metavar="constant|exponential|bimodal|recorded:FILE,…",
        help="How the two are distributed, with that mean; or both as FILE has them, in CSV or "
        "JSON Lines.",
        rich_help_panel=WORK,
    ),
]
Burst = Annotated[
    str,
    typer.Option(
        metavar="N,…",
        help="Tasks that are submitted together in workers, one cell each.",
        show_default="8",
        rich_help_panel=WORK,
    ),
]
Writers = Annotated[
    str,
    typer.Option(
        metavar="N,…",
        help="How many of the threads write in readers, one cell each; the others read.",
        show_default="0 and 1",
        rich_help_panel=WORK,
    ),
]
Sleepers = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Threads that sleep on other locks in the last part of uncontended.",
        show_default="1",
        rich_help_panel=WORK,
    ),
]
Ways = Annotated[
    str,
    typer.Option(
        metavar="NAME,…",
        help="Which ways to wait, in wakeup; 'lockyard list --json' has them.",
        show_default="all",
        autocompletion=completions.ways,
        rich_help_panel=WORK,
    ),
]
Workload = Annotated[
    str,
    typer.Option(
        metavar="NAME,…",
        help="Which workloads, one cell each: in contention draws, allocator; in torture classic, "
        "nohold; in scale lock1, lock2, open1, open2; in recovery aa, abba, ordered, "
        "gated and the groups cycle, stuck, dead.",
        show_default="all",
        autocompletion=completions.workloads,
        rich_help_panel=WORK,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=N,…",
        help="Values of a parameter of the study, one cell each; once for each parameter. "
        "'lockyard list' has them.",
        show_default="the study's usual values",
        autocompletion=completions.parameters,
        rich_help_panel=WORK,
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="At most 45 seconds instead of 3 minutes.")]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="Show the records of FILE instead of measuring.",
        show_default=False,
    ),
]
