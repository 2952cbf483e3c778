# SPDX-License-Identifier: Apache-2.0
"""Say which lock to use on this machine, which to avoid, and what the machine itself did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lockyard import harness, records
from lockyard import options as parse
from lockyard.advice.plan import EXTENTS, planned
from lockyard.cli.arguments import FILE, Json, Out, Seed
from lockyard.cli.command import command_of, option, options_class
from lockyard.commands import profile
from lockyard.errors import UsageError
from lockyard.field_kit import profile_files
from lockyard.machine.conditions import inherited
from lockyard.measure import session
from lockyard.page.arguments import Charts, PageFile, Simulated
from lockyard.page.wanted import WantedPage

if TYPE_CHECKING:
    from lockyard.advice.plan import Extent

REFERENCE = "std::mutex"


@options_class
class ReportOptions:
    quick: Annotated[
        bool, typer.Option("--quick", help="Few locks in at most a minute, instead of 4 minutes.")
    ] = False
    full: Annotated[
        bool, typer.Option("--full", help="Every lock in every study of the report, in 15 minutes.")
    ] = False
    tables: Annotated[
        bool, typer.Option("--tables", help="Print the evidence and all tables after the answers.")
    ] = False
    source: Annotated[
        Path | None,
        option(
            "FILE",
            "Show the records of FILE instead of measuring.",
            FILE,
            names=("--from",),
            shown=False,
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

    @property
    def extent(self) -> Extent:
        if self.quick and self.full:
            raise UsageError("--quick and --full: contradict each other; drop one of the two")
        return EXTENTS["quick" if self.quick else "full" if self.full else "default"]


@command_of(
    ReportOptions,
    "lockyard report",
    "lockyard report --quick",
    "lockyard report --full --tables",
    "lockyard report --from records.jsonl --page report.html",
)
def command(options: ReportOptions) -> int:
    page, extent = options.wanted_page, options.extent
    if options.source is not None:
        if profile_files.is_profile(options.source):
            return profile.show_file(options.source, profile.Files(page=page), options.as_json)
        return _show(options.source, page, options.tables)
    page.check()
    cells, design = planned(harness.catalog(), extent, inherited())
    seed = parse.random_seed() if options.seed is None else options.seed
    plan = session.Plan("report", cells, seed, REFERENCE)
    path = options.out if options.out or options.as_json else records.default_path("report")
    measured = session.measure(plan, path, options.as_json, refuse_unavailable=False, design=design)
    if not options.as_json:
        from lockyard.report.text import print_report

        print_report(measured, REFERENCE, options.tables)
    page.write_records(measured, REFERENCE)
    return measured.status


def _show(path: Path, page: WantedPage, tables: bool) -> int:
    """Prints what an earlier measurement says."""
    from lockyard.report.text import print_report

    page.check()
    content = records.read_records(path)
    records.check_one_measuring(path, content, "show")
    for warning in content.warnings:
        session.say(warning)
    measured = session.Measured(content.environment, content.runs, path=path)
    reference = content.plan.get("reference", REFERENCE)
    print_report(measured, reference, tables)
    page.write_records(measured, reference, content.warnings)
    return measured.status
