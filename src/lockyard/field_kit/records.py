# SPDX-License-Identifier: Apache-2.0
"""What a profiled process records, as recorded_file.py reads it: addresses without names."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

BUCKETS = 160
OBJECTS = (
    "mutex", "condition variable", "rwlock for reading", "rwlock for writing", "semaphore",
    "barrier", "spinlock", "once", "futex",
)  # fmt: skip
CAUSES = (
    "short", "unknown", "long section", "holder preempted", "holder blocked", "others first",
    "woken late", "event came",
)  # fmt: skip
EVENTS = (
    "", "deadlock", "self-deadlock", "lock order", "long hold", "unlocked by a stranger",
    "destroyed in use", "held at the end",
)  # fmt: skip


@dataclass
class Lock:
    """The waits and holds of one object, of all threads."""

    address: int
    kind: str
    acquisitions: int = 0
    waits: int = 0
    wait_ns: float = 0.0
    longest_ns: float = 0.0
    others_first: int = 0
    failed_tries: int = 0
    threads: int = 0
    wakes: int = 0
    holds: int = 0
    hold_ns: float = 0.0
    longest_hold_ns: float = 0.0
    hold_site: int = 0
    buckets: np.ndarray = field(default_factory=lambda: np.zeros(BUCKETS, "<u8"))


@dataclass(frozen=True)
class Pair:
    """The waits of threads that waited at one place behind threads at another, for one cause."""

    address: int
    kind: str
    cause: str
    detail: int
    waiter: tuple[int, ...]  # return addresses, innermost first
    holder: tuple[int, ...]  # () if it is unknown
    holder_site: int
    waits: int
    wait_ns: float
    longest_ns: float


@dataclass(frozen=True)
class LongWait:
    """One wait, with the times in nanoseconds since the start of the records."""

    begin_ns: float
    wait_ns: float
    address: int
    kind: str
    cause: str
    detail: int
    others_first: int
    waiter: tuple[int, ...]
    holder: tuple[int, ...]
    tid: int
    holder_tid: int  # 0 if it is unknown


@dataclass(frozen=True)
class Lengths:
    """Sampled holds and gaps of one thread with one mutex, and how many there were."""

    address: int
    holds: int
    gaps: int
    hold_ns: np.ndarray
    gap_ns: np.ndarray
    disturbed_holds: np.ndarray  # whether the thread lost its processor meanwhile
    disturbed_gaps: np.ndarray


@dataclass(frozen=True)
class Module:
    begin: int
    end: int
    shift: int
    path: str


@dataclass(frozen=True)
class Party:
    tid: int
    address: int
    stack: tuple[int, ...]
    held_at: int
    held_stack: tuple[int, ...]


@dataclass(frozen=True)
class Event:
    what: str
    took_ns: float
    parties: tuple[Party, ...]
    at: int  # its offset in the file, which tells events apart


@dataclass
class Records:
    pid: int
    program: str
    elapsed_ns: float
    threads: int
    lost: int
    ns_per_tick: float
    locks: dict[tuple[int, str], Lock] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    modules: list[Module] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    lengths: list[Lengths] = field(default_factory=list)
    long_waits: list[LongWait] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)  # the threads', by their ids
    started_ns: int = 0  # CLOCK_REALTIME
