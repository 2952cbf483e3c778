# SPDX-License-Identifier: Apache-2.0
"""Plans the cells of a request, and the order in which they are measured."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from lockyard.cell import CLOSED, SCHEDULED, Cell
from lockyard.conditions import Conditions, check
from lockyard.errors import UsageError
from lockyard.grid import Grid
from lockyard.parameters import check_parameters, combinations
from lockyard.places import each_processor, places_of_threads
from lockyard.timing import lengths_of_runs
from lockyard.work import NONE, Work, check_work, check_workloads, workloads_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.catalog import Lock, Study, Workload
    from lockyard.request import Request

Item = TypeVar("Item")
# The default gaps between wake-ups of the workers; the published text names none.
DEFAULT_GAPS_NS = (20_000, 200_000, 2_000_000, 10_000_000)
PUBLISHED_GAP_NS = 1_000_000
DEFAULT_SLEEPERS = 1
DEFAULT_WRITERS = (0, 1)


def plan_cells(studies: Sequence[Study], locks: Sequence[Lock], request: Request) -> list[Cell]:
    return [cell for grid in plan_grids(studies, locks, request) for cell in grid]


def plan_grids(studies: Sequence[Study], locks: Sequence[Lock], request: Request) -> list[Grid]:
    """Returns all cells of the request as grids, since there may be too many cells to make."""
    if request.as_published and request.loops is not None:
        raise UsageError(
            "--loops and --as-published: contradict each other, since published runs have their "
            "own loops; drop one of the two"
        )
    for conditions in (*request.conditions, *chain(*request.usual_conditions.values())):
        check(conditions, request.pinning)
    if request.sleepers is not None and not any(study.single_threaded for study in studies):
        raise UsageError(
            "--sleepers: applies only to the study uncontended: add uncontended, or drop --sleepers"
        )
    if request.ways and not any(study.ways for study in studies):
        raise UsageError("--ways: applies only to the study wakeup: add wakeup, or drop --ways")
    if request.bursts and not any(study.pools for study in studies):
        raise UsageError("--burst: applies only to the study workers: add workers, or drop --burst")
    if request.writers and not any(study.of_readers for study in studies):
        raise UsageError(
            "--writers: applies only to the study readers: add readers, or drop --writers"
        )
    check_work(request.work, studies, request.as_published)
    check_workloads(request.workloads, studies)
    check_parameters(request.parameters, studies)
    return [grid for study in studies for grid in _grids_of_study(study, locks, request)]


def _grids_of_study(study: Study, locks: Sequence[Lock], request: Request) -> list[Grid]:
    if request.as_published and study.published_loops == 0:
        raise UsageError(
            f"study '{study.name}' has no published form, so --as-published means nothing to it: "
            "drop --as-published, or measure wait, idle or wakeup"
        )
    if study.ways:
        return _grids_of_ways(study, request)
    if study.workloads:
        return [
            grid
            for each in workloads_of(study, request.workloads)
            for grid in _grids_of_study(study.doing(each), locks, _doing(each, request))
        ]
    if study.of_machine:
        _check_study_of_machine(study, request)
        request = each_processor(request)
    counts = list(dict.fromkeys(request.threads))
    if study.single_threaded:
        counts = [1]
    conditions = request.usual_conditions.get(study.name, request.conditions)
    _check_policies(study, conditions)
    return [
        Grid(
            first=_first_cell(study, threads, request),
            conditions=conditions,
            works=_works_of_study(study, request),
            bursts=_bursts_of_study(study, request),
            writers=_writers_of_study(study, threads, request),
            parameters=combinations(study, request.parameters),
            names=_names_of_study(study, locks, request),
        )
        for threads in counts
    ]


def _doing(workload: Workload, request: Request) -> Request:
    """Returns the request for one workload, which sets its own times and perhaps its threads."""
    threads = [workload.threads] if workload.threads else request.threads
    return replace(request, threads=threads, work=[Work(workload=workload.name)])


def _names_of_study(
    study: Study, locks: Sequence[Lock], request: Request
) -> Sequence[str] | Sequence[None]:
    """Returns the names of what is measured under the same conditions; the machine has no name."""
    if study.of_machine:
        return [None]
    if study.pools:
        return [pool.name for pool in request.pools]
    if study.name in request.usual_locks:
        return request.usual_locks[study.name]
    if study.of_readers and not request.shared:
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
    if study.of_readers:
        locks = request.shared
    elif study.only_locks:
        locks = measurable
    return [lock.name for lock in locks]


def _works_of_study(study: Study, request: Request) -> Sequence[Work]:
    if not study.has_team or study.own_lengths:
        return [NONE]
    if request.usual_gap and study.default_gap_ns:
        gap_ns = round(study.default_gap_ns)
        return list(dict.fromkeys(replace(work, gap_ns=gap_ns) for work in request.work))
    return request.work


def _bursts_of_study(study: Study, request: Request) -> Sequence[int | None]:
    if not study.pools:
        return [None]
    return request.bursts or [study.default_burst]


def _writers_of_study(study: Study, threads: int, request: Request) -> Sequence[int | None]:
    """Returns the numbers of writers; the default ones leave at least one reader."""
    if not study.of_readers:
        return [None]
    if not request.writers:
        return [count for count in DEFAULT_WRITERS if count < threads]
    most = max(request.writers)
    if most >= threads:
        raise UsageError(
            f"--writers {most}: with --threads {threads}, which counts readers and writers, no "
            "thread would read; give more threads or fewer writers"
        )
    return request.writers


def _grids_of_ways(study: Study, request: Request) -> list[Grid]:
    """Returns a grid for each placement of threads, with each way and each gap."""
    if any(each.policy == "deadline" for each in request.conditions):
        raise UsageError(
            f"study '{study.name}' confines each thread to a processor, which the kernel refuses "
            "for deadline threads; choose another policy"
        )
    work = request.work
    if request.usual_gap and all(each == NONE for each in work):
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
        sleepers=(request.sleepers or DEFAULT_SLEEPERS) if study.single_threaded else None,
        **lengths_of_runs(study, threads, request),
    )


def order_of_block(items: Sequence[Item], seed: int, block: int) -> list[Item]:
    """Returns the cells, or their places in the plan, shuffled as seed and block determine."""
    shuffled = list(items)
    random.Random(f"{seed}/{block}").shuffle(shuffled)  # noqa: S311 - no secret
    return shuffled
