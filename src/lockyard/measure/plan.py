# SPDX-License-Identifier: Apache-2.0
"""Plans the cells of a request, and the order in which they are measured."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from lockyard.errors import UsageError
from lockyard.machine.conditions import Conditions, check
from lockyard.measure.cell import CLOSED, SCHEDULED, Cell
from lockyard.measure.grid import Grid
from lockyard.measure.parameters import check_values, choices_of, combinations
from lockyard.measure.placement import each_processor, places_of_threads
from lockyard.measure.timing import lengths_of_runs
from lockyard.measure.work import NONE, Work, check_work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.catalog import Lock, Study
    from lockyard.measure.request import Request

Item = TypeVar("Item")
# The default gaps between wake-ups of the workers; the published text names none.
DEFAULT_GAPS_NS = (20_000, 200_000, 2_000_000, 10_000_000)
PUBLISHED_GAP_NS = 1_000_000


def plan_cells(studies: Sequence[Study], locks: Sequence[Lock], request: Request) -> list[Cell]:
    return [cell for grid in plan_grids(studies, locks, request) for cell in grid]


def plan_grids(studies: Sequence[Study], locks: Sequence[Lock], request: Request) -> list[Grid]:
    """Returns all cells of the request as grids, since there may be too many cells to make."""
    if request.as_published and request.loops is not None:
        raise UsageError(
            "--loops and --as-published: contradict each other, since published runs have their "
            "own loops; drop one of the two"
        )
    for conditions in (*request.conditions, *chain(*request.default_conditions.values())):
        check(conditions, request.pinning)
    if request.ways and not any(study.ways for study in studies):
        raise UsageError("--ways: applies only to the study wakeup: add wakeup, or drop --ways")
    check_work(request.work, studies, request.as_published)
    check_values(request.parameters, studies)
    return [grid for study in studies for grid in _grids_of_study(study, locks, request)]


def _grids_of_study(study: Study, locks: Sequence[Lock], request: Request) -> list[Grid]:
    if request.as_published and study.published_loops == 0:
        raise UsageError(
            f"study '{study.name}' has no published form, so --as-published means nothing to it: "
            "drop --as-published, or measure wait, idle or wakeup"
        )
    if study.ways:
        return _grids_of_ways(study, request)
    if study.measures == "machine":
        _check_study_of_machine(study, request)
        request = each_processor(request)
    conditions = request.default_conditions.get(study.name, request.conditions)
    _check_policies(study, conditions)
    return [
        Grid(
            first=_first_cell(each, threads, request),
            conditions=conditions,
            works=_works_of_study(each, request),
            parameters=combinations(each, request.parameters, threads),
            names=_names_of_study(each, locks, request),
        )
        for each in choices_of(study, request.parameters)
        for threads in _threads_of_study(each, request)
    ]


def _threads_of_study(study: Study, request: Request) -> list[int]:
    return [study.threads] if study.threads else list(dict.fromkeys(request.threads))


def _names_of_study(
    study: Study, locks: Sequence[Lock], request: Request
) -> Sequence[str] | Sequence[None]:
    """Returns the names of what is measured under the same conditions; the machine has no name."""
    if study.measures == "machine":
        return [None]
    if study.pools:
        return [pool.name for pool in request.pools]
    if study.name in request.default_locks:
        return request.default_locks[study.name]
    if study.measures == "shared_locks" and not request.shared:
        raise UsageError(
            f"study '{study.name}' measures only locks that readers can share, and --locks names "
            "none: add one, as in --locks shared_mutex, or drop --locks"
        )
    measurable = [lock for lock in request.recovering if lock.name in study.only_locks]
    if study.only_locks and not measurable:
        raise UsageError(
            f"study '{study.name}' measures only {', '.join(study.only_locks)}, and --locks names "
            "none of them: add one, or drop --locks"
        )
    if study.measures == "shared_locks":
        locks = request.shared
    elif study.only_locks:
        locks = measurable
    return [lock.name for lock in locks]


def _works_of_study(study: Study, request: Request) -> Sequence[Work]:
    if study.takes == "none":
        return [NONE]
    if request.default_gap and study.default_gap_ns:
        gap_ns = round(study.default_gap_ns)
        return list(dict.fromkeys(replace(work, gap_ns=gap_ns) for work in request.work))
    return request.work


def _grids_of_ways(study: Study, request: Request) -> list[Grid]:
    """Returns a grid for each placement of threads, with each way and each gap."""
    if any(each.policy == "deadline" for each in request.conditions):
        raise UsageError(
            f"study '{study.name}' confines each thread to a processor, which the kernel refuses "
            "for deadline threads; choose another policy"
        )
    work = request.work
    if request.default_gap and all(each == NONE for each in work):
        gaps_ns = (PUBLISHED_GAP_NS,) if request.as_published else DEFAULT_GAPS_NS
        work = [Work(gap_ns=gap_ns) for gap_ns in gaps_ns]
    return [
        Grid(
            first=_first_cell(study, threads, replace(request, pinning=pinning)),
            conditions=request.conditions,
            works=work,
            names=request.ways or study.ways,
        )
        for threads, pinning in places_of_threads(request)
    ]


def _check_study_of_machine(study: Study, request: Request) -> None:
    if request.loops is not None:
        raise UsageError(
            f"study '{study.name}' measures no lock, so --loops means nothing to it; use --for"
        )
    if any(conditions.policy == "deadline" for conditions in request.conditions):
        raise UsageError(
            f"study '{study.name}' confines each thread to a processor, which the kernel refuses "
            "for deadline threads; choose another policy"
        )


def _check_policies(study: Study, conditions: Sequence[Conditions]) -> None:
    for each in conditions:
        if study.only_policies and each.policy not in study.only_policies:
            raise UsageError(
                f"--policy {each.policy}: means nothing to study '{study.name}'; measure it under "
                f"{' or '.join(study.only_policies)}, or drop --policy"
            )


def _first_cell(study: Study, threads: int, request: Request) -> Cell:
    """Returns a cell with everything that the cells of a grid have in common."""
    return Cell(
        study=study.name,
        lock=None,
        threads=threads,
        pinning=request.pinning,
        conditions=Conditions(),
        as_published=request.as_published,
        arrival=SCHEDULED if study.scheduled else CLOSED,
        **lengths_of_runs(study, threads, request),
    )


def order_of_block(items: Sequence[Item], seed: int, block: int) -> list[Item]:
    """Returns the cells, or their places in the plan, shuffled as seed and block determine."""
    shuffled = list(items)
    random.Random(f"{seed}/{block}").shuffle(shuffled)  # noqa: S311 - no secret
    return shuffled
