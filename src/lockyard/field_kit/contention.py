# SPDX-License-Identifier: Apache-2.0
"""A profile: what the threads of a program waited for. These are the records of a profile's file,
each a line of JSON; docs/profile_format.md explains them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lockyard.field_kit.recorded import UNKNOWN
from lockyard.records.histogram import middle_of_bucket

SCHEMA = 1
# Waits for an object that has an owner; other waits may be idleness.
OWNED = ("mutex", "rwlock for reading", "rwlock for writing", "spinlock", "once")
SHORT, NO_EVIDENCE = "short", "unknown"


class Process(msgspec.Struct, frozen=True, tag_field="record", tag="profile"):
    """A process that was profiled; its other records follow."""

    pid: int
    program: str
    started_realtime_ns: int
    elapsed_ns: float
    threads: int  # that used contended locks
    lost: int  # events that found no room
    processors: int
    load: float  # the machine's, at the end
    schema: int = SCHEMA


class Buckets(msgspec.Struct, frozen=True):
    """A histogram as all of lockyard's records have it."""

    unit: str
    sub_bucket_bits: int
    scale: float
    counts: list[tuple[int, int]]

    def quantile(self, share: float) -> float:
        wanted, seen = share * sum(count for _, count in self.counts), 0
        for index, count in self.counts:
            seen += count
            if seen >= wanted:
                return middle_of_bucket(index, self.sub_bucket_bits) * self.scale
        return 0.0


class Lengths(msgspec.Struct, frozen=True):
    """Sampled lengths in nanoseconds; in the disturbed ones the thread lost its processor."""

    samples: int  # how many there were; a random part of them was kept
    kept_ns: list[int]
    disturbed_ns: list[int]


class Row(msgspec.Struct, tag_field="record", tag="profile-lock"):
    """One lock, or several that the same functions lock."""

    pid: int
    lock: str
    kind: str
    objects: int
    threads: int  # that used it
    acquisitions: int
    waits: int
    wait_ns: float
    p50_ns: float
    p90_ns: float
    p99_ns: float
    longest_ns: float
    others_first: int  # acquisitions by other threads during the waits
    failed_tries: int
    wakes: int  # releases while threads waited
    sampled_holds: int
    sampled_hold_ns: float
    longest_hold_ns: float
    longest_hold_at: str
    wait: Buckets
    holds: Lengths
    gaps: Lengths
    schema: int = SCHEMA

    @property
    def has_owner(self) -> bool:
        return self.kind in OWNED

    @property
    def cost_ns(self) -> float:
        """Ranks rows. A single long wait, as of a thread that is parked on a mutex, is not
        contention, so this is not the sum."""
        return min(self.wait_ns, self.waits * self.p90_ns)

    @property
    def futex_calls_per_acquisition(self) -> float:
        """Each wait is a futex call, and so is each release while threads wait."""
        return (self.waits + self.wakes) / self.acquisitions if self.acquisitions else 0.0


class WaitGroup(msgspec.Struct, frozen=True, tag_field="record", tag="profile-wait"):
    """The waits of threads that waited at one place behind threads at another, for one cause."""

    pid: int
    lock: str
    kind: str
    address: int
    cause: str
    system_call: str  # in which the holder was blocked, or ""
    waits: int
    wait_ns: float
    longest_ns: float
    waiter: list[str]  # functions, innermost first
    holder: list[str]  # [] if it is unknown
    waiter_place: str  # the innermost function that does more than to lock
    holder_place: str
    schema: int = SCHEMA


class LongWait(msgspec.Struct, frozen=True, tag_field="record", tag="profile-long-wait"):
    """One wait of at least 100 µs; of each thread, the latest ones are kept."""

    pid: int
    begin_ns: float  # since the start of the process
    wait_ns: float
    lock: str
    kind: str
    address: int
    cause: str
    system_call: str
    others_first: int
    thread: int
    thread_name: str
    holder_thread: int  # at the beginning of the wait; 0 if it is unknown
    waiter: list[str]
    holder: list[str]
    waiter_place: str
    holder_place: str
    schema: int = SCHEMA


Record = Process | Row | WaitGroup | LongWait


@dataclass
class Waits:
    count: int = 0
    ns: float = 0.0

    def add(self, group: WaitGroup) -> None:
        self.count += group.waits
        self.ns += group.wait_ns


@dataclass
class Contention:
    """What one process waited for."""

    process: Process
    rows: list[Row] = field(default_factory=list)  # objects with an owner, the most costly first
    idle: list[Row] = field(default_factory=list)  # the others
    groups: dict[tuple[str, str], list[WaitGroup]] = field(
        default_factory=lambda: defaultdict(list)
    )  # by lock and kind
    long_waits: list[LongWait] = field(default_factory=list)

    def add(self, record: Row | WaitGroup | LongWait) -> None:
        if isinstance(record, Row):
            (self.rows if record.has_owner else self.idle).append(record)
        elif isinstance(record, WaitGroup):
            self.groups[record.lock, record.kind].append(record)
        else:
            self.long_waits.append(record)

    @property
    def wait_ns(self) -> float:
        return sum(row.wait_ns for row in self.rows)

    @property
    def is_empty(self) -> bool:
        return not self.rows and not self.idle

    def places(self, row: Row) -> dict[tuple[str, str], Waits]:
        """Returns the waits by the places of waiter and holder, the longest first."""
        return self._by(row, lambda each: (each.waiter_place, each.holder_place))

    def causes(self, row: Row) -> dict[tuple[str, str, str], Waits]:
        """Returns the waits by cause, system call and the holder's place, the longest first."""
        return self._by(row, lambda each: (each.cause, each.system_call, each.holder_place))

    def main_cause(self, row: Row) -> tuple[str, str, str]:
        """Returns cause, system call and holder's place with the most waiting time."""
        by_cause = self._by(row, lambda each: each.cause)
        if not by_cause:
            return NO_EVIDENCE, "", UNKNOWN
        most = next(iter(by_cause))
        return next(key for key in self.causes(row) if key[0] == most)

    def share_of(self, row: Row, cause: str) -> float:
        """Returns the part of the waiting time with this cause."""
        ns = sum(each.wait_ns for each in self.groups[row.lock, row.kind] if each.cause == cause)
        return ns / row.wait_ns if row.wait_ns else 0.0

    def _by(self, row: Row, key: Any) -> dict[Any, Waits]:
        found = defaultdict[Any, Waits](Waits)
        for group in self.groups[row.lock, row.kind]:
            found[key(group)].add(group)
        return dict(sorted(found.items(), key=lambda each: -each[1].ns))
