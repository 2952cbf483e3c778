# SPDX-License-Identifier: Apache-2.0
"""lockyard report: says which lock to use on this machine, or shows a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockyard import harness, records
from lockyard.advice.plan import EXTENTS, planned
from lockyard.machine.conditions import inherited
from lockyard.measure import session
from lockyard.page.wanted import WantedPage

if TYPE_CHECKING:
    from pathlib import Path

    from lockyard.errors import ExitStatus

REFERENCE = "std::mutex"


@dataclass(frozen=True)
class Shown:
    """Prints or writes more than the first screen."""

    tables: bool = False
    as_json: bool = False
    page: WantedPage = field(default_factory=WantedPage)


def run(extent: str, seed: int, out: Path | None, shown: Shown) -> ExitStatus:
    shown.page.check()
    catalog = harness.catalog()
    cells, design = planned(catalog, EXTENTS[extent], inherited())
    plan = session.Plan("report", cells, seed, REFERENCE)
    path = out if out or shown.as_json else records.default_path("report")
    measured = session.measure(
        plan, path, to_stdout=shown.as_json, refuse_unavailable=False, design=design
    )
    if not shown.as_json:
        from lockyard.report.text import print_report

        print_report(measured, REFERENCE, shown.tables)
    shown.page.write_records(measured, REFERENCE)
    return measured.status


def show(path: Path, shown: Shown) -> ExitStatus:
    """Prints what an earlier measurement says."""
    from lockyard.report.text import print_report

    shown.page.check()
    content = records.read_records(path)
    records.check_one_measuring(path, content, "show")
    for warning in content.warnings:
        session.say(warning)
    measured = session.Measured(content.environment, content.runs, path=path)
    reference = content.plan.get("reference", REFERENCE)
    print_report(measured, reference, shown.tables)
    shown.page.write_records(measured, reference, content.warnings)
    return measured.status
