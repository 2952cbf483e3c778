# SPDX-License-Identifier: Apache-2.0
"""Run locks on a simulated machine, with up to 256 threads, under any of several schedulers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lockyard import options as parse
from lockyard.cli import completions
from lockyard.cli.arguments import FILE, Json
from lockyard.cli.command import command_of, option, options_class
from lockyard.errors import ExitStatus, UsageError
from lockyard.simulate import request
from lockyard.simulate.run import Wanted, show, show_like, show_published
from lockyard.user_locks.arguments import UserLockOptions

SETTING = "Machine and setting"
WORK = "Work"


@options_class
class SimulateOptions(UserLockOptions):
    study: Annotated[
        str,
        typer.Argument(
            metavar="[STUDY]",
            help="What to simulate: wait, idle, throughput, contention or scale.",
            autocompletion=completions.simulated_studies,
            show_default=False,
        ),
    ] = ""
    machine: Annotated[
        str,
        option(
            "NAME|FILE.toml",
            "The machine; 'lockyard machines' shows them.",
            complete=completions.machines,
            panel=SETTING,
        ),
    ] = "ryzen1700"
    scheduler: Annotated[
        str,
        option(
            "NAME,...", "The schedulers.", complete=completions.simulated_schedulers, panel=SETTING
        ),
    ] = "eevdf"
    threads: Annotated[
        Sequence[int] | None,
        option(
            "N,...", "Numbers of threads, up to 256.", parse.threads, shown="one for each processor"
        ),
    ] = None
    locks: Annotated[
        str,
        option("NAME,...", "Locks of the catalogue, or all.", complete=completions.simulated_locks),
    ] = "mutex,fair_mutex,mcs_spinlock,queued_spinlock"
    hold: Annotated[
        float, option("TIME", "Work with the lock.", parse.duration_ns, shown="none", panel=WORK)
    ] = 0.0
    gap: Annotated[
        float, option("TIME", "Work without it.", parse.duration_ns, shown="none", panel=WORK)
    ] = 0.0
    lengths: Annotated[
        str,
        option(
            "constant|exponential", "How long each of these is.", request.known_lengths, panel=WORK
        ),
    ] = "constant"
    for_: Annotated[
        float,
        option(
            "TIME",
            "Virtual time of a run.",
            request.run_ns,
            names=("--for",),
            shown="20ms",
            panel=WORK,
        ),
    ] = 20e6
    loops: Annotated[
        int | None,
        option(
            "N",
            "Acquisitions of each thread in a run, for wait and idle.",
            parse.count,
            shown="as many as the time permits; 16384 for idle",
            panel=WORK,
        ),
    ] = None
    runs: Annotated[int, option("N", "Runs, with --loops.", parse.count, panel=WORK)] = 1
    workload: Annotated[
        str, option("lock1|lock2|open1|open2", "The workload of scale.", panel=WORK)
    ] = "lock1"
    pin: Annotated[
        bool, typer.Option("--pin", help="Pin thread n to processor n.", rich_help_panel=WORK)
    ] = False
    background: Annotated[
        str,
        option(
            "quiet|server|desktop",
            "What else runs; without it, each figure's range covers all three.",
            shown=False,
            panel=SETTING,
        ),
    ] = ""
    set_: Annotated[
        list[str] | None,
        option(
            "NAME=VALUE",
            "Another value of a cost, or of a scheduler's parameter; may be repeated.",
            names=("--set",),
            shown=False,
            complete=completions.simulated_settings,
            panel=SETTING,
        ),
    ] = None
    seed: Annotated[int, option("N", "Seed of all chance.", parse.seed)] = 1
    sensitivity: Annotated[
        bool,
        typer.Option("--sensitivity", help="Let ranges also cover a change of every cost by 20 %."),
    ] = False
    sweep: Annotated[
        list[str] | None,
        option(
            "NAME=VALUE,...",
            "Simulate each of these values; with several, all combinations. Names: threads, hold, "
            "gap, workload, machine, scheduler, background, and every name that --set knows.",
            shown=False,
            complete=completions.swept_parameters,
        ),
    ] = None
    cluster: Annotated[
        str,
        option(
            "tcp://HOST:PORT",
            "With --sweep: the scheduler of a cluster of Dask distributed; needs "
            "lockyard[cluster].",
            shown="this machine alone",
        ),
    ] = ""
    explain: Annotated[bool, typer.Option("--explain", help="Show where the time went, too.")] = (
        False
    )
    against_published: Annotated[
        bool,
        typer.Option(
            "--against-published",
            help="Simulate the published tables that lockyard has, and show how well they agree.",
        ),
    ] = False
    like: Annotated[
        Path | None,
        option(
            "FILE",
            "Simulate the cells of records that were measured, with the costs and gaps in the "
            "same file, and show how well they agree.",
            FILE,
            shown=False,
        ),
    ] = None
    trace: Annotated[
        Path | None,
        option(
            "FILE",
            "Write a trace of the one cell that is simulated, for 'lockyard explain --file'.",
            shown=False,
        ),
    ] = None
    as_json: Json = False

    @property
    def wanted(self) -> Wanted:
        return Wanted(
            study=self.study,
            machine=self.machine,
            scheduler=self.scheduler,
            threads=self.threads,
            locks=self.locks,
            user_locks=self.user_locks,
            work=self._work,
            background=self.background,
            settings=self.set_ or (),
            seed=self.seed,
            sensitivity=self.sensitivity,
        )

    @property
    def _work(self) -> request.Work:
        return request.Work(
            hold_ns=self.hold,
            gap_ns=self.gap,
            lengths=self.lengths,
            duration_ns=self.for_,
            loops=self.loops or 0,
            runs=self.runs,
            workload=self.workload,
            pinned=self.pin,
        )


@command_of(
    SimulateOptions,
    "lockyard simulate throughput --machine ryzen1700 --locks mutex,mcs_spinlock --threads "
    "16,17,32 --hold 200ns --gap 2us",
    "lockyard simulate scale --machine xeon8468 --locks queued_spinlock --threads 1,48,56,192 "
    "--pin --workload lock1",
    "lockyard simulate wait --scheduler cfs,eevdf --set slice_ms=3 --sensitivity",
    "lockyard simulate throughput --locks mutex --hold 5us --gap 20us --trace mutex.trace",
    "lockyard simulate scale --sweep threads=1,48,96,192 --sweep machine=xeon8468,ampere_max_2x128",
    "lockyard simulate --against-published --json",
    "lockyard simulate --like records.jsonl --machine vm2",
)
def command(options: SimulateOptions) -> int:
    if options.cluster and not options.sweep:
        raise UsageError(
            "--cluster applies only to --sweep, so nothing was sent to it; add --sweep, or drop it"
        )
    against, like = options.against_published, options.like
    named = bool(options.study or options.sweep)
    if (against and like is not None) or ((against or like is not None) and named):
        raise UsageError(
            "--against-published and --like simulate the cells of their tables, so neither a study "
            "nor --sweep goes with them, nor both; drop one"
        )
    if against:
        show_published(options.as_json)
        return ExitStatus.DONE
    if like is not None:
        show_like(like, options.machine, options.as_json)
        return ExitStatus.DONE
    if options.sweep:
        return _sweep(options, options.sweep)
    show(options.wanted, options.trace, explain=options.explain, as_json=options.as_json)
    return ExitStatus.DONE


def _sweep(options: SimulateOptions, named: Sequence[str]) -> int:
    from lockyard.simulate import sweep

    if options.trace is not None or options.explain:
        raise UsageError(
            "--sweep shows many cells, and --trace and --explain show where the time of single "
            "cells went; drop --sweep, or the other option"
        )
    return sweep.show(options.wanted, named, options.cluster, as_json=options.as_json)
