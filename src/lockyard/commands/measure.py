# SPDX-License-Identifier: Apache-2.0
"""lockyard measure: chosen studies of chosen locks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockyard import harness, records, session, usual
from lockyard.catalog import BEST_SLEEPING_PEER
from lockyard.conditions import inherited
from lockyard.errors import UsageError
from lockyard.noise import with_noise
from lockyard.plan import plan_cells

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockyard.catalog import Lock
    from lockyard.errors import ExitStatus
    from lockyard.plan import Request


@dataclass(frozen=True)
class Choice:
    """What is measured, by names of the command line."""

    studies: Sequence[str]
    locks: Sequence[str]
    locks_or_all: Sequence[str]  # all if none is named, where a study has some locks only
    pools: Sequence[str]
    against: str | None
    # Where nobody named locks, those beside a study's usual ones; nothing where somebody did.
    beside_usual: Sequence[str] | None = None
    policy_given: bool = True  # or a parameter of one, so no study has a usual one


def run(choice: Choice, request: Request, seed: int, out: Path | None, as_json: bool) -> ExitStatus:
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
    studies = catalog.select_studies(choice.studies)
    if choice.beside_usual is not None:
        beside = [*choice.beside_usual, *(lock.name for lock in references if lock in locks)]
        request = replace(request, usual_locks=usual.locks(catalog, studies, beside))
    if not choice.policy_given:
        conditions, remarks = usual.conditions(studies, request.conditions[0])
        request = replace(request, usual_conditions=conditions)
        for remark in remarks:
            session.say(remark)
    cells = plan_cells(studies, locks, request)
    plan = session.Plan("measure", with_noise(cells, catalog, inherited()), seed, reference)
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
