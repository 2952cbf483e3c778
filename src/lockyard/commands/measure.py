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

from lockyard import harness, records
from lockyard import options as parse
from lockyard.cli import completions
from lockyard.cli.arguments import FILE, Json, Out, Seed
from lockyard.cli.command import Parsed, check_alone, command_of, options_class
from lockyard.cli.condition_options import ConditionOptions
from lockyard.cli.parameter_options import ParameterCommand
from lockyard.errors import ExitStatus, UsageError
from lockyard.machine.conditions import Pinning, inherited, variants
from lockyard.measure import scenario as scenarios
from lockyard.measure import selection, session
from lockyard.measure.noise import with_noise
from lockyard.measure.parameters import parsed
from lockyard.measure.request import Choice, MeasureRequest, Request, Sweep
from lockyard.measure.sweep import MOST_CELLS, Expansion, check_size, expand
from lockyard.measure.work import (
    NO_GAP,
    NO_HOLD,
    Distribution,
    Gap,
    distributions,
    gaps,
    holds_ns,
    works,
)
from lockyard.page.arguments import Charts, PageFile, Simulated
from lockyard.page.wanted import WantedPage
from lockyard.user_locks.adopt import adopt
from lockyard.user_locks.arguments import Flags, Include, Lock
from lockyard.user_locks.lock_spec import user_locks_of

if TYPE_CHECKING:
    from lockyard.user_locks.lock_spec import UserLocks

WORK = "Work"
PAGE = ("page", "simulated_files", "charts")


@options_class
class MeasureOptions(ConditionOptions):
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
    hold: Annotated[
        Sequence[int] | None,
        typer.Option(
            metavar="0|TIME,…",
            help="Time that a thread holds the lock, or that a task takes, as in 200ns, one cell "
            "each.",
            show_default="0",
            click_type=Parsed(holds_ns),
            rich_help_panel=WORK,
        ),
    ] = None
    gap: Annotated[
        Sequence[Gap] | None,
        typer.Option(
            metavar="0|TIME|Nx,…",
            help="Time that a thread spends without the lock before each call, or time between "
            "bursts; 10x means ten times --hold.",
            show_default="0; in workers 1ms",
            click_type=Parsed(gaps),
            rich_help_panel=WORK,
        ),
    ] = None
    lengths: Annotated[
        Sequence[Distribution],
        typer.Option(
            metavar="constant|exponential|bimodal|recorded:FILE,…",
            help="Distribution of hold and gap times, with the given mean; or the times recorded "
            "in FILE, as CSV or JSON Lines.",
            show_default="constant",
            click_type=Parsed(distributions),
            rich_help_panel=WORK,
        ),
    ] = ("constant",)
    ways: Annotated[
        Sequence[str],
        typer.Option(
            metavar="NAME,…",
            help="Which ways to wait, in wakeup; 'lockyard list --json' shows them.",
            show_default="all",
            click_type=Parsed(parse.ways),
            autocompletion=completions.ways,
            rich_help_panel=WORK,
        ),
    ] = ()
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
    def wanted_page(self) -> WantedPage:
        shows = sys.stdout.isatty() if self.charts is None else self.charts
        return WantedPage(self.page, tuple(self.simulated_files or ()), shows and not self.as_json)

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
        return _resume(options.resume, options.as_json, options.wanted_page)
    if options.scenario is not None:
        added = (*scenarios.WHOLE, *PAGE, "as_json", "dry_run", "yes")
        check_alone("--scenario", ("scenario", *added))
        wanted = request_in(options.scenario, click.get_current_context().command, options)
    else:
        wanted = request_of(options)
    return _measure(wanted, options)


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


def _measure(wanted: MeasureRequest, options: MeasureOptions) -> int:
    options.wanted_page.check()
    if wanted.user_locks is not None:
        adopt(
            wanted.user_locks, [study for sweep in wanted.sweeps for study in sweep.choice.studies]
        )
        names = wanted.user_locks.names
        sweeps = [selection.with_user_locks(names, sweep) for sweep in wanted.sweeps]
        wanted = replace(wanted, sweeps=sweeps)
    catalog = harness.catalog()
    references, reference = selection.references(wanted, catalog)
    grids = selection.grids(wanted, references, catalog)
    expansion = expand(grids, most=None if options.yes else MOST_CELLS)
    if not expansion.left_out:
        expansion = Expansion.of(with_noise(expansion.cells, catalog, inherited()))
    if options.dry_run:
        from lockyard.report.dry_run import print_dry_run

        print_dry_run(expansion, wanted.seed, options.as_json)
        return ExitStatus.DONE
    if not options.yes:
        check_size(expansion)
    plan = session.Plan("measure", expansion.cells, wanted.seed, reference, wanted.user_locks)
    path = wanted.out if wanted.out or options.as_json else records.default_path("measure")
    return _measured(plan, path, options.as_json, options.wanted_page)


def _resume(path: Path, as_json: bool, page: WantedPage) -> int:
    """Continues the measurement in the file where it stopped."""
    page.check()
    content = records.read_records(path)
    for warning in content.warnings:
        session.say(warning)
    if not content.plan:
        raise UsageError(
            f"{path} holds no plan, so the missing runs are unknown (the measurement ended before "
            "its first run, or an older version wrote the file); measure again with --out"
        )
    try:
        plan = session.Plan.from_json(content.plan)
        for run in content.runs:
            plan.check_run(run)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{path} was changed by hand or written by another version: its plan and its runs do "
            f"not match ({type(error).__name__}: {error}); measure again with --out"
        ) from None
    if plan.user_locks is not None:
        adopt(plan.user_locks, list(dict.fromkeys(cell.study for cell in plan.cells)))
    return _measured(plan, path, as_json, page, content)


def _measured(
    plan: session.Plan,
    path: Path | None,
    as_json: bool,
    page: WantedPage,
    content: records.RecordFile | None = None,
) -> int:
    refuse = plan.command == "measure"
    measured = session.measure(plan, path, as_json, refuse_unavailable=refuse, resume=content)
    if not as_json:
        from lockyard.report.text import print_measured

        print_measured(measured, plan.reference)
    page.write_records(measured, plan.reference)
    return measured.status
