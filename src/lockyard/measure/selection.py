# SPDX-License-Identifier: Apache-2.0
"""From a request to grids: selects the locks, pools and studies that the request names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lockyard.catalog import BEST_SLEEPING_PEER
from lockyard.errors import UsageError
from lockyard.measure import defaults
from lockyard.measure.parameters import check_names
from lockyard.measure.plan import plan_grids
from lockyard.measure.session import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.catalog import Catalog, Lock
    from lockyard.measure.grid import Grid
    from lockyard.measure.request import MeasureRequest, Sweep


def with_user_locks(names: Sequence[str], sweep: Sweep) -> Sweep:
    """Adds the user's own locks to the chosen ones."""
    choice = sweep.choice
    choice = replace(
        choice,
        locks=[*choice.locks, *names],
        locks_or_all=[*choice.locks_or_all, *names],
        added_to_defaults=None
        if choice.added_to_defaults is None
        else [*choice.added_to_defaults, *names],
    )
    return replace(sweep, choice=choice)


def references(wanted: MeasureRequest, catalog: Catalog) -> tuple[list[Lock], str | None]:
    """Returns the reference locks, which are measured too, and the name the tables compare with."""
    against = wanted.against
    if against is None or against in catalog.ways:
        return [], against
    found = catalog.references(against)
    if against == BEST_SLEEPING_PEER:
        # The best of the named locks, if any were named.
        chosen = [
            lock for each in wanted.sweeps for lock in catalog.select_locks(each.choice.locks)
        ]
        return [each for each in found if each in chosen] or found, against
    return found, found[0].name if found else None  # replaces a seed name


def grids(wanted: MeasureRequest, references: Sequence[Lock], catalog: Catalog) -> Iterator[Grid]:
    for sweep in wanted.sweeps:
        yield from _of_sweep(sweep, references, catalog)


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
    if choice.added_to_defaults is not None:
        beside = [*choice.added_to_defaults, *(lock.name for lock in references if lock in locks)]
        request = replace(request, default_locks=defaults.locks(catalog, studies, beside))
    if not choice.policy_given:
        conditions, remarks = defaults.conditions(studies, request.conditions[0])
        request = replace(request, default_conditions=conditions)
        for remark in remarks:
            say(remark)
    return plan_grids(studies, locks, request)


def _with(chosen: Sequence[Lock], references: Sequence[Lock], known: Sequence[Lock]) -> list[Lock]:
    """Adds the reference locks of this kind to the chosen ones."""
    return [*chosen, *(each for each in references if each in known and each not in chosen)]
