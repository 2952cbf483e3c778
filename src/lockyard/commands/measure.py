# SPDX-License-Identifier: Apache-2.0
"""lockyard measure: chosen studies of chosen locks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard import harness, records, session
from lockyard.catalog import BEST_SLEEPING_PEER
from lockyard.conditions import inherited
from lockyard.errors import UsageError
from lockyard.noise import with_noise
from lockyard.plan import Request, plan_cells

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockyard.errors import ExitStatus


def run(  # noqa: PLR0913 - one parameter for each option
    studies: Sequence[str],
    locks: Sequence[str],
    request: Request,
    seed: int,
    out: Path | None,
    as_json: bool,
    against: str | None,
) -> ExitStatus:
    catalog = harness.catalog()
    chosen = catalog.select_locks(locks)
    references = catalog.references(against) if against else []
    chosen += [lock for lock in references if lock not in chosen]
    reference = against if against == BEST_SLEEPING_PEER else None
    if reference is None and references:
        reference = references[0].name  # a seed name was another's
    cells = plan_cells(catalog.select_studies(studies), chosen, request)
    plan = session.Plan("measure", with_noise(cells, catalog, inherited()), seed, reference)
    path = out if out or as_json else records.default_path("measure")
    return _measured(plan, path, as_json)


def resume(path: Path, as_json: bool) -> ExitStatus:
    """Goes on where the file stops."""
    content = records.read_records(path)
    for warning in content.warnings:
        session.say(warning)
    if not content.plan:
        raise UsageError(
            f"{path} holds no plan, so what is missing from it cannot be known (the measuring "
            "ended before its first run, or an older version wrote it); measure anew with --out"
        )
    try:
        plan = session.Plan.from_json(content.plan)
        for run in content.runs:
            plan.check_run(run)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{path} was changed by hand, or by another version: its plan and its runs do not fit "
            f"each other ({type(error).__name__}: {error}); measure anew with --out"
        ) from None
    return _measured(plan, path, as_json, content)


def _measured(
    plan: session.Plan, path: Path | None, as_json: bool, content: records.RecordFile | None = None
) -> ExitStatus:
    refuse = plan.command == "measure"
    measured = session.measure(plan, path, as_json, refuse_unavailable=refuse, resume=content)
    if not as_json:
        from lockyard.report.text import print_measured

        print_measured(measured, plan.reference)
    return measured.status
