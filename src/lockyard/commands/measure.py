# SPDX-License-Identifier: Apache-2.0
"""lockyard measure: measures chosen studies of chosen locks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lockyard import harness, records
from lockyard.catalog import BEST_SLEEPING_PEER
from lockyard.errors import ExitStatus, UsageError
from lockyard.machine.conditions import inherited
from lockyard.measure import session, usual
from lockyard.measure.noise import with_noise
from lockyard.measure.parameters import check_names
from lockyard.measure.plan import plan_grids
from lockyard.measure.sweep import MOST_CELLS, Expansion, check_size, expand
from lockyard.page.wanted import WantedPage
from lockyard.user_locks.adopt import adopt

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockyard.catalog import Catalog, Lock
    from lockyard.measure.asked import Measuring, Sweep
    from lockyard.measure.grid import Grid


def run(
    wanted: Measuring, dry: bool, yes: bool, as_json: bool, page: WantedPage | None = None
) -> ExitStatus:
    """Measures. `dry` only prints what would be measured; `yes` lifts the limit on its size."""
    page = page or WantedPage()
    page.check()
    if wanted.own is not None:
        adopt(wanted.own, [study for sweep in wanted.sweeps for study in sweep.choice.studies])
        sweeps = [_measured_too(wanted.own.names, sweep) for sweep in wanted.sweeps]
        wanted = replace(wanted, sweeps=sweeps)
    catalog = harness.catalog()
    references, reference = _references(wanted, catalog)
    grids = (grid for sweep in wanted.sweeps for grid in _of_sweep(sweep, references, catalog))
    expansion = expand(grids, most=None if yes else MOST_CELLS)
    if not expansion.left_out:
        expansion = Expansion.of(with_noise(expansion.cells, catalog, inherited()))
    if dry:
        from lockyard.report.dry_run import print_dry_run

        print_dry_run(expansion, wanted.seed, as_json)
        return ExitStatus.DONE
    if not yes:
        check_size(expansion)
    plan = session.Plan("measure", expansion.cells, wanted.seed, reference, wanted.own)
    path = wanted.out if wanted.out or as_json else records.default_path("measure")
    return _measured(plan, path, as_json, page)


def _measured_too(names: Sequence[str], sweep: Sweep) -> Sweep:
    """Adds the user's own locks to the chosen ones."""
    choice = sweep.choice
    choice = replace(
        choice,
        locks=[*choice.locks, *names],
        locks_or_all=[*choice.locks_or_all, *names],
        beside_usual=None if choice.beside_usual is None else [*choice.beside_usual, *names],
    )
    return replace(sweep, choice=choice)


def _references(wanted: Measuring, catalog: Catalog) -> tuple[list[Lock], str | None]:
    """Returns the reference locks, which are measured too, and the name the tables compare with."""
    against = wanted.against
    if against is None or against in catalog.ways:
        return [], against
    references = catalog.references(against)
    if against == BEST_SLEEPING_PEER:
        # The best of the named locks, if any were named.
        chosen = [
            lock for each in wanted.sweeps for lock in catalog.select_locks(each.choice.locks)
        ]
        return [each for each in references if each in chosen] or references, against
    return references, references[0].name if references else None  # replaces a seed name


def _of_sweep(sweep: Sweep, references: Sequence[Lock], catalog: Catalog) -> list[Grid]:
    """Returns the grids of a sweep; an error in a sweep from a file names its place there."""
    try:
        return _grids(sweep, references, catalog)
    except UsageError as error:
        if not sweep.where:
            raise
        raise UsageError(f"{sweep.where}: {error}") from None


def _grids(sweep: Sweep, references: Sequence[Lock], catalog: Catalog) -> list[Grid]:
    choice = sweep.choice
    sharing = [lock for lock in catalog.locks if lock.shared]
    recovering = catalog.select_recovering([lock.name for lock in catalog.locks])
    request = replace(
        sweep.request,
        ways=catalog.select_ways(sweep.request.ways),
        pools=_with(catalog.select_pools(choice.pools), references, catalog.pools),
        shared=_with(catalog.select_shared(choice.locks_or_all), references, sharing),
        recovering=_with(catalog.select_recovering(choice.locks_or_all), references, recovering),
    )
    locks = _with(catalog.select_locks(choice.locks), references, catalog.locks)
    studies = catalog.select_studies(choice.studies)
    check_names(request.parameters, studies, catalog.studies)
    if choice.beside_usual is not None:
        beside = [*choice.beside_usual, *(lock.name for lock in references if lock in locks)]
        request = replace(request, usual_locks=usual.locks(catalog, studies, beside))
    if not choice.policy_given:
        conditions, remarks = usual.conditions(studies, request.conditions[0])
        request = replace(request, usual_conditions=conditions)
        for remark in remarks:
            session.say(remark)
    return plan_grids(studies, locks, request)


def _with(chosen: Sequence[Lock], references: Sequence[Lock], known: Sequence[Lock]) -> list[Lock]:
    """Adds the reference locks of this kind to the chosen ones."""
    return [*chosen, *(each for each in references if each in known and each not in chosen)]


def resume(path: Path, as_json: bool, page: WantedPage | None = None) -> ExitStatus:
    """Continues the measurement in the file where it stopped."""
    page = page or WantedPage()
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
    if plan.own is not None:
        adopt(plan.own, list(dict.fromkeys(cell.study for cell in plan.cells)))
    return _measured(plan, path, as_json, page, content)


def _measured(
    plan: session.Plan,
    path: Path | None,
    as_json: bool,
    page: WantedPage,
    content: records.RecordFile | None = None,
) -> ExitStatus:
    refuse = plan.command == "measure"
    measured = session.measure(plan, path, as_json, refuse_unavailable=refuse, resume=content)
    if not as_json:
        from lockyard.report.text import print_measured

        print_measured(measured, plan.reference)
    page.write_records(measured, plan.reference)
    return measured.status
