# SPDX-License-Identifier: Apache-2.0
"""Run locks on a simulated machine, with up to 256 threads, under any of several schedulers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

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
            help="What to simulate: wait, idle, throughput, contention, scale, bystander, "
            "priority or workers.",
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
            "N,...",
            "Numbers of threads, up to 256.",
            parse.threads,
            shown="one for each processor; 2 for priority",
        ),
    ] = None
    locks: Annotated[
        str,
        option(
            "NAME,...",
            "Locks of the catalogue, or all.",
            shown=request.DEFAULT_LOCKS,
            complete=completions.simulated_locks,
        ),
    ] = ""
    pools: Annotated[
        str,
        option(
            "NAME,...",
            "Pools of workers, for the study workers.",
            shown="all",
            complete=completions.simulated_pools,
        ),
    ] = ""
    hold: Annotated[
        float | None,
        option(
            "TIME",
            "Time for which a thread holds the lock, or that a task takes.",
            parse.duration_ns,
            shown="none; 20us for priority",
            panel=WORK,
        ),
    ] = None
    gap: Annotated[
        float | None,
        option(
            "TIME",
            "Time that a thread spends without the lock, or the pause before a burst.",
            parse.duration_ns,
            shown="none; 20us for priority, 1ms for workers",
            panel=WORK,
        ),
    ] = None
    lengths: Annotated[
        str | None,
        option(
            "constant|exponential",
            "Distribution of hold and gap times.",
            request.known_lengths,
            shown="constant",
            panel=WORK,
        ),
    ] = None
    for_: Annotated[
        float | None,
        option(
            "TIME",
            "Virtual time of a run.",
            request.run_ns,
            names=("--for",),
            shown="20ms; bystander 60ms, workers 100ms, priority 500ms",
            panel=WORK,
        ),
    ] = None
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
        str | None,
        option("lock1|lock2|open1|open2", "The workload of scale.", shown="lock1", panel=WORK),
    ] = None
    burst: Annotated[
        int | None,
        option("N", "Tasks that are submitted together.", parse.count, shown="8", panel=WORK),
    ] = None
    hog_percent: Annotated[
        float | None,
        option(
            "N",
            "Share of the time in which the thread of middle priority runs, for priority.",
            request.hog_share,
            shown="50",
            panel=WORK,
        ),
    ] = None
    interval: Annotated[
        float | None,
        option(
            "TIME",
            "Mean time between the calls of the urgent thread, for priority.",
            request.interval_ns,
            shown="2ms",
            panel=WORK,
        ),
    ] = None
    pin: Annotated[
        bool, typer.Option("--pin", help="Pin thread n to processor n.", rich_help_panel=WORK)
    ] = False
    background: Annotated[
        str,
        option(
            "quiet|server|desktop",
            "What else runs; without this option, each figure's range covers all three.",
            shown=False,
            panel=SETTING,
        ),
    ] = ""
    set_: Annotated[
        list[str] | None,
        option(
            "NAME=VALUE",
            "Set a cost, or a parameter of a scheduler; may be repeated.",
            names=("--set",),
            shown=False,
            complete=completions.simulated_settings,
            panel=SETTING,
        ),
    ] = None
    seed: Annotated[int, option("N", "Seed of all random choices.", parse.seed)] = 1
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity", help="Make ranges also cover a change of every cost by 20 %."
        ),
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
            "With --sweep: the scheduler of a Dask distributed cluster; needs lockyard[cluster].",
            shown="this machine alone",
        ),
    ] = ""
    explain: Annotated[bool, typer.Option("--explain", help="Also show where the time went.")] = (
        False
    )
    against_published: Annotated[
        bool,
        typer.Option(
            "--against-published",
            help="Simulate the published tables that lockyard has, and show the agreement.",
        ),
    ] = False
    like: Annotated[
        Path | None,
        option(
            "FILE",
            "Simulate the cells of measured records, with the costs and gaps in the same file, "
            "and show how well simulation and records agree.",
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
            pools=self.pools,
            user_locks=self.user_locks,
            work=self._work,
            background=self.background,
            settings=self.set_ or (),
            seed=self.seed,
            sensitivity=self.sensitivity,
        )

    @property
    def _work(self) -> dict[str, Any]:
        fields = {
            "hold_ns": self.hold,
            "gap_ns": self.gap,
            "lengths": self.lengths,
            "duration_ns": self.for_,
            "loops": self.loops,
            "runs": self.runs,
            "workload": self.workload,
            "pinned": self.pin,
            "burst": self.burst,
            "hog_share": self.hog_percent,
            "interval_ns": self.interval,
        }
        return {name: value for name, value in fields.items() if value is not None}


@command_of(
    SimulateOptions,
    "lockyard simulate throughput --machine ryzen1700 --locks mutex,mcs_spinlock --threads "
    "16,17,32 --hold 200ns --gap 2us",
    "lockyard simulate scale --machine xeon8468 --locks queued_spinlock --threads 1,48,56,192 "
    "--pin --workload lock1",
    "lockyard simulate wait --scheduler cfs,eevdf --set slice_ms=3 --sensitivity",
    "lockyard simulate priority --scheduler fifo,cfs --locks mutex,pi_mutex --machine vm2",
    "lockyard simulate workers --threads 3 --burst 32 --pools worker_pool[event]",
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
