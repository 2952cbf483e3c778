# SPDX-License-Identifier: Apache-2.0
"""One look at a process: which threads wait for what, who holds it, and which waits never end.

Everything is read twice. A thread that ran in between, or whose wait changed, is not stuck.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockyard.field_kit.glibc import Libc, libc_of
from lockyard.field_kit.swapped_waits import swapped_waits
from lockyard.field_kit.system_calls import name_of
from lockyard.field_kit.waits import Wait, wait_of

if TYPE_CHECKING:
    from lockyard.field_kit.target import Maps, Snapshot, Target, Thread

PAUSE_S = 0.01
ZOMBIE = "Z"


@dataclass(frozen=True)
class Waiting:
    thread: Thread
    wait: Wait
    is_steady: bool  # it did not run between the two readings


@dataclass
class Look:
    pid: int
    program: str
    libc: Libc
    maps: Maps
    threads: dict[int, Thread]
    unreadable: dict[int, str]
    waiting: dict[int, Waiting]
    took_s: float  # without the pause
    machine: str = ""
    has_own_ids: bool = False  # its thread ids are not the ones that ps shows here
    readings: int = 2
    cycles: list[list[int]] = field(default_factory=list)

    @property
    def owners(self) -> dict[int, int]:
        """Returns, for each thread that steadily waits for an object with an owner, that owner, but
        not an owner in another process."""
        return {
            tid: owner
            for tid, each in self.waiting.items()
            if each.is_steady
            and (owner := each.wait.owner) is not None
            and (owner in self.threads or not each.wait.is_shared)
        }

    @property
    def deadlocks(self) -> list[list[int]]:
        """Returns the cycles that no time-out can end."""
        return [
            cycle
            for cycle in self.cycles
            if not any(self.waiting[tid].wait.has_timeout for tid in cycle)
        ]

    @property
    def saw_all(self) -> bool:
        return self.libc.is_known and not self.unreadable

    def has_ended(self, tid: int) -> bool:
        """Returns whether an owner is a thread that the process no longer has."""
        return tid not in self.threads and not self.unreadable

    def orphans(self) -> list[int]:
        """Returns the threads that wait for an owner that has ended."""
        return [tid for tid, owner in self.owners.items() if self.has_ended(owner)]

    def doing(self, tid: int) -> str:
        """Returns what a thread does that waits for no lock."""
        thread = self.threads.get(tid)
        if thread is None:
            return "has ended" if self.has_ended(tid) else "is unreadable"
        if thread.state == ZOMBIE:
            return "has ended"
        if thread.call is None:
            return "runs" if thread.state in ("R", "") else f"is in state {thread.state}"
        return f"is in {name_of(thread.call.number, self.machine)}"

    def roots(self) -> dict[int, list[int]]:
        """Returns, for each thread that holds what others wait for and waits for no owner itself,
        the threads that wait for it, directly or not; the most waited for comes first."""
        owners, found = self.owners, dict[int, list[int]]()
        in_cycle = {tid for cycle in self.cycles for tid in cycle}
        for tid in owners:
            at, seen = tid, {tid}
            while (next_ := owners.get(at)) is not None and next_ not in seen:
                at = next_
                seen.add(at)
            if at not in owners and at not in in_cycle:
                found.setdefault(at, []).append(tid)
        return dict(sorted(found.items(), key=lambda each: -len(each[1])))


def take(target: Target, pause_s: float | None = PAUSE_S) -> Look:
    """Looks twice; once where nothing can change, which a pause of None says."""
    begin = time.perf_counter()
    maps = target.maps()
    libc = libc_of(target, maps)
    snapshot = target.snapshot()
    waits = _waits(target, snapshot, libc)
    took_s = time.perf_counter() - begin
    before = snapshot
    if pause_s is not None:
        time.sleep(pause_s)
        begin = time.perf_counter()
        snapshot = target.snapshot()
        again = _waits(target, snapshot, libc)
        took_s += time.perf_counter() - begin
    else:
        again = waits
    waiting = {
        tid: Waiting(
            snapshot.threads[tid],
            wait,
            wait == waits.get(tid) and snapshot.threads[tid] == before.threads.get(tid),
        )
        for tid, wait in again.items()
    }
    unreadable = {**before.unreadable, **snapshot.unreadable}
    found = Look(
        target.pid,
        target.program,
        libc,
        maps,
        snapshot.threads,
        {task: why for task, why in unreadable.items() if task not in snapshot.threads},
        waiting,
        took_s,
        target.machine,
        target.has_own_ids,
        1 if pause_s is None else 2,
    )
    found.cycles = cycles_of(found.owners)
    return found


def _waits(target: Target, snapshot: Snapshot, libc: Libc) -> dict[int, Wait]:
    found = {}
    tids = snapshot.threads.keys()
    seen = dict[tuple[object, ...], Wait | None]()  # many threads may wait for one word
    for tid, thread in snapshot.threads.items():
        if thread.call is None:
            continue
        key = (thread.call.number, *thread.call.arguments[:4])
        if key not in seen:
            seen[key] = wait_of(target, thread.call, tids, libc.is_known)
        if (wait := seen[key]) is not None:
            found[tid] = wait
    for tid, (mutex, owner) in swapped_waits(target).items():
        if tid in found:  # and sleeps
            found[tid] = Wait("mutex", mutex, owner, "swapped", found[tid].has_timeout)
    return found


def cycles_of(owners: dict[int, int]) -> list[list[int]]:
    """Returns the cycles of a graph in which each thread waits for at most one, each from its
    smallest thread id."""
    found = []
    done = set[int]()
    for start in sorted(owners):
        path: list[int] = []
        at: int | None = start
        while at is not None and at in owners and at not in done and at not in path:
            path.append(at)
            at = owners[at]
        if at in path:
            cycle = path[path.index(at) :]
            least = cycle.index(min(cycle))
            found.append(cycle[least:] + cycle[:least])
        done.update(path)
    return found
