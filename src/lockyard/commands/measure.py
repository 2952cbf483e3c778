# SPDX-License-Identifier: Apache-2.0
"""Measure chosen studies of chosen locks."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import click
import typer

from lockyard import options as parse
from lockyard.cli import completions
from lockyard.cli.arguments import FILE, Json, Out, Seed
from lockyard.cli.command import check_alone, command_of, option, options_class
from lockyard.cli.parameter_options import ParameterCommand
from lockyard.cli.subject_options import SubjectOptions
from lockyard.machine.conditions import Pinning, inherited, variants
from lockyard.measure import scenario as scenarios
from lockyard.measure.parameters import parsed
from lockyard.measure.request import MeasureRequest, Request, Sweep
from lockyard.measure.run import Output, measure, resume
from lockyard.measure.work import NO_GAP, NO_HOLD, works
from lockyard.page.arguments import Charts, PageFile, Simulated
from lockyard.page.wanted import WantedPage

PAGE = ("page", "simulated_files", "charts")


@options_class
class MeasureOptions(SubjectOptions):
    threads: Annotated[
        Sequence[int] | None,
        option(
            "N,…",
            "Numbers of threads, one cell each.",
            parse.threads,
            shown="one for each processor",
        ),
    ] = None
    for_: Annotated[
        float | None,
        option(
            "TIME",
            "Time for each cell, as in 500ms, 2s, 1m.",
            parse.duration_s,
            names=("--for",),
            shown="2s, longer in studies of the machine and of stuck owners; 30s as published",
        ),
    ] = None
    runs: Annotated[
        int | None,
        option("N", "Runs of each cell.", parse.count, shown="as many as fit in the time"),
    ] = None
    loops: Annotated[
        int | None,
        option(
            "N",
            "Lock operations of each thread in a run; in recovery, rounds.",
            parse.count,
            shown="as many as fit in the run",
        ),
    ] = None
    pin: Annotated[
        Pinning,
        option("none|compact|spread|CPU,…", "Which processors threads run on.", parse.pinning),
    ] = "none"
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published",
            help="Use exactly the loops, runs and definitions of the published text.",
        ),
    ] = False
    against: Annotated[
        str,
        option(
            "NAME|best-sleeping-peer",
            "Print ratios to this lock, paired by block, with 95 % intervals. "
            "best-sleeping-peer: in each cell, the best peer that sleeps (among the named ones, "
            "if any), chosen on odd blocks and compared on even ones.",
            complete=completions.references,
        ),
    ] = ""
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE,…",
            help="The former way to give a study's parameters, which now are options themselves.",
            autocompletion=completions.parameters,
            hidden=True,
        ),
    ] = None
    seed: Seed = None
    out: Out = None
    resume: Annotated[
        Path | None,
        option(
            "FILE",
            "Continue the measurement in FILE where it stopped; only --json, --page and "
            "--simulated may be added.",
            FILE,
            shown=False,
        ),
    ] = None
    scenario: Annotated[
        Path | None,
        option(
            "FILE.toml",
            "Measure the sweeps in FILE, whose keys are these options. Only --out, --seed, "
            "--against, --lock, --include, --flags, --page, --simulated, --dry-run, --yes and "
            "--json may be added.",
            FILE,
            shown=False,
        ),
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only print the cells, their number, the runs and the time."
        ),
    ] = False
    yes: Annotated[
        bool, typer.Option("--yes", help="Measure even a very large number of cells.")
    ] = False
    page: PageFile = None
    simulated_files: Simulated = None
    charts: Charts = None
    as_json: Json = False

    @property
    def output(self) -> Output:
        shows = sys.stdout.isatty() if self.charts is None else self.charts
        simulated = tuple(self.simulated_files or ())
        page = WantedPage(self.page, simulated, shows and not self.as_json)
        return Output(self.as_json, page, self.dry_run, self.yes)

    @property
    def whole(self) -> MeasureRequest:
        """The request without its sweeps."""
        return MeasureRequest(
            sweeps=(),
            seed=parse.random_seed() if self.seed is None else self.seed,
            out=self.out,
            against=self.against or None,
            user_locks=self.user_locks,
        )

    @property
    def sweep(self) -> Sweep:
        return Sweep(self.choice, self._request)

    @property
    def _request(self) -> Request:
        return Request(
            threads=self.threads or [os.cpu_count() or 1],
            pinning=self.pin,
            conditions=variants(self.conditions, inherited()),
            work=works(self.hold or NO_HOLD, self.gap or NO_GAP, self.lengths),
            default_gap=self.gap is None,
            ways=self.ways,
            parameters=parsed(self.set_ or ()),
            budget_s=self.for_,
            runs=self.runs,
            loops=self.loops,
            as_published=self.as_published,
        )


@command_of(
    MeasureOptions,
    "lockyard measure wait",
    "lockyard measure costs",
    "lockyard measure wait idle --locks seeds --threads 1,16 --for 2s",
    "lockyard measure uncontended --locks ours --runs 30 --against std::mutex",
    "lockyard measure uncontended --locks all --peers",
    "lockyard measure wait idle --as-published --threads 16",
    "lockyard measure throughput wait --threads 2,16 --hold 0,200ns,2us --gap 1x,10x --against "
    "best-sleeping-peer",
    "lockyard measure wakeup --ways futex,event_count --gap 20us,10ms --against futex",
    "lockyard measure wait --policy other,fifo --threads 4",
    "lockyard measure idle --slice 100us,10ms --load 2",
    "lockyard measure workers --burst 1,32 --peers",
    "lockyard measure readers --threads 9 --writers 1 --hold 2us --against std::shared_mutex",
    "lockyard measure torture scale --threads 1,2,4,8 --against queued_spinlock",
    "lockyard measure recovery --workload cycle,stuck64",
    "lockyard measure --scenario sweep.toml --dry-run",
    "lockyard measure contention --threads 2,4 --share-percent 10,50,90",
    "lockyard measure priority --policy fifo,other",
    "lockyard measure throughput wait --lock my/lock.hpp:my::lock --against std::mutex",
    "lockyard measure --resume records.jsonl",
    cls=ParameterCommand,
)
def command(options: MeasureOptions) -> int:
    if options.resume is not None:
        check_alone("--resume", ("resume", "as_json", *PAGE))
        return resume(options.resume, options.output)
    if options.scenario is not None:
        added = (*scenarios.WHOLE, *PAGE, "as_json", "dry_run", "yes")
        check_alone("--scenario", ("scenario", *added))
        wanted = request_in(options.scenario, click.get_current_context().command, options)
    else:
        wanted = request_of(options)
    return measure(wanted, options.output)


def request_of(options: MeasureOptions) -> MeasureRequest:
    return replace(options.whole, sweeps=[options.sweep])


def request_in(path: Path, of: click.Command, added: MeasureOptions) -> MeasureRequest:
    """Reads a scenario. Values of `added` take precedence over the file's."""
    scenario = scenarios.Scenario.read(path, of)
    sweeps = scenario.sweeps(lambda context: MeasureOptions(**context.params).sweep)
    named = {
        name: value for name in scenarios.WHOLE if (value := getattr(added, name)) not in (None, "")
    }
    whole = replace(MeasureOptions(**scenario.whole().params), **named).whole
    return replace(whole, sweeps=sweeps)
