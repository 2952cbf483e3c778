# SPDX-License-Identifier: Apache-2.0
"""Measure chosen studies of chosen locks."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from lockyard import options as parse
from lockyard.cli import completions
from lockyard.cli.arguments import FILE, Json, Out, Seed
from lockyard.cli.command import Parsed, check_alone, command_of, options_class
from lockyard.cli.parameter_options import ParameterCommand
from lockyard.cli.work_options import WorkOptions
from lockyard.errors import UsageError
from lockyard.machine.conditions import Pinning, inherited, variants
from lockyard.measure import scenario as scenarios
from lockyard.measure.parameters import parsed
from lockyard.measure.request import Choice, MeasureRequest, Request, Sweep
from lockyard.measure.run import Output, measure, resume
from lockyard.measure.work import NO_GAP, NO_HOLD, works
from lockyard.page.arguments import Charts, PageFile, Simulated
from lockyard.page.wanted import WantedPage
from lockyard.user_locks.arguments import Flags, Include, Lock
from lockyard.user_locks.lock_spec import user_locks_of

if TYPE_CHECKING:
    from lockyard.user_locks.lock_spec import UserLocks

PAGE = ("page", "simulated_files", "charts")


@options_class
class MeasureOptions(WorkOptions):
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to measure; 'lockyard list' shows the studies.",
            autocompletion=completions.studies,
            show_default=False,
        ),
    ] = None
    locks: Annotated[
        Sequence[str] | None,
        typer.Option(
            metavar="seeds|ours|peers|all|NAME,…",
            help="Which locks: groups and names; all means ours and the system's. Of these, "
            "readers measures the locks that can be shared, and recovery the resilient locks.",
            show_default="seeds; in readers and recovery all; in priority a few of either kind",
            click_type=Parsed(parse.names),
            autocompletion=completions.locks,
        ),
    ] = None
    lock: Lock = None
    include: Include = None
    flags: Flags = ""
    pools: Annotated[
        Sequence[str],
        typer.Option(
            metavar="seeds|ours|peers|all|NAME,…",
            help="Which worker pools the study workers measures: groups and names; all means ours "
            "and the system's.",
            show_default="all",
            click_type=Parsed(parse.names),
            autocompletion=completions.pools,
        ),
    ] = ("all",)
    peers: Annotated[
        bool,
        typer.Option(
            "--peers",
            help="Add other libraries' locks and pools; 'lockyard list --peers' shows them.",
        ),
    ] = False
    threads: Annotated[
        Sequence[int] | None,
        typer.Option(
            metavar="N,…",
            help="Numbers of threads, one cell each.",
            show_default="one for each processor",
            click_type=Parsed(parse.threads),
        ),
    ] = None
    for_: Annotated[
        float | None,
        typer.Option(
            "--for",
            metavar="TIME",
            help="Time for each cell, as in 500ms, 2s, 1m.",
            show_default="2s, longer in studies of the machine and of stuck owners; 30s as "
            "published",
            click_type=Parsed(parse.duration_s),
        ),
    ] = None
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Runs of each cell.",
            show_default="as many as fit in the time",
            click_type=Parsed(parse.count),
        ),
    ] = None
    loops: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Lock operations of each thread in a run; in recovery, rounds.",
            show_default="as many as fit in the run",
            click_type=Parsed(parse.count),
        ),
    ] = None
    pin: Annotated[
        Pinning,
        typer.Option(
            metavar="none|compact|spread|CPU,…",
            help="Which processors threads run on.",
            click_type=Parsed(parse.pinning),
        ),
    ] = "none"
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published",
            help="Use the published text's loops, runs and definitions, no others.",
        ),
    ] = False
    against: Annotated[
        str,
        typer.Option(
            metavar="NAME|best-sleeping-peer",
            help="Print ratios to this lock, paired by block, with 95 % intervals. "
            "best-sleeping-peer: in each cell, the best peer that sleeps (among the named ones, "
            "if any), chosen on odd blocks and compared on even ones.",
            autocompletion=completions.references,
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
        typer.Option(
            metavar="FILE",
            help="Continue the measurement in FILE where it stopped; only --json, --page and "
            "--simulated may be added.",
            show_default=False,
            click_type=FILE,
        ),
    ] = None
    scenario: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Measure the sweeps in FILE, whose keys are these options. Only --out, --seed, "
            "--against, --lock, --include, --flags, --page, --simulated, --dry-run, --yes and "
            "--json may be added.",
            show_default=False,
            click_type=FILE,
        ),
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only print the cells, their number, their runs and the time."
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
    def user_locks(self) -> UserLocks | None:
        return user_locks_of(self.lock or (), self.include or (), self.flags)

    @property
    def sweep(self) -> Sweep:
        if not self.studies:
            raise UsageError(
                "nothing to measure: name a study ('lockyard list' shows them), or continue a file "
                "with --resume FILE"
            )
        peers = ["peers"] if self.peers else []
        choice = Choice(
            studies=self.studies,
            locks=[*(self.locks or ["seeds"]), *peers],
            locks_or_all=[*(self.locks or ["all"]), *peers],
            pools=[*self.pools, *peers],
            added_to_defaults=None if self.locks else peers,
            policy_given=self.names_a_policy,
        )
        return Sweep(choice, self._request)

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
