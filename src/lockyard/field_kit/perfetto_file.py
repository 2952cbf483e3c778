# SPDX-License-Identifier: Apache-2.0
"""A profile as a trace for Perfetto: the long waits of each thread in time, and for each lock how
many threads waited in them."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockyard.field_kit.contention import Contention, LongWait

_SEQUENCE = 1
_SHOWN = ("cause", "system_call", "holder_place", "holder_thread", "others_first", "kind")


def content(processes: Iterable[Contention]) -> bytes:
    from perfetto.trace_builder.proto_builder import TraceProtoBuilder

    builder = TraceProtoBuilder()
    numbers = count(1)
    for found in processes:
        _Tracks(builder, found, numbers).add_all()
    return bytes(builder.serialize())


class _Tracks:
    def __init__(self, builder: Any, found: Contention, numbers: count[int]) -> None:
        self._builder, self._found, self._numbers = builder, found, numbers
        self._threads: dict[int, int] = {}
        self._locks: dict[str, int] = {}

    def add_all(self) -> None:
        self._process = self._track()
        self._process.process.pid = self._found.process.pid
        self._process.process.process_name = os.path.basename(  # noqa: PTH119 - of the program
            self._found.process.program
        )
        for wait in self._found.long_waits:
            self._add_slice(wait)
        self._add_counters()

    def _track(self) -> Any:
        descriptor = self._builder.add_packet().track_descriptor
        descriptor.uuid = next(self._numbers)
        return descriptor

    def _thread(self, wait: LongWait) -> int:
        if wait.thread not in self._threads:
            track = self._track()
            track.thread.pid, track.thread.tid = wait.pid, wait.thread
            track.thread.thread_name = wait.thread_name
            self._threads[wait.thread] = track.uuid
        return self._threads[wait.thread]

    def _lock(self, name: str) -> int:
        if name not in self._locks:
            track = self._track()
            track.name, track.parent_uuid = f"waiters of {name}", self._process.uuid
            track.counter.SetInParent()
            self._locks[name] = track.uuid
        return self._locks[name]

    def _event(self, at_ns: float, track: int, kind: str) -> Any:
        packet = self._builder.add_packet()
        packet.timestamp = self._found.process.started_realtime_ns + round(at_ns)
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.track_event.track_uuid = track
        packet.track_event.type = getattr(packet.track_event, kind)
        return packet.track_event

    def _add_slice(self, wait: LongWait) -> None:
        track = self._thread(wait)
        event = self._event(wait.begin_ns, track, "TYPE_SLICE_BEGIN")
        event.name = f"waits for {wait.lock}"
        event.categories.append("lock")
        for key in _SHOWN:
            if value := getattr(wait, key):
                self._annotate(event, key, value)
        for key in ("waiter", "holder"):
            if stack := getattr(wait, key):
                self._annotate(event, key, " < ".join(stack))
        self._event(wait.begin_ns + wait.wait_ns, track, "TYPE_SLICE_END")

    def _annotate(self, event: Any, key: str, value: str | int) -> None:
        annotation = event.debug_annotations.add()
        annotation.name = key
        if isinstance(value, int):
            annotation.int_value = value
        else:
            annotation.string_value = value

    def _add_counters(self) -> None:
        changes = [
            (at_ns, wait.lock, change)
            for wait in self._found.long_waits
            for at_ns, change in ((wait.begin_ns, 1), (wait.begin_ns + wait.wait_ns, -1))
        ]
        waiters = dict.fromkeys((wait.lock for wait in self._found.long_waits), 0)
        for at_ns, lock, change in sorted(changes):
            waiters[lock] += change
            self._event(at_ns, self._lock(lock), "TYPE_COUNTER").counter_value = waiters[lock]
