# SPDX-License-Identifier: Apache-2.0
"""lockyard report: measures this machine and its locks in a few minutes, or shows a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lockyard import harness, records
from lockyard.machine.conditions import inherited
from lockyard.measure import session
from lockyard.measure.noise import with_noise
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.page.wanted import WantedPage

if TYPE_CHECKING:
    from pathlib import Path

    from lockyard.catalog import Catalog
    from lockyard.errors import ExitStatus
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


def run(
    quick: bool, seed: int, out: Path | None, as_json: bool, page: WantedPage | None = None
) -> ExitStatus:
    page = page or WantedPage()
    page.check()
    catalog = harness.catalog()
    conditions = inherited()
    cells = with_noise(_cells(catalog, quick, conditions), catalog, conditions)
    plan = session.Plan("report", cells, seed, REFERENCE)
    path = out if out or as_json else records.default_path("report")
    measured = session.measure(plan, path, to_stdout=as_json, refuse_unavailable=False)
    if not as_json:
        from lockyard.report.text import print_measured

        print_measured(measured, REFERENCE)
    page.write_records(measured, REFERENCE)
    return measured.status


def show(path: Path, page: WantedPage | None = None) -> ExitStatus:
    """Prints the tables of a file that was measured earlier."""
    from lockyard.report.text import print_measured

    page = page or WantedPage()
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
