# SPDX-License-Identifier: Apache-2.0
"""What is to be measured: cells, how often each, for how long, and in which order."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lockyard.conditions import Conditions, Pinning, check, completed
from lockyard.errors import UsageError
from lockyard.work import NONE, Work, check_work, check_workloads, workloads_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.catalog import Lock, Study, Workload
    from lockyard.program import Job

SCHEMA = 1
PUBLISHED_BUDGET_S = 30.0
DEFAULT_LOOP_RUNS = 100
# How long workers are left alone before each wake-up, if nobody says; the text says nothing.
DEFAULT_GAPS_NS = (20_000, 200_000, 2_000_000, 10_000_000)
PUBLISHED_GAP_NS = 1_000_000
DEFAULT_SLEEPERS = 1
DEFAULT_WRITERS = (0, 1)
# Starting and ending a run takes about this long, and so much more for each thread.
RUN_OVERHEAD_S = 0.005
THREAD_OVERHEAD_S = 0.0005
# Fewer runs than this leave no 95 % interval; shorter runs than this measure their own start.
WANTED_RUNS = 6
SHORTEST_RUN_S = 0.01
# The harness's counts may overflow in a longer one.
LONGEST_RUN_S = 60.0
# What the runs of a cell may take when only their number was given: a multiple of their length,
# and some seconds for locks that cannot stop in time.
BUDGET_PER_RUN = 3.0
BUDGET_SPARE_S = 5.0


@dataclass(frozen=True)
class Cell:
    """One lock, or one pool of workers, in one study under one set of conditions, or the machine in
    a study of it."""

    study: str
    lock: str | None
    threads: int
    pinning: Pinning
    conditions: Conditions
    loops: int | None  # per thread and run; a run without them is bounded by time
    run_s: float  # length of a run bounded by time
    runs: int  # at most
    budget_s: float  # for all runs together
    as_published: bool
    work: Work = NONE
    sleepers: int | None = None  # on other locks; nothing where the study has none
    writers: int | None = None  # of the threads; nothing where the others do not read
    burst: int | None = None  # tasks that are submitted together; nothing where there are none

    @property
    def label(self) -> str:
        if not self.lock:
            return self.study
        study = " ".join(part for part in (self.study, self.work.workload) if part)
        return f"{study} {self.lock} × {self.threads}"

    def limit_s(self, spent_s: float) -> float:
        """How long the next run may take; 0 if no run is worth starting in what is left."""
        left_s = self.budget_s - spent_s
        if self.loops is not None:
            return min(max(left_s, 0.0), LONGEST_RUN_S)
        return self.run_s if left_s >= self.run_s / 2 else 0.0

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Cell:
        """Of what dataclasses.asdict made of it."""
        pinning = document["pinning"]
        return cls(
            **{
                **document,
                "pinning": pinning if isinstance(pinning, str) else tuple(pinning),
                "conditions": Conditions.from_json(document["conditions"]),
                "work": Work(**document.get("work", {})),
            }
        )

    def job(self, block: int, limit_s: float, seed: int, environment: dict[str, Any]) -> Job:
        return {
            "schema": SCHEMA,
            "study": self.study,
            "lock": self.lock,
            "conditions": {
                "threads": self.threads,
                "pinning": self.pinning if isinstance(self.pinning, str) else list(self.pinning),
                **self.conditions.to_json(),
                "arrival": "closed",
                **self.work.to_json(),
                "sleepers": self.sleepers,
                "writers": self.writers,
                "burst": self.burst,
                "bound": "time" if self.loops is None else "loops",
                "loops": self.loops,
                "duration_s": limit_s,
                "as_published": self.as_published,
                "seed": seed,
            },
            "rehearse": False,
            "block": block,
            "run": block,
            "clock": {key: environment["clock"][key] for key in ("source", "ns_per_tick")},
            "cgroup": None,
            "environment": environment["environment"],
        }


@dataclass(frozen=True)
class Request:
    """What the command line asked for; nothing where it left the choice to the study."""

    threads: Sequence[int]
    pinning: Pinning = "none"
    conditions: Sequence[Conditions] = (Conditions(),)
    work: Sequence[Work] = (NONE,)
    usual_gap: bool = True  # nobody gave one: the study's own, where it has one
    sleepers: int | None = None
    ways: Sequence[str] = ()  # to wait; all, if none is named
    pools: Sequence[Lock] = ()  # what is measured in place of locks where the study has pools
    shared: Sequence[Lock] = ()  # the same where it has readers
    writers: Sequence[int] = ()  # of the threads, where it has readers
    bursts: Sequence[int] = ()
    recovering: Sequence[Lock] = ()  # the same where it can measure only some
    workloads: Sequence[str] = ()  # of the studies that have them; all, if none is named
    budget_s: float | None = None
    runs: int | None = None
    loops: int | None = None
    as_published: bool = False


def plan_cells(studies: Sequence[Study], locks: Sequence[Lock], request: Request) -> list[Cell]:
    if request.as_published and request.loops is not None:
        raise UsageError("--loops and --as-published contradict each other: give one of them")
    for conditions in request.conditions:
        check(conditions, request.pinning)
    if request.sleepers is not None and not any(study.single_threaded for study in studies):
        raise UsageError("--sleepers: sleep beside uncontended only; measure it, or leave them out")
    if request.ways and not any(study.ways for study in studies):
        raise UsageError("--ways: to wait are what wakeup measures; add it, or leave them out")
    if request.bursts and not any(study.pools for study in studies):
        raise UsageError(
            "--burst: tasks come in bursts in workers only; measure it, or leave it out"
        )
    if request.writers and not any(study.of_readers for study in studies):
        raise UsageError("--writers: write among readers; measure readers, or leave them out")
    check_work(request.work, studies, request.as_published)
    check_workloads(request.workloads, studies)
    return [cell for study in studies for cell in _cells_of_study(study, locks, request)]


def _cells_of_study(study: Study, locks: Sequence[Lock], request: Request) -> list[Cell]:
    if request.as_published and study.published_loops == 0:
        raise UsageError(
            f"study '{study.name}' has no published form: leave --as-published out, or "
            "measure wait, idle or wakeup"
        )
    if study.ways:
        return _cells_of_ways(study, request)
    if study.workloads:
        return [
            cell
            for each in workloads_of(study, request.workloads)
            for cell in _cells_of_study(study.doing(each), locks, _doing(each, request))
        ]
    if study.of_machine:
        _check_study_of_machine(study, request)
        request = _each_processor(request)
    counts = list(dict.fromkeys(request.threads))
    if study.single_threaded:
        counts = [1]
    names = _names_of_study(study, locks, request)
    return [
        replace(_cell(study, name, threads, conditions, work, request), burst=burst, writers=count)
        for threads in counts
        for conditions in request.conditions
        for work in _works_of_study(study, request)
        for burst in _bursts_of_study(study, request)
        for count in _writers_of_study(study, threads, request)
        for name in names
    ]


def _doing(workload: Workload, request: Request) -> Request:
    """Its threads have lengths of their own, and may be of a number of its own."""
    threads = [workload.threads] if workload.threads else request.threads
    return replace(request, threads=threads, work=[Work(workload=workload.name)])


def _names_of_study(
    study: Study, locks: Sequence[Lock], request: Request
) -> Sequence[str] | Sequence[None]:
    """Of what it measures under the same conditions; the machine has no name."""
    if study.of_machine:
        return [None]
    if study.pools:
        return [pool.name for pool in request.pools]
    if study.of_readers and not request.shared:
        raise UsageError(
            f"study '{study.name}' measures locks that readers can share, and none of those given "
            "by --locks is one; name one, as in --locks shared_mutex, or leave --locks out"
        )
    measurable = [lock for lock in request.recovering if lock.name in study.only_locks]
    if study.only_locks and not measurable:
        raise UsageError(
            f"study '{study.name}' measures {', '.join(study.only_locks)}, and none of those given "
            "by --locks is one; name one, or leave --locks out"
        )
    if study.of_readers:
        locks = request.shared
    elif study.only_locks:
        locks = measurable
    return [lock.name for lock in locks]


def _works_of_study(study: Study, request: Request) -> Sequence[Work]:
    if not study.has_team:
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
    """Where nobody gave a number, as many as leave a reader."""
    if not study.of_readers:
        return [None]
    if not request.writers:
        return [count for count in DEFAULT_WRITERS if count < threads]
    most = max(request.writers)
    if most >= threads:
        raise UsageError(
            f"--writers {most}: of --threads {threads} none would read; give more threads, for "
            "they are readers and writers together, or fewer writers"
        )
    return request.writers


def _cells_of_ways(study: Study, request: Request) -> list[Cell]:
    """Each way at each place with each gap."""
    if any(each.policy == "deadline" for each in request.conditions):
        raise UsageError(
            f"study '{study.name}' confines each thread to a processor, which the kernel refuses "
            "to deadline threads; choose another policy"
        )
    work = request.work
    if request.usual_gap and all(each == NONE for each in work):
        gaps_ns = (PUBLISHED_GAP_NS,) if request.as_published else DEFAULT_GAPS_NS
        work = [Work(gap_ns=gap_ns) for gap_ns in gaps_ns]
    return [
        _cell(study, way, threads, conditions, each, replace(request, pinning=pinning))
        for threads, pinning in _places_of_threads(request)
        for conditions in request.conditions
        for each in work
        for way in (request.ways or study.ways)
    ]


def _places_of_threads(request: Request) -> list[tuple[int, Pinning]]:
    """Who publishes comes first, and there is one worker at least. Unless the places were given:
    one worker on the publisher's own processor, one on the next, and, where there are more, one on
    each."""
    counts = list(dict.fromkeys(max(threads, 2) for threads in request.threads))
    if request.pinning != "none":
        return [(threads, request.pinning) for threads in counts]
    cpus = sorted(os.sched_getaffinity(0))
    if request.as_published:
        threads = max(len(cpus), 2)
        return [(threads, tuple(cpus))]
    pairs = [(cpus[0], cpus[0]), *([(cpus[0], cpus[1])] if len(cpus) > 1 else [])]
    return [
        *((2, pair) for pair in pairs),
        *((threads, tuple(cpus)) for threads in counts if threads > 2),
    ]


def _check_study_of_machine(study: Study, request: Request) -> None:
    if request.loops is not None:
        raise UsageError(
            f"study '{study.name}' measures no lock, so --loops says nothing about it: give --for"
        )
    if any(conditions.policy == "deadline" for conditions in request.conditions):
        raise UsageError(
            f"study '{study.name}' confines each thread to a processor, which the kernel refuses "
            "to deadline threads; choose another policy"
        )


def _each_processor(request: Request) -> Request:
    """A study of the machine looks at each processor once."""
    if isinstance(request.pinning, str):
        return replace(request, threads=[len(os.sched_getaffinity(0))])
    cpus = tuple(dict.fromkeys(request.pinning))
    return replace(request, threads=[len(cpus)], pinning=cpus)


def _cell(  # noqa: PLR0913 - one parameter for each dimension
    study: Study,
    lock: str | None,
    threads: int,
    conditions: Conditions,
    work: Work,
    request: Request,
) -> Cell:
    by_loops = request.as_published or request.loops is not None
    return Cell(
        study=study.name,
        lock=lock,
        threads=threads,
        pinning=request.pinning,
        conditions=completed(conditions, threads),
        as_published=request.as_published,
        work=work,
        sleepers=(request.sleepers or DEFAULT_SLEEPERS) if study.single_threaded else None,
        **(_by_loops(study, request) if by_loops else _by_time(study, threads, request)),
    )


def _by_loops(study: Study, request: Request) -> dict[str, Any]:
    """As many runs as fit the time, up to those asked for or published."""
    default_s = PUBLISHED_BUDGET_S if request.as_published else study.default_budget_s
    return {
        "loops": request.loops or study.published_loops,
        "run_s": 0.0,
        "runs": request.runs or study.published_runs or DEFAULT_LOOP_RUNS,
        "budget_s": request.budget_s or default_s,
    }


def _by_time(study: Study, threads: int, request: Request) -> dict[str, Any]:
    """Either the time is given and the runs follow, or the runs and the time follows, or both."""
    run_s = study.default_run_s
    overhead_s = RUN_OVERHEAD_S + threads * THREAD_OVERHEAD_S
    budget_s = request.budget_s
    if request.runs is not None and budget_s is None:
        runs = request.runs
        budget_s = runs * BUDGET_PER_RUN * run_s + BUDGET_SPARE_S
    else:
        budget_s = budget_s or study.default_budget_s
        runs = request.runs or max(WANTED_RUNS, int(budget_s / (run_s + overhead_s)))
        run_s = max(budget_s / runs - overhead_s, SHORTEST_RUN_S)
        if run_s > LONGEST_RUN_S:
            raise UsageError(
                f"a run of {run_s:.0f} s is too long to count exactly; ask for more --runs or "
                f"less time, so that a run takes at most {LONGEST_RUN_S:.0f} s"
            )
    return {"loops": None, "run_s": run_s, "runs": runs, "budget_s": budget_s}


def order_of_block(cells: Sequence[Cell], seed: int, block: int) -> list[Cell]:
    """The cells in an order of chance that seed and block determine."""
    shuffled = list(cells)
    random.Random(f"{seed}/{block}").shuffle(shuffled)  # noqa: S311 - no secret
    return shuffled
