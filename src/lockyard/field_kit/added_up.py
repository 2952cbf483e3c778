# SPDX-License-Identifier: Apache-2.0
"""The records of a process, named and added up: a row for each lock that has a name of its own, or
for each group of locks that the same functions lock."""

from __future__ import annotations

import os
import platform
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from lockyard.field_kit.contention import (
    Buckets,
    Contention,
    Lengths,
    LongWait,
    Process,
    Row,
    WaitGroup,
)  # fmt: skip
from lockyard.field_kit.process import MACHINES
from lockyard.field_kit.recorded import Names
from lockyard.field_kit.system_calls import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockyard.field_kit import records

BLOCKED = "holder blocked"
SUB_BUCKET_BITS = 2
MOST_LENGTHS = 4096  # kept of a row
_MACHINE = MACHINES.get(platform.machine(), platform.machine())
_Key = tuple[int, str]


def added_up(of: records.Records) -> Contention:
    return _Adding(of).contention()


class _Adding:
    def __init__(self, of: records.Records) -> None:
        self._of = of
        self._names = Names(of)
        self._pairs = defaultdict[_Key, list["records.Pair"]](list)
        for pair in of.pairs:
            self._pairs[pair.address, pair.kind].append(pair)
        self._lengths = defaultdict[int, list["records.Lengths"]](list)
        for lengths in of.lengths:
            self._lengths[lengths.address].append(lengths)
        self._row_names = {
            key: self._name(lock)
            for key, lock in of.locks.items()
            if self._pairs[key] or lock.failed_tries  # others were only held
        }

    def contention(self) -> Contention:
        of = self._of
        processors, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
        found = Contention(
            Process(of.pid, of.program, of.started_ns, float(of.elapsed_ns), of.threads, of.lost,
                    processors, load)
        )  # fmt: skip
        members = defaultdict[tuple[str, str], list["records.Lock"]](list)
        for key, name in self._row_names.items():
            members[name, key[1]].append(of.locks[key])
        rows = [self._row(name, kind, locks) for (name, kind), locks in members.items()]
        for row in sorted(rows, key=lambda each: -each.cost_ns):
            found.add(row)
        for pair in of.pairs:
            found.add(self._group(pair))
        for wait in sorted(of.long_waits, key=lambda each: each.begin_ns):
            found.add(self._long_wait(wait))
        return found

    def _name(self, lock: records.Lock) -> str:
        """Returns the symbol, or "lock of F and G": the functions that wait for it and hold it
        most."""
        if symbol := self._names.variable(lock.address):
            return symbol
        weights = defaultdict[str, float](float)
        for pair in self._pairs[lock.address, lock.kind]:
            weights[self._names.place(pair.waiter)] += pair.wait_ns
            if pair.holder:
                weights[self._names.place(pair.holder)] += pair.wait_ns
        most = sorted(weights, key=lambda each: -weights[each])[:2]
        return f"lock of {' and '.join(most)}" if most else f"{lock.kind} at {lock.address:#x}"

    def _row(self, name: str, kind: str, locks: list[records.Lock]) -> Row:
        buckets = _buckets(np.sum([each.buckets for each in locks], axis=0), self._of.ns_per_tick)
        longest_ns = max(each.longest_ns for each in locks)
        longest_hold = max(locks, key=lambda each: each.longest_hold_ns)
        lengths = [each for lock in locks for each in self._lengths[lock.address]]
        p50_ns, p90_ns, p99_ns = (
            min(buckets.quantile(share), longest_ns) for share in (0.5, 0.9, 0.99)
        )
        return Row(
            pid=self._of.pid, lock=name, kind=kind, objects=len(locks),
            threads=max(each.threads for each in locks),
            acquisitions=sum(each.acquisitions for each in locks),
            waits=sum(each.waits for each in locks),
            wait_ns=sum(each.wait_ns for each in locks),
            p50_ns=p50_ns, p90_ns=p90_ns, p99_ns=p99_ns, longest_ns=longest_ns,
            others_first=sum(each.others_first for each in locks),
            failed_tries=sum(each.failed_tries for each in locks),
            wakes=sum(each.wakes for each in locks),
            sampled_holds=sum(each.holds for each in locks),
            sampled_hold_ns=sum(each.hold_ns for each in locks),
            longest_hold_ns=longest_hold.longest_hold_ns,
            longest_hold_at=self._place((longest_hold.hold_site,))
            if longest_hold.hold_site else "",
            wait=buckets,
            holds=_kept((each.holds, each.hold_ns, each.disturbed_holds) for each in lengths),
            gaps=_kept((each.gaps, each.gap_ns, each.disturbed_gaps) for each in lengths),
        )  # fmt: skip

    def _group(self, pair: records.Pair) -> WaitGroup:
        return WaitGroup(
            self._of.pid, self._row_names[pair.address, pair.kind], pair.kind, pair.address,
            pair.cause, _system_call(pair), pair.waits, pair.wait_ns, pair.longest_ns,
            self._functions(pair.waiter), self._functions(pair.holder), self._place(pair.waiter),
            self._place(pair.holder or ((pair.holder_site,) if pair.holder_site else ())),
        )  # fmt: skip

    def _long_wait(self, wait: records.LongWait) -> LongWait:
        name = self._row_names.get((wait.address, wait.kind), f"{wait.kind} at {wait.address:#x}")
        return LongWait(
            self._of.pid, wait.begin_ns, wait.wait_ns, name, wait.kind, wait.address, wait.cause,
            _system_call(wait), wait.others_first, wait.tid, self._of.names.get(wait.tid, ""),
            wait.holder_tid, self._functions(wait.waiter), self._functions(wait.holder),
            self._place(wait.waiter), self._place(wait.holder),
        )  # fmt: skip

    def _functions(self, stack: tuple[int, ...]) -> list[str]:
        return [self._names.function(each) for each in stack]

    def _place(self, stack: tuple[int, ...]) -> str:
        return self._names.place(stack)


def _system_call(wait: records.Pair | records.LongWait) -> str:
    if wait.cause != BLOCKED:
        return ""
    return "a page fault" if wait.detail < 0 else name_of(wait.detail, _MACHINE)


def _buckets(counts: np.ndarray, ns_per_tick: float) -> Buckets:
    used = [(int(index), int(counts[index])) for index in np.flatnonzero(counts)]
    return Buckets("ns", SUB_BUCKET_BITS, ns_per_tick, used)


def _kept(parts: Iterable[tuple[int, np.ndarray, np.ndarray]]) -> Lengths:
    """Adds the samples of several threads up, so that each has the same chance to be kept."""
    random = np.random.default_rng(1)
    known = [part for part in parts if part[0]]
    total = sum(samples for samples, _, _ in known)
    kept, disturbed = list[int](), list[int]()
    # The part of the samples that every thread has kept.
    share = min((len(ns) / samples for samples, ns, _ in known), default=0.0)
    share = min(share, MOST_LENGTHS / total) if total else 0.0
    for samples, ns, is_disturbed in known:
        chosen = random.permutation(len(ns))[: max(1, round(samples * share))]
        for index in chosen:
            (disturbed if is_disturbed[index] else kept).append(round(float(ns[index])))
    return Lengths(total, kept, disturbed)
