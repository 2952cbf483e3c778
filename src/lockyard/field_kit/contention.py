# SPDX-License-Identifier: Apache-2.0
"""Records of a process, added up: a row for each lock that has a name of its own, or for each group
of locks that the same functions lock."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lockyard.field_kit.recorded import UNKNOWN, Names
from lockyard.field_kit.records import Records, bucket_ticks

if TYPE_CHECKING:
    from lockyard.field_kit.records import Lock, Pair

# Waits for an object that has an owner; other waits may be idleness.
OWNED = ("mutex", "rwlock for reading", "rwlock for writing", "spinlock", "once")
SHORT, NO_EVIDENCE = "short", "unknown"


@dataclass
class Waits:
    count: int = 0
    ns: float = 0.0
    longest_ns: float = 0.0

    def add(self, pair: Pair) -> None:
        self.count += pair.waits
        self.ns += pair.wait_ns
        self.longest_ns = max(self.longest_ns, pair.longest_ns)


@dataclass
class Row:
    """One lock, or several that the same functions lock."""

    name: str
    kind: str
    objects: int = 0
    acquisitions: int = 0
    waits: int = 0
    wait_ns: float = 0.0
    longest_ns: float = 0.0
    others_first: int = 0
    failed_tries: int = 0
    holds: int = 0
    hold_ns: float = 0.0
    longest_hold_ns: float = 0.0
    longest_hold_at: str = ""
    ns_per_tick: float = 1.0
    buckets: np.ndarray = field(default_factory=lambda: np.zeros(1, "<u8"))
    # By (waiter's place, holder's place) and by (cause, detail, holder's place).
    places: dict[tuple[str, str], Waits] = field(default_factory=lambda: defaultdict(Waits))
    causes: dict[tuple[str, int, str], Waits] = field(default_factory=lambda: defaultdict(Waits))
    pairs: list[Pair] = field(default_factory=list)

    def quantile_ns(self, share: float) -> float:
        return min(bucket_ticks(self.buckets, share) * self.ns_per_tick, self.longest_ns)

    @property
    def has_owner(self) -> bool:
        return self.kind in OWNED

    @property
    def cost_ns(self) -> float:
        """Ranks rows. A single long wait, as of a thread that is parked on a mutex, is not
        contention, so this is not the sum."""
        return min(self.wait_ns, self.waits * self.quantile_ns(0.9))

    @property
    def long_waits(self) -> Waits:
        """The waits that lasted long enough to be looked into."""
        found = Waits()
        for (cause, _, _), waits in self.causes.items():
            if cause != SHORT:
                found.count += waits.count
                found.ns += waits.ns
        return found

    def main_cause(self) -> tuple[str, int, str]:
        """Returns cause, detail and holder's place with the most waiting time."""
        by_cause = defaultdict[str, float](float)
        for (cause, _, _), waits in self.causes.items():
            by_cause[cause] += waits.ns
        if not by_cause:
            return NO_EVIDENCE, 0, UNKNOWN
        most = max(by_cause, key=lambda each: by_cause[each])
        of_it = {key: waits.ns for key, waits in self.causes.items() if key[0] == most}
        return max(of_it, key=lambda each: of_it[each])

    def share_of(self, cause: str) -> float:
        """Returns the part of the waiting time with this cause."""
        ns = sum(waits.ns for (each, _, _), waits in self.causes.items() if each == cause)
        return ns / self.wait_ns if self.wait_ns else 0.0


@dataclass
class Contention:
    """What one process waited for."""

    records: Records
    rows: list[Row]  # objects with an owner, the most costly first
    idle: list[Row]  # the others

    @property
    def wait_ns(self) -> float:
        return sum(row.wait_ns for row in self.rows)

    @property
    def is_empty(self) -> bool:
        return not self.rows and not self.idle and not self.records.events


def added_up(records: Records) -> Contention:
    names = Names(records)
    by_lock = defaultdict[tuple[int, str], list["Pair"]](list)
    for pair in records.pairs:
        by_lock[pair.address, pair.kind].append(pair)
    rows: dict[tuple[str, str], Row] = {}
    for key, lock in records.locks.items():
        pairs = by_lock[key]
        if not pairs and not lock.failed_tries:
            continue  # only held
        name = _name(names, lock, pairs)
        row = rows.setdefault((name, lock.kind), Row(name, lock.kind))
        row.ns_per_tick = records.ns_per_tick
        _add(row, lock, pairs, names)
    found = sorted(rows.values(), key=lambda each: -each.cost_ns)
    return Contention(
        records, [row for row in found if row.has_owner], [r for r in found if not r.has_owner]
    )


def _add(row: Row, lock: Lock, pairs: list[Pair], names: Names) -> None:
    row.objects += 1
    row.acquisitions += lock.acquisitions
    row.waits += lock.waits
    row.wait_ns += lock.wait_ns
    row.longest_ns = max(row.longest_ns, lock.longest_ns)
    row.others_first += lock.others_first
    row.failed_tries += lock.failed_tries
    row.holds += lock.holds
    row.hold_ns += lock.hold_ns
    if lock.longest_hold_ns > row.longest_hold_ns:
        row.longest_hold_ns = lock.longest_hold_ns
        row.longest_hold_at = names.place((lock.hold_site,))
    row.buckets = row.buckets + lock.buckets
    row.pairs += pairs
    for pair in pairs:
        waiter = names.place(pair.waiter)
        holder = names.place(pair.holder or ((pair.holder_site,) if pair.holder_site else ()))
        row.places[waiter, holder].add(pair)
        row.causes[pair.cause, pair.detail, holder].add(pair)


def _name(names: Names, lock: Lock, pairs: list[Pair]) -> str:
    """Returns the symbol, or "lock of F and G": the functions that wait for it and hold it most."""
    if symbol := names.variable(lock.address):
        return symbol
    weights = defaultdict[str, float](float)
    for pair in pairs:
        weights[names.place(pair.waiter)] += pair.wait_ns
        if pair.holder:
            weights[names.place(pair.holder)] += pair.wait_ns
    most = sorted(weights, key=lambda each: -weights[each])[:2]
    return f"lock of {' and '.join(most)}" if most else f"{lock.kind} at {lock.address:#x}"
