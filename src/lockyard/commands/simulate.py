# SPDX-License-Identifier: Apache-2.0
"""Run locks on a simulated machine, with up to 256 threads, under any of several schedulers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lockyard import options as parse
from lockyard.cli import completions
from lockyard.cli.arguments import FILE, Json
from lockyard.cli.command import Parsed, command_of, options_class
from lockyard.errors import ExitStatus, UsageError
from lockyard.measure.session import say
from lockyard.simulate import likeness, machines, own, published, request, spread, text
from lockyard.simulate.simulator import Simulator, abilities
from lockyard.user_locks.arguments import Flags, Include, Lock
from lockyard.user_locks.lock_spec import UserLocks, user_locks_of

if TYPE_CHECKING:
    from lockyard.simulate.published import Figure
    from lockyard.simulate.simulator import Abilities
    from lockyard.simulate.spread import Simulated

IDLE_LOOPS = 16384
TIMED_BACKGROUND = "server"


SETTING = "Machine and setting"
WORK = "Work"


@options_class
class SimulateOptions:
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
        typer.Option(
            "--machine",
            metavar="NAME|FILE.toml",
            help="The machine; 'lockyard machines' shows them.",
            autocompletion=completions.machines,
            rich_help_panel=SETTING,
        ),
    ] = "ryzen1700"
    scheduler: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="The schedulers.",
            autocompletion=completions.simulated_schedulers,
            rich_help_panel=SETTING,
        ),
    ] = "eevdf"
    threads: Annotated[
        Sequence[int] | None,
        typer.Option(
            "--threads",
            metavar="N,...",
            help="Numbers of threads, up to 256.",
            show_default="one for each processor",
            click_type=Parsed(parse.threads),
        ),
    ] = None
    locks: Annotated[
        str,
        typer.Option(
            "--locks",
            metavar="NAME,...",
            help="Locks of the catalogue, or all.",
            autocompletion=completions.simulated_locks,
        ),
    ] = "mutex,fair_mutex,mcs_spinlock,queued_spinlock"
    lock: Lock = None
    include: Include = None
    flags: Flags = ""
    hold: Annotated[
        float,
        typer.Option(
            metavar="TIME",
            help="Work with the lock.",
            show_default="none",
            click_type=Parsed(parse.duration_ns),
            rich_help_panel=WORK,
        ),
    ] = 0.0
    gap: Annotated[
        float,
        typer.Option(
            metavar="TIME",
            help="Work without it.",
            show_default="none",
            click_type=Parsed(parse.duration_ns),
            rich_help_panel=WORK,
        ),
    ] = 0.0
    lengths: Annotated[
        str,
        typer.Option(
            metavar="constant|exponential",
            help="How long each of these is.",
            click_type=Parsed(request.known_lengths),
            rich_help_panel=WORK,
        ),
    ] = "constant"
    for_: Annotated[
        float,
        typer.Option(
            "--for",
            metavar="TIME",
            help="Virtual time of a run.",
            show_default="20ms",
            click_type=Parsed(request.run_ns),
            rich_help_panel=WORK,
        ),
    ] = 20e6
    loops: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Acquisitions of each thread in a run, for wait and idle.",
            show_default="as many as the time permits; 16384 for idle",
            click_type=Parsed(parse.count),
            rich_help_panel=WORK,
        ),
    ] = None
    runs: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Runs, with --loops.",
            click_type=Parsed(parse.count),
            rich_help_panel=WORK,
        ),
    ] = 1
    workload: Annotated[
        str,
        typer.Option(
            metavar="lock1|lock2|open1|open2", help="The workload of scale.", rich_help_panel=WORK
        ),
    ] = "lock1"
    pin: Annotated[
        bool, typer.Option("--pin", help="Pin thread n to processor n.", rich_help_panel=WORK)
    ] = False
    background: Annotated[
        str,
        typer.Option(
            metavar="quiet|server|desktop",
            help="What else runs; without it, each figure's range covers all three.",
            show_default=False,
            rich_help_panel=SETTING,
        ),
    ] = ""
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Another value of a cost, or of a scheduler's parameter; may be repeated.",
            autocompletion=completions.simulated_settings,
            show_default=False,
            rich_help_panel=SETTING,
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option(metavar="N", help="Seed of all chance.", click_type=Parsed(parse.seed)),
    ] = 1
    sensitivity: Annotated[
        bool,
        typer.Option("--sensitivity", help="Let ranges also cover a change of every cost by 20 %."),
    ] = False
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
        typer.Option(
            metavar="FILE",
            help="Simulate the cells of records that were measured, with the costs and gaps in the "
            "same file, and show how well they agree.",
            show_default=False,
            click_type=FILE,
        ),
    ] = None
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a trace of the one cell that is simulated, for 'lockyard explain --file'.",
            show_default=False,
        ),
    ] = None
    as_json: Json = False

    @property
    def user_locks(self) -> UserLocks | None:
        return user_locks_of(self.lock or (), self.include or (), self.flags)

    @property
    def work(self) -> request.Work:
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
    "lockyard simulate --against-published --json",
    "lockyard simulate --like records.jsonl --machine vm2",
)
def command(options: SimulateOptions) -> int:
    against, like = options.against_published, options.like
    if (against and like is not None) or ((against or like is not None) and options.study):
        raise UsageError(
            "--against-published and --like simulate the cells of their tables, so no study can be "
            "named with them, nor both; drop one"
        )
    if against:
        return _simulate_published(options.as_json)
    if like is not None:
        return _simulate_like(like, options.machine, options.as_json)
    of = abilities()
    cells = _cells(options, of)
    if options.trace is not None:
        _write_trace(options.trace, cells)
    backgrounds = spread.default_backgrounds(options.background)
    found = spread.simulate(cells, backgrounds, options.sensitivity)
    if options.as_json:
        print(json.dumps(_document(options, found)))  # noqa: T201
    else:
        title = f"{options.study} on {options.machine}, simulated"
        text.print_simulated(title, found, options.explain)
    return ExitStatus.DONE


def _write_trace(path: Path, cells: Sequence[request.Cell]) -> None:
    if len(cells) != 1:
        raise UsageError(
            f"--trace {path}: a trace shows one run, but {len(cells)} cells are simulated; choose "
            "one lock, one scheduler and one number of threads"
        )
    with Simulator() as one:
        one.answer(cells[0].to_job() | {"trace": str(path.absolute())})
    say(f"trace: {path}; explain it by lockyard explain --file {path}")


def _simulate_published(as_json: bool) -> int:
    figures = published.compared(abilities())
    _show_compared("published figures, simulated", "published", figures, (), as_json)
    return ExitStatus.DONE


def _simulate_like(path: Path, machine: str, as_json: bool) -> int:
    of = abilities()
    found = likeness.like(path, machines.load(machine, of), of)
    _show_compared(f"{path}, simulated", "measured", found.figures, found.notes, as_json)
    return ExitStatus.DONE


def _show_compared(
    title: str, reference: str, figures: list[Figure], notes: Sequence[str], as_json: bool
) -> None:
    agreements = published.agreements(figures)
    if as_json:
        document = {
            "figures": [dataclasses.asdict(each) for each in figures],
            "agreement": [dataclasses.asdict(each) for each in agreements],
            "notes": list(notes),
        }
        print(json.dumps(document))  # noqa: T201
    else:
        text.print_compared(title, reference, figures, agreements, notes)


def _cells(options: SimulateOptions, of: Abilities) -> list[request.Cell]:
    user_locks = options.user_locks
    if not options.study:
        raise UsageError(f"nothing to simulate: name a study, one of {', '.join(of.studies)}, or "
                         "give --against-published or --like FILE")  # fmt: skip
    study = request.known_study(options.study, of)
    machine = machines.load(options.machine, of)
    schedulers = request.known_schedulers(options.scheduler, of)
    machine, parameters = request.adjusted(machine, schedulers, options.set_ or (), of)
    threads = options.threads or [machine.processors]
    request.check_threads(threads, machine, of)
    cell = request.Cell(
        study=study,
        lock="",
        machine=machine,
        scheduler="",
        threads=0,
        work=_work(options.work, study, of),
        parameters={},
        background=request.known_background(options.background or TIMED_BACKGROUND),
        seed=options.seed,
    )
    locks = request.known_locks(options.locks, of)
    combined = request.cells(cell, locks, schedulers, threads)
    if user_locks is not None:
        mine = dataclasses.replace(cell, module=str(own.module_of(user_locks)))
        combined += request.cells(mine, user_locks.names, schedulers, threads)
    return [
        dataclasses.replace(
            each,
            parameters={
                one["name"]: parameters[one["name"]]
                for one in of.schedulers[each.scheduler]["parameters"]
                if one["name"] in parameters
            },
        )
        for each in combined
    ]


def _work(wanted: request.Work, study: str, of: Abilities) -> request.Work:
    """Returns the work with the study's own defaults. Raises if an option does not apply."""
    if wanted.loops and study not in ("wait", "idle"):
        raise UsageError(f"--loops applies only to wait and idle; {study} runs for a time: give "
                         "--for")  # fmt: skip
    if wanted.runs > 1 and not wanted.loops and study != "idle":
        raise UsageError("--runs applies only with --loops; give --loops, or drop --runs")
    if wanted.workload not in of.workloads:
        raise UsageError(f"--workload {wanted.workload}: no such workload; "
                         f"{machines.nearest(wanted.workload, of.workloads)}")  # fmt: skip
    if study == "scale" and (wanted.hold_ns or wanted.gap_ns):
        raise UsageError("--hold and --gap do not apply to scale, whose workloads define the work; "
                         "drop them")  # fmt: skip
    if study == "idle" and not wanted.loops:
        return dataclasses.replace(wanted, loops=IDLE_LOOPS)
    return wanted


def _document(options: SimulateOptions, found: Sequence[Simulated]) -> dict[str, Any]:
    return {
        "study": options.study,
        "machine": options.machine,
        "seed": options.seed,
        "cells": [
            {
                "lock": each.cell.lock,
                "scheduler": each.cell.scheduler,
                "threads": each.cell.threads,
                "figures": {
                    name: dataclasses.asdict(figure) for name, figure in each.figures.items()
                },
                "counted": dict(each.counted),
                "virtual_ns": each.virtual_ns,
            }
            for each in found
        ],
    }
