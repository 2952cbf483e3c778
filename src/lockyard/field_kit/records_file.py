# SPDX-License-Identifier: Apache-2.0
"""Reads the file that a profiled process writes: preload/profile/layout.hpp describes it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from lockyard.errors import UsageError
from lockyard.field_kit.records import (
    BUCKETS,
    CAUSES,
    EVENTS,
    OBJECTS,
    Event,
    Lengths,
    Lock,
    LongWait,
    Module,
    Pair,
    Party,
    Records,
)  # fmt: skip

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 3
SUFFIX = ".lockrec"
UNIT = 8  # offsets in the file are in units of so many bytes

_HEADER = struct.Struct("<8s4I9Q512s")
_BLOCK = struct.Struct("<II")
_THREAD = struct.Struct("<II16sQQQ4I")
_LOCK = struct.Struct("<QIIQQQQQQQQQQ")
_PAIR = struct.Struct("<QIIIIiIQQQQ")
_MODULE = struct.Struct("<QQQ488s")
_EVENT = struct.Struct("<IIQQ")
_PARTY = struct.Struct("<IIQQII")
_LENGTHS = struct.Struct("<QQQ")
_WAITS = struct.Struct("<II")
_LONG_WAIT = struct.Struct("<QQQIIiIIIII")
_KEPT_LENGTHS, _KEPT_WAITS = 128, 256
_DISTURBED = np.uint32(1 << 31)
_MAGIC = b"LKYDREC\0"


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
        (_, version, self._pid, _, _, start, start_ns, latest, latest_ns, started, used, reserved,
         lost, threads, program) = header  # fmt: skip
        if version != VERSION:
            raise UsageError(
                f"{path}: these records have layout {version}, and this version of lockyard reads "
                f"layout {VERSION}; profile the program again"
            )
        ticks, spent_ns = latest - start, latest_ns - start_ns
        self._ns = spent_ns / ticks if ticks > 0 and spent_ns > 0 else 1.0
        self._start = start
        self._end = min(used, reserved, len(content))
        self._found = Records(self._pid, _text(program), spent_ns, threads, lost, self._ns)
        self._found.started_ns = started

    def records(self) -> Records:
        at = 4096
        while at + _BLOCK.size <= self._end:
            kind, size = _BLOCK.unpack_from(self._content, at)
            if size == 0:
                break
            read_block = (
                None, self._thread, self._lock, self._pair, None, self._module, self._event,
                self._lengths, self._waits,
            )  # fmt: skip
            if kind < len(read_block) and (reader := read_block[kind]) is not None:
                reader(at + _BLOCK.size)
            at += size
        return self._found

    def _thread(self, at: int) -> None:
        name, tid = (_THREAD.unpack_from(self._content, at)[index] for index in (2, 9))
        self._found.names[tid] = _text(name)

    def _lock(self, at: int) -> None:
        (address, kind, acquisitions, waits, wait, longest, others, tries, wakes, holds, hold,
         longest_hold, site) = _LOCK.unpack_from(self._content, at)  # fmt: skip
        key = (address, OBJECTS[kind])
        lock = self._found.locks.setdefault(key, Lock(*key))
        lock.acquisitions = max(lock.acquisitions, acquisitions)
        lock.waits += waits
        lock.wait_ns += wait * self._ns
        lock.longest_ns = max(lock.longest_ns, longest * self._ns)
        lock.others_first += others
        lock.failed_tries += tries
        lock.threads += 1
        lock.wakes += wakes
        lock.holds += holds
        lock.hold_ns += hold * self._ns
        if longest_hold * self._ns > lock.longest_hold_ns:
            lock.longest_hold_ns, lock.hold_site = longest_hold * self._ns, site
        lock.buckets = lock.buckets + np.frombuffer(
            self._content, "<u4", BUCKETS, at + _LOCK.size
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

    def _lengths(self, at: int) -> None:
        address, holds, gaps = _LENGTHS.unpack_from(self._content, at)
        kept = np.frombuffer(self._content, "<u4", 2 * _KEPT_LENGTHS, at + _LENGTHS.size)
        both = [
            kept[begin : begin + min(count, _KEPT_LENGTHS)]
            for begin, count in ((0, holds), (_KEPT_LENGTHS, gaps))
        ]
        ns = [(each & ~_DISTURBED) * self._ns for each in both]
        disturbed = [(each & _DISTURBED) != 0 for each in both]
        self._found.lengths.append(Lengths(address, holds, gaps, *ns, *disturbed))

    def _waits(self, at: int) -> None:
        count, _ = _WAITS.unpack_from(self._content, at)
        for index in range(min(count, _KEPT_WAITS)):
            (begin, end, address, kind, cause, detail, others, waiter, holder, tid,
             holder_tid) = _LONG_WAIT.unpack_from(
                self._content, at + _WAITS.size + index * _LONG_WAIT.size
            )  # fmt: skip
            if end == 0:
                continue  # being written
            self._found.long_waits.append(
                LongWait(
                    (begin - self._start) * self._ns, (end - begin) * self._ns, address,
                    OBJECTS[kind], CAUSES[cause], detail, others, self._stack(waiter),
                    self._stack(holder), tid, holder_tid,
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
