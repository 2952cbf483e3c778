# SPDX-License-Identifier: Apache-2.0
"""The records that a profiled process writes: preload/profile/layout.hpp describes the file."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 1
SUFFIX = ".lockrec"
UNIT = 8  # offsets in the file are in units of so many bytes
OBJECTS = (
    "mutex", "condition variable", "rwlock for reading", "rwlock for writing", "semaphore",
    "barrier", "spinlock", "once", "futex",
)  # fmt: skip
CAUSES = (
    "short", "unknown", "long section", "holder preempted", "holder blocked", "others first",
    "woken late",
)  # fmt: skip
EVENTS = (
    "", "deadlock", "self-deadlock", "lock order", "long hold", "unlocked by a stranger",
    "destroyed in use",
)  # fmt: skip

_HEADER = struct.Struct("<8s4I9Q512s")
_BLOCK = struct.Struct("<II")
_THREAD = struct.Struct("<II16sQQQII")
_LOCK = struct.Struct("<QIIQQQQQQQQQ")
_PAIR = struct.Struct("<QIIIIiIQQQQ")
_MODULE = struct.Struct("<QQQ488s")
_EVENT = struct.Struct("<IIQQ")
_PARTY = struct.Struct("<IIQQII")
_BUCKETS = 160
_MAGIC = b"LKYDREC\0"


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
    holds: int = 0
    hold_ns: float = 0.0
    longest_hold_ns: float = 0.0
    hold_site: int = 0
    buckets: np.ndarray = field(default_factory=lambda: np.zeros(_BUCKETS, "<u8"))


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


def bucket_ticks(buckets: np.ndarray, share: float) -> float:
    """Returns a quantile: the middle of its bucket, four of which make a power of two."""
    total = int(buckets.sum())
    if total == 0:
        return 0.0
    index = int(np.searchsorted(np.cumsum(buckets), share * total))
    if index < 4:
        return float(index)
    width = 2.0 ** (index // 4 - 1)
    return (4 + index % 4 + 0.5) * width


def bytes_used(path: Path) -> int:
    """Returns how much the process has written so far, which tells whether there is news."""
    with path.open("rb") as file:
        header = file.read(_HEADER.size)
    return int(_HEADER.unpack(header)[10]) if len(header) == _HEADER.size else 0


def read(path: Path) -> Records:
    """Reads the file, which the process may be writing to."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: the records cannot be read ({error.strerror}); name a file that lockyard "
            "profile has written"
        ) from error
    if len(content) < _HEADER.size or not content.startswith(_MAGIC):
        raise UsageError(
            f"{path}: this holds no records of a profiled process; name a file that lockyard "
            "profile has written"
        )
    return _Reader(path, content).records()


class _Reader:
    def __init__(self, path: Path, content: bytes) -> None:
        self._content = content
        header = _HEADER.unpack_from(content)
        (_, version, self._pid, _, _, start, start_ns, latest, latest_ns, _, used, reserved,
         lost, threads, program) = header  # fmt: skip
        if version != VERSION:
            raise UsageError(
                f"{path}: these records have layout {version}, and this version of lockyard reads "
                f"layout {VERSION}; profile the program again"
            )
        ticks, spent_ns = latest - start, latest_ns - start_ns
        self._ns = spent_ns / ticks if ticks > 0 and spent_ns > 0 else 1.0
        self._end = min(used, reserved, len(content))
        self._found = Records(self._pid, _text(program), spent_ns, threads, lost, self._ns)

    def records(self) -> Records:
        at = 4096
        while at + _BLOCK.size <= self._end:
            kind, size = _BLOCK.unpack_from(self._content, at)
            if size == 0:
                break
            read_block = (None, None, self._lock, self._pair, None, self._module, self._event)
            if kind < len(read_block) and (reader := read_block[kind]) is not None:
                reader(at + _BLOCK.size)
            at += size
        return self._found

    def _lock(self, at: int) -> None:
        (address, kind, acquisitions, waits, wait, longest, others, tries, holds, hold,
         longest_hold, site) = _LOCK.unpack_from(self._content, at)  # fmt: skip
        key = (address, OBJECTS[kind])
        lock = self._found.locks.setdefault(key, Lock(*key))
        lock.acquisitions = max(lock.acquisitions, acquisitions)
        lock.waits += waits
        lock.wait_ns += wait * self._ns
        lock.longest_ns = max(lock.longest_ns, longest * self._ns)
        lock.others_first += others
        lock.failed_tries += tries
        lock.holds += holds
        lock.hold_ns += hold * self._ns
        if longest_hold * self._ns > lock.longest_hold_ns:
            lock.longest_hold_ns, lock.hold_site = longest_hold * self._ns, site
        lock.buckets = lock.buckets + np.frombuffer(
            self._content, "<u4", _BUCKETS, at + _LOCK.size
        ).astype("<u8")

    def _pair(self, at: int) -> None:
        (address, kind, cause, waiter, holder, detail, _, waits, wait, longest,
         site) = _PAIR.unpack_from(self._content, at)  # fmt: skip
        self._found.pairs.append(
            Pair(
                address, OBJECTS[kind], CAUSES[cause], detail, self._stack(waiter),
                self._stack(holder), site, waits, wait * self._ns, longest * self._ns,
            )
        )  # fmt: skip

    def _stack(self, unit: int) -> tuple[int, ...]:
        at = unit * UNIT
        if unit == 0 or at + 16 > len(self._content):
            return ()
        (count,) = struct.unpack_from("<I", self._content, at + 12)
        return struct.unpack_from(f"<{min(count, 12)}Q", self._content, at + 16)

    def _module(self, at: int) -> None:
        begin, end, shift, path = _MODULE.unpack_from(self._content, at)
        self._found.modules.append(Module(begin, end, shift, _text(path)))

    def _event(self, at: int) -> None:
        what, count, ticks, begin = _EVENT.unpack_from(self._content, at)
        parties = []
        for index in range(min(count, 8)):
            tid, stack, address, held_at, held_stack, _ = _PARTY.unpack_from(
                self._content, at + _EVENT.size + index * _PARTY.size
            )
            parties.append(
                Party(tid, address, self._stack(stack), held_at, self._stack(held_stack))
            )
        took_ns = (ticks - begin) * self._ns if begin else 0.0
        self._found.events.append(Event(EVENTS[what], took_ns, tuple(parties), at))


def _text(field_: bytes) -> str:
    return field_.partition(b"\0")[0].decode(errors="replace")
