# SPDX-License-Identifier: Apache-2.0
"""lockyard measure: chosen studies of chosen locks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockyard import harness, records, session
from lockyard.catalog import BEST_SLEEPING_PEER
from lockyard.conditions import inherited
from lockyard.errors import UsageError
from lockyard.noise import with_noise
from lockyard.own.adopt import adopt
from lockyard.plan import plan_cells

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockyard.catalog import Lock
    from lockyard.errors import ExitStatus
    from lockyard.own.given import Given
    from lockyard.plan import Request


@dataclass(frozen=True)
class Choice:
    """What is measured, by names of the command line."""

    studies: Sequence[str]
    locks: Sequence[str]
    locks_or_all: Sequence[str]  # all if none is named, where a study has some locks only
    pools: Sequence[str]
    against: str | None
    own: Given | None = None  # the user's, which are among the locks by name


def run(choice: Choice, request: Request, seed: int, out: Path | None, as_json: bool) -> ExitStatus:
    if choice.own is not None:
        adopt(choice.own, choice.studies)
    catalog = harness.catalog()
    is_way = choice.against in catalog.ways
    references = catalog.references(choice.against) if choice.against and not is_way else []
    reference = choice.against if is_way or choice.against == BEST_SLEEPING_PEER else None
    if reference is None and references:
        reference = references[0].name  # a seed name was another's
    chosen = catalog.select_locks(choice.locks)
    if choice.against == BEST_SLEEPING_PEER:
        # The best of those that were named, if any were.
        references = [each for each in references if each in chosen] or references
    locks = _with(chosen, references, catalog.locks)
    pools = _with(catalog.select_pools(choice.pools), references, catalog.pools)
    sharing = [lock for lock in catalog.locks if lock.shared]
    recovering = catalog.select_recovering([lock.name for lock in catalog.locks])
    request = replace(
        request,
        ways=catalog.select_ways(request.ways),
        workloads=catalog.select_workloads(request.workloads),
        pools=pools,
        shared=_with(catalog.select_shared(choice.locks_or_all), references, sharing),
        recovering=_with(catalog.select_recovering(choice.locks_or_all), references, recovering),
    )
    cells = plan_cells(catalog.select_studies(choice.studies), locks, request)
    cells = with_noise(cells, catalog, inherited())
    plan = session.Plan("measure", cells, seed, reference, choice.own)
    path = out if out or as_json else records.default_path("measure")
    return _measured(plan, path, as_json)


def _with(chosen: Sequence[Lock], references: Sequence[Lock], known: Sequence[Lock]) -> list[Lock]:
    """Who is compared with is measured too, where it is of that kind."""
    return [*chosen, *(each for each in references if each in known and each not in chosen)]


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
    if plan.own is not None:
        adopt(plan.own, list(dict.fromkeys(cell.study for cell in plan.cells)))
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
