# SPDX-License-Identifier: Apache-2.0
"""Measures a request from its cells to its tables, or continues a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockyard import harness, records
from lockyard.errors import ExitStatus, UsageError
from lockyard.machine.conditions import inherited
from lockyard.measure import selection, session
from lockyard.measure.noise import with_noise
from lockyard.measure.sweep import MOST_CELLS, Expansion, check_size, expand
from lockyard.user_locks.adopt import adopt

if TYPE_CHECKING:
    from pathlib import Path

    from lockyard.measure.request import MeasureRequest
    from lockyard.page.wanted import WantedPage


@dataclass(frozen=True)
class Output:
    """The form of the results, and whether anything is measured at all."""

    as_json: bool
    page: WantedPage
    dry_run: bool = False
    permits_many: bool = False  # a very large number of cells


def measure(wanted: MeasureRequest, output: Output) -> int:
    """Measures a request, or only prints its cells; returns the exit status."""
    output.page.check()
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
    expansion = expand(grids, most=None if output.permits_many else MOST_CELLS)
    if not expansion.left_out:
        expansion = Expansion.of(with_noise(expansion.cells, catalog, inherited()))
    if output.dry_run:
        from lockyard.report.dry_run import print_dry_run

        print_dry_run(expansion, wanted.seed, output.as_json)
        return ExitStatus.DONE
    if not output.permits_many:
        check_size(expansion)
    plan = session.Plan("measure", expansion.cells, wanted.seed, reference, wanted.user_locks)
    path = wanted.out if wanted.out or output.as_json else records.default_path("measure")
    return _measured(plan, path, output)


def resume(path: Path, output: Output) -> int:
    """Continues the measurement in the file where it stopped."""
    output.page.check()
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
    return _measured(plan, path, output, content)


def _measured(
    plan: session.Plan,
    path: Path | None,
    output: Output,
    content: records.RecordFile | None = None,
) -> int:
    refuse = plan.command == "measure"
    measured = session.measure(
        plan, path, output.as_json, refuse_unavailable=refuse, resume=content
    )
    if not output.as_json:
        from lockyard.report.text import print_measured

        print_measured(measured, plan.reference)
    output.page.write_records(measured, plan.reference)
    return measured.status
