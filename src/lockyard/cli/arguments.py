# SPDX-License-Identifier: Apache-2.0
"""The arguments and options of the command line, each declared once. `lockyard check`, `compare`
and `explain`, and user locks, declare theirs in the folders `checks`, `compare`, `explain`,
`own`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lockyard.cli import completions

CONDITIONS = "Conditions"
WORK = "Work"

Json = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")
]
Problems = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME…]",
        help="For --fix: names of problems, or settings with values (huge_pages=never).",
        autocompletion=completions.problems,
        show_default=False,
    ),
]
Fix = Annotated[
    bool, typer.Option("--fix", help="Change the named settings until --undo or a restart.")
]
AllProblems = Annotated[
    bool, typer.Option("--all", help="With --fix: everything that was found and can be changed.")
]
Undo = Annotated[bool, typer.Option("--undo", help="Take back everything that --fix changed.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the records to FILE.", show_default=False),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Seed for order and placement.", show_default="random; printed"),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Continue the measurement in FILE where it stopped; only --json, --page and "
        "--simulated may be added.",
        show_default=False,
    ),
]
Scenario = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help="Measure the sweeps in FILE, whose keys are these options. Only --out, --seed, "
        "--against, --lock, --include, --flags, --page, --simulated, --dry-run, --yes and --json "
        "may be added.",
        show_default=False,
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Only print the cells, their number, their runs and the time."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Measure even a very large number of cells.")]
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
        help="Which locks: groups and names; all means ours and the system's. Of these, readers "
        "measures the locks that can be shared, and recovery the resilient locks.",
        show_default="seeds; in readers and recovery all; in priority a few of either kind",
        autocompletion=completions.locks,
    ),
]
Pools = Annotated[
    str,
    typer.Option(
        metavar="seeds|ours|peers|all|NAME,…",
        help="Which worker pools the study workers measures: groups and names; all means ours and "
        "the system's.",
        autocompletion=completions.pools,
    ),
]
Peers = Annotated[
    bool,
    typer.Option(
        "--peers", help="Add other libraries' locks and pools; 'lockyard list --peers' shows them."
    ),
]
ListPeers = Annotated[
    bool,
    typer.Option("--peers", help="Only other libraries' locks: which are built in, which are not."),
]
Threads = Annotated[
    str,
    typer.Option(
        metavar="N,…",
        help="Numbers of threads, one cell each.",
        show_default="one for each processor",
    ),
]
For = Annotated[
    str,
    typer.Option(
        "--for",
        metavar="TIME",
        help="Time for each cell, as in 500ms, 2s, 1m.",
        show_default="2s, longer in studies of the machine and of stuck owners; 30s as published",
    ),
]
Runs = Annotated[
    int | None,
    typer.Option(metavar="N", help="Runs of each cell.", show_default="as many as fit in the time"),
]
Loops = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Lock operations of each thread in a run; in recovery, rounds.",
        show_default="as many as fit in the run",
    ),
]
Pin = Annotated[
    str,
    typer.Option(metavar="none|compact|spread|CPU,…", help="Which processors threads run on."),
]
AsPublished = Annotated[
    bool,
    typer.Option(
        "--as-published", help="Use the published text's loops, runs and definitions, no others."
    ),
]
Against = Annotated[
    str,
    typer.Option(
        metavar="NAME|best-sleeping-peer",
        help="Print ratios to this lock, paired by block, with 95 % intervals. best-sleeping-peer: "
        "in each cell, the best peer that sleeps (among the named ones, if any), chosen on odd "
        "blocks and compared on even ones.",
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
        help="Real-time priority, for the policies fifo and rr.",
        show_default="1, or lockyard's own",
        rich_help_panel=CONDITIONS,
    ),
]
Nice = Annotated[
    int | None,
    typer.Option(
        metavar="-20..19",
        help="Nice value, for the policies other and batch.",
        show_default="as lockyard was started",
        rich_help_panel=CONDITIONS,
    ),
]
Slice = Annotated[
    str,
    typer.Option(
        "--slice",
        metavar="TIME,…",
        help="Time slices for the policies other and batch, 100us to 100ms, one cell each.",
        show_default="the kernel's",
        rich_help_panel=CONDITIONS,
    ),
]
Deadline = Annotated[
    str,
    typer.Option(
        metavar="RUNTIME/DEADLINE/PERIOD",
        help="Reservation for the policy deadline, as in 3ms/10ms/10ms.",
        show_default="equal shares of 80 % in 10 ms",
        rich_help_panel=CONDITIONS,
    ),
]
Load = Annotated[
    str,
    typer.Option(
        metavar="N|build[:N]",
        help="Number of busy threads that another process runs meanwhile; or a build of this "
        "project's headers, with 16 or N compilers at a time.",
        show_default="0",
        rich_help_panel=CONDITIONS,
    ),
]
LoadNice = Annotated[
    int | None,
    typer.Option(
        metavar="-20..19",
        help="Nice value of the threads that --load adds.",
        show_default="as lockyard was started",
        rich_help_panel=CONDITIONS,
    ),
]
TimerSlack = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="How late the kernel may fire a timer.",
        show_default="the kernel's",
        rich_help_panel=CONDITIONS,
    ),
]
Autogroup = Annotated[
    str,
    typer.Option(
        metavar="on|off",
        help="Whether the scheduler groups processes by session; restored afterwards.",
        show_default="as it is",
        rich_help_panel=CONDITIONS,
    ),
]
Quota = Annotated[
    float | None,
    typer.Option(
        metavar="PROCESSORS",
        help="Processor time that all threads share, limited by a control group.",
        show_default="none",
        rich_help_panel=CONDITIONS,
    ),
]
Rest = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="Pause before each run, as in 60ms.",
        show_default="none",
        rich_help_panel=CONDITIONS,
    ),
]
Machine = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE,…",
        help="Settings of the whole machine, one cell for each value; restored afterwards. "
        "Several --machine are combined. docs/conditions.md lists them.",
        autocompletion=completions.machine_settings,
        rich_help_panel=CONDITIONS,
    ),
]
Hold = Annotated[
    str,
    typer.Option(
        metavar="0|TIME,…",
        help="Time that a thread holds the lock, or that a task takes, as in 200ns, one cell each.",
        show_default="0",
        rich_help_panel=WORK,
    ),
]
Gap = Annotated[
    str,
    typer.Option(
        metavar="0|TIME|Nx,…",
        help="Time that a thread spends without the lock before each call, or time between bursts; "
        "10x means ten times --hold.",
        show_default="0; in workers 1ms",
        rich_help_panel=WORK,
    ),
]
Lengths = Annotated[
    str,
    typer.Option(
        metavar="constant|exponential|bimodal|recorded:FILE,…",
        help="Distribution of hold and gap times, with the given mean; or the times recorded in "
        "FILE, as CSV or JSON Lines.",
        rich_help_panel=WORK,
    ),
]
Ways = Annotated[
    str,
    typer.Option(
        metavar="NAME,…",
        help="Which ways to wait, in wakeup; 'lockyard list --json' shows them.",
        show_default="all",
        autocompletion=completions.ways,
        rich_help_panel=WORK,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE,…",
        help="The former way to give a study's parameters, which now are options themselves.",
        autocompletion=completions.parameters,
        hidden=True,
    ),
]
AdviseHold = Annotated[
    str,
    typer.Option(
        metavar="0|TIME",
        help="How long a thread holds the lock, as in 300ns.",
        show_default=False,
    ),
]
AdviseGap = Annotated[
    str,
    typer.Option(
        metavar="0|TIME",
        help="How long a thread stays away before each call.",
        show_default="0",
    ),
]
AdviseThreads = Annotated[
    int | None,
    typer.Option(metavar="N", help="How many threads use the lock.", show_default=False),
]
Tail = Annotated[
    bool,
    typer.Option("--tail", help="Choose by the longest of 1000 waits, not by throughput."),
]
FromProfile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The most costly locks of a program instead, by its profile ('lockyard profile -o').",
        show_default=False,
    ),
]
AdviseFrom = Annotated[
    list[Path] | None,
    typer.Option(
        "--from",
        metavar="FILE|FOLDER",
        help="Records of this machine; what they lack is measured.",
        show_default=False,
    ),
]
AdviseLocks = Annotated[
    str,
    typer.Option(
        "--locks",
        metavar="NAME,…",
        help="The locks to choose from: names, seeds, ours, peers or all.",
        autocompletion=completions.locks,
    ),
]
AdviseFor = Annotated[
    str, typer.Option("--for", metavar="TIME", help="About how long to measure, if need be.")
]
NoMeasure = Annotated[
    bool, typer.Option("--no-measure", help="Refuse what the records lack, instead of measuring.")
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
