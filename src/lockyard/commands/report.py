# SPDX-License-Identifier: Apache-2.0
"""Measure this machine: the seed locks, ours and the peers, with 1, n-cpu and 16 threads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lockyard import harness, records
from lockyard import options as parse
from lockyard.cli.arguments import FILE, Json, Out, Seed
from lockyard.cli.command import command_of, options_class
from lockyard.commands import profile
from lockyard.field_kit import profile_files
from lockyard.machine.conditions import inherited
from lockyard.measure import session
from lockyard.measure.noise import with_noise
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.page.arguments import Charts, PageFile, Simulated
from lockyard.page.wanted import WantedPage

if TYPE_CHECKING:
    from lockyard.catalog import Catalog
    from lockyard.machine.conditions import Conditions
    from lockyard.measure.cell import Cell

STUDIES = ("wait", "idle", "uncontended")
LOCKS = ("all",)
OVERSUBSCRIBED_THREADS = 16
REFERENCE = "std::mutex"
HARNESS_COST_LOCK = "null_lock"

# The time of all cells together, without process starts and printing.
BUDGET_S = 160.0
QUICK_BUDGET_S = 36.0
# A cell of the study uncontended needs little time to be exact.
UNCONTENDED_BUDGET_S = 0.85
QUICK_UNCONTENDED_BUDGET_S = 0.2


@options_class
class ReportOptions:
    quick: Annotated[
        bool, typer.Option("--quick", help="At most 45 seconds instead of 3 minutes.")
    ] = False
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Show the records of FILE instead of measuring.",
            show_default=False,
            click_type=FILE,
        ),
    ] = None
    seed: Seed = None
    out: Out = None
    page: PageFile = None
    simulated_files: Simulated = None
    charts: Charts = None
    as_json: Json = False

    @property
    def wanted_page(self) -> WantedPage:
        shows = bool(self.charts) and not self.as_json
        return WantedPage(self.page, tuple(self.simulated_files or ()), shows)


@command_of(
    ReportOptions,
    "lockyard report",
    "lockyard report --quick",
    "lockyard report --from records.jsonl --page report.html",
)
def command(options: ReportOptions) -> int:
    page = options.wanted_page
    if options.source is not None:
        if profile_files.is_profile(options.source):
            return profile.show_file(options.source, profile.Files(page=page), options.as_json)
        return _show(options.source, page)
    page.check()
    catalog = harness.catalog()
    conditions = inherited()
    cells = with_noise(_cells(catalog, options.quick, conditions), catalog, conditions)
    seed = parse.random_seed() if options.seed is None else options.seed
    plan = session.Plan("report", cells, seed, REFERENCE)
    path = options.out if options.out or options.as_json else records.default_path("report")
    measured = session.measure(plan, path, options.as_json, refuse_unavailable=False)
    if not options.as_json:
        from lockyard.report.text import print_measured

        print_measured(measured, REFERENCE)
    page.write_records(measured, REFERENCE)
    return measured.status


def _show(path: Path, page: WantedPage) -> int:
    """Prints the tables of a file that was measured earlier."""
    from lockyard.report.text import print_measured

    page.check()
    content = records.read_records(path)
    records.check_one_measuring(path, content, "show")
    for warning in content.warnings:
        session.say(warning)
    measured = session.Measured(content.environment, content.runs, path=path)
    reference = content.plan.get("reference", REFERENCE)
    print_measured(measured, reference)
    page.write_records(measured, reference, content.warnings)
    return measured.status


def _cells(catalog: Catalog, quick: bool, conditions: Conditions) -> list[Cell]:
    """Plans equal shares of the time for all cells except the cheap ones."""
    uncontended_s = QUICK_UNCONTENDED_BUDGET_S if quick else UNCONTENDED_BUDGET_S
    locks = catalog.select_locks(LOCKS)
    null_lock = catalog.select_locks([HARNESS_COST_LOCK])
    threads = sorted({1, os.cpu_count() or 1, OVERSUBSCRIBED_THREADS})
    studies = catalog.select_studies(STUDIES)
    shared = [study for study in studies if study.threads != 1]
    alone = [study for study in studies if study.threads == 1]
    cheap = plan_cells(
        alone, [*locks, *null_lock], Request([1], conditions=[conditions], budget_s=uncontended_s)
    )
    budget_s = QUICK_BUDGET_S if quick else BUDGET_S
    left_s = budget_s - sum(cell.budget_s for cell in cheap)
    share_s = left_s / (len(shared) * len(locks) * len(threads) + 1)
    return [
        *plan_cells(shared, locks, Request(threads, conditions=[conditions], budget_s=share_s)),
        *plan_cells(shared[:1], null_lock, Request([1], conditions=[conditions], budget_s=share_s)),
        *cheap,
    ]
