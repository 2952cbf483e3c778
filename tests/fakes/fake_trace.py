# SPDX-License-Identifier: Apache-2.0
"""Traces of what never was: events written by hand, in the format of the real ones."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockyard.explain.trace import (
    EVENT,
    HEADER_BYTES,
    MAGIC,
    NAMES_AT,
    NO_CPU,
    VERSION,
    Kind,
    RingKind,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOCK = 0x7000
START = 1_000_000
NS_PER_TICK = 0.5
US = 2000  # ticks
MS = 1000 * US

Row = tuple[int, int, int, int, int]  # ticks, lock, kind, cpu, argument


@dataclass
class FakeTrace:
    """Moments are ticks from the start."""

    ring_events: int = 64
    has_switches: bool = True
    has_wakeups: bool = True
    ends: int = 100 * MS
    ring_count: int = 16
    version: int = VERSION
    magic: bytes = MAGIC
    pid: int = 2**22 + 1  # no process has it
    threads_without_ring: int = 0
    names: dict[int, str] = field(default_factory=lambda: {LOCK: "test_lock"})
    lost: dict[tuple[RingKind, int], int] = field(default_factory=dict)
    rows: dict[tuple[RingKind, int], list[Row]] = field(default_factory=dict)
    is_own: bool = False  # a program's own: switches stand between stamps
    threads_without_switches: int = 0

    def stamps(self, tid: int, *stamps: tuple[float, Kind], lock: int = LOCK) -> FakeTrace:
        """Adds stamps at moments in microseconds. Stamps of system calls name no lock."""
        for at, kind in stamps:
            named = lock if kind <= Kind.RELEASED else 0
            count = int(kind == Kind.WAKE_BEGIN)
            self._add(RingKind.STAMPS, tid, (round(at * US), named, kind, NO_CPU, count))
        self.rows[RingKind.STAMPS, tid].sort(key=lambda row: row[0])
        self.rows.setdefault((RingKind.SWITCHES, tid), [])
        return self

    def out(self, tid: int, at: float, *, preempted: bool, cpu: int = 0) -> FakeTrace:
        return self._record(tid, at, Kind.SWITCH_OUT, cpu, int(preempted))

    def back(self, tid: int, at: float, cpu: int = 0) -> FakeTrace:
        return self._record(tid, at, Kind.SWITCH_IN, cpu)

    def woken(self, tid: int, at: float, by: int) -> FakeTrace:
        return self._record(tid, at, Kind.WOKEN, 0, by)

    def moved(self, tid: int, at: float, came_from: int = 0) -> FakeTrace:
        return self._record(tid, at, Kind.MIGRATED, 1, came_from)

    def gap(self, cpu: int, at: float, length: float) -> FakeTrace:
        row = (round(at * US), 0, int(Kind.GAP), cpu, round(length * US))
        return self._add(RingKind.GAPS, cpu, row)

    def interrupt(self, cpu: int, at: float, length: float, kind: int) -> FakeTrace:
        row = (round(at * US), kind, int(Kind.INTERRUPT), cpu, round(length * US))
        return self._add(RingKind.GAPS, cpu, row)

    def idle(self, cpu: int, at: float, length: float) -> FakeTrace:
        row = (round(at * US), 0, int(Kind.IDLE), cpu, round(length * US))
        return self._add(RingKind.IDLE, cpu, row)

    def without(self, kind: Kind, tid: int | None = None) -> FakeTrace:
        """Evidence is destroyed."""
        for (_, whose), rows in self.rows.items():
            if tid in (None, whose):
                rows[:] = [row for row in rows if row[2] != kind]
        return self

    def changed(self, kind: Kind, change: Callable[[Row], Row], tid: int) -> FakeTrace:
        for (_, whose), rows in self.rows.items():
            if tid == whose:
                rows[:] = [change(row) if row[2] == kind else row for row in rows]
        return self

    def own(self, last_stamp: float) -> FakeTrace:
        """Adds switches as a program writes them: records between the stamps of their thread; those
        from that moment on, in microseconds, were added at the end, for all threads."""
        self.is_own = True
        for tid in [tid for kind, tid in self.rows if kind is RingKind.SWITCHES and tid]:
            for row in self.rows.pop((RingKind.SWITCHES, tid)):
                if row[0] < last_stamp * US:
                    self._add(RingKind.STAMPS, tid, row)
                else:
                    self._add(RingKind.SWITCHES, 0, (row[0], tid, *row[2:]))
            self.rows[RingKind.STAMPS, tid].sort(key=lambda row: row[0])
        return self

    def write(self, path: Path) -> Path:
        header = bytearray(HEADER_BYTES)
        sizes = (self.version, HEADER_BYTES, EVENT.itemsize, self.ring_events, self.ring_count)
        struct.pack_into("<8s6I", header, 0, self.magic, *sizes, self.pid)
        struct.pack_into("<dQQII", header, 32, NS_PER_TICK, START, 0, *self._allowed())
        struct.pack_into(
            "<256s256s256s", header, 64, b"no rights: be root", b"no perf", b"invented"
        )
        ends = START + self.ends if self.ends else 0
        struct.pack_into("<QQ", header, 832, ends, self.threads_without_ring)
        struct.pack_into("<I", header, 860, self.threads_without_switches)
        listed = b"\0".join(name.encode() for name in self.names.values())
        header[NAMES_AT : NAMES_AT + len(listed)] = listed
        rings = [self._ring(kind, of, rows) for (kind, of), rows in self.rows.items()]
        rings.append(self._name_ring())
        empty = bytes(64 + self.ring_events * EVENT.itemsize)
        rings += [empty] * (self.ring_count - len(rings))
        path.write_bytes(bytes(header) + b"".join(rings))
        return path

    def _allowed(self) -> tuple[int, int]:
        return int(self.has_switches), int(self.has_wakeups)

    def _record(self, tid: int, at: float, kind: Kind, cpu: int, argument: int = 0) -> FakeTrace:
        return self._add(RingKind.SWITCHES, tid, (round(at * US), 0, int(kind), cpu, argument))

    def _add(self, kind: RingKind, of: int, row: Row) -> FakeTrace:
        self.rows.setdefault((kind, of), []).append(row)
        return self

    def _ring(self, kind: RingKind, of: int, rows: list[Row]) -> bytes:
        room = [bytes(EVENT.itemsize)] * self.ring_events
        for number, (ticks, *others) in enumerate(rows):
            room[number % self.ring_events] = struct.pack("<qQIIq", START + ticks, *others)
        lost = self.lost.get((kind, of), 0)
        tid, cpu = (0, of) if kind in (RingKind.GAPS, RingKind.IDLE) else (of, NO_CPU)
        records = 1 if self.is_own and kind is RingKind.STAMPS else 0
        counts = (kind, tid, len(rows), cpu, 0, lost, b"worker", 0, records)
        head = struct.pack("<IIQIIQ16sQQ", *counts)
        return head.ljust(64, b"\0") + b"".join(room)

    def _name_ring(self) -> bytes:
        rows = [
            struct.pack("<qQIIq", START, lock, Kind.NAMED, NO_CPU, index)
            for index, lock in enumerate(self.names)
        ]
        head = struct.pack("<IIQIIQ", RingKind.NAMES, 0, len(rows), NO_CPU, 0, 0)
        events = b"".join(rows).ljust(self.ring_events * EVENT.itemsize, b"\0")
        return head.ljust(64, b"\0") + events
