# SPDX-License-Identifier: Apache-2.0
"""Traces in Chrome's JSON format, which Perfetto and chrome://tracing open.

Each thread is a track whose slices are its waits, holds, releases, calls that wake others, and the
times in which it does not run. Each lock and each processor is a track of its own. A wake-up is an
arrow from the thread that sends it to the thread that it wakes (docs/explain.md).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lockyard.explain.interrupts import NAMED, InterruptKind
from lockyard.explain.locks import histories
from lockyard.explain.stretches import NEVER, ON_PROCESSOR, Doing, brackets
from lockyard.explain.threads import threads_of
from lockyard.explain.trace import Kind, RingKind, read_trace
from lockyard.explain.wakes import sent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lockyard.explain.locks import LockHistory
    from lockyard.explain.source import Source
    from lockyard.explain.threads import Thread
    from lockyard.explain.trace import Trace

Event = dict[str, Any]

AWAY = {
    Doing.PREEMPTED: "preempted",
    Doing.YIELDED: "yielded its processor",
    Doing.ASLEEP: "asleep in the lock",
    Doing.BLOCKED: "blocked outside the lock",
    Doing.WOKEN: "woken, waits for a processor",
    Doing.MOVING: "moves to another processor",
}
# The numbers of the processes in the file lie beyond the numbers that Linux gives.
FIRST_PROCESS = 1 << 23
PROCESSES_OF_TRACE = 3  # its threads, its locks, its processors


class Span(NamedTuple):
    begin: int
    end: int
    name: str
    category: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class _Clock:
    """Converts ticks of one trace to microseconds since the first trace began."""

    trace: Trace
    offset_us: float

    def us(self, ticks: float) -> float:
        return round(self.offset_us + self.trace.ns(ticks) / 1e3, 3)


def lines(sources: Sequence[Source]) -> Iterator[str]:
    """Yields the lines of the file. Runs of one file stand one after the other in time."""
    yield '{"displayTimeUnit": "ns", "traceEvents": ['
    separator = ""
    first_us: float | None = None
    for number, source in enumerate(sources):
        trace = read_trace(source.path)
        began_us = trace.ns(trace.start) / 1e3
        first_us = began_us if first_us is None else min(first_us, began_us)
        clock = _Clock(trace, began_us - first_us)
        title = source.cell or trace.title or source.path.name
        for event in _Events(clock, title, FIRST_PROCESS + PROCESSES_OF_TRACE * number).all():
            yield f"{separator}{json.dumps(event)}"
            separator = ","
    yield "]}"


class _Events:
    def __init__(self, clock: _Clock, title: str, process: int) -> None:
        self._clock, self._title, self._process = clock, title, process
        self._trace = clock.trace
        self._threads = threads_of(self._trace)
        self._histories = histories(self._trace, self._threads)

    def all(self) -> Iterator[Event]:
        threads, locks, processors = (self._process + each for each in range(PROCESSES_OF_TRACE))
        yield _named("process_name", threads, 0, f"{self._title}: threads")
        yield _named("process_name", locks, 0, f"{self._title}: locks")
        for index, thread in enumerate(self._threads):
            yield _named("thread_name", threads, thread.tid, thread.label)
            yield from self._slices(threads, thread.tid, self._of_thread(index, thread))
        for number, history in enumerate(self._histories):
            yield _named("thread_name", locks, number, history.name)
            yield from self._slices(locks, number, self._owners(history))
        yield from self._of_processors(processors)
        yield from self._wake_ups(threads)

    def _of_thread(self, index: int, thread: Thread) -> Iterator[Span]:
        for history in self._histories:
            waits, holds, name = history.waits, history.holds, history.name
            for at in np.flatnonzero(waits.who == index).tolist():
                yield Span(
                    int(waits.called[at]), int(waits.end[at]), f"waits for {name}", "wait", {}
                )
            for at in np.flatnonzero(holds.who == index).tolist():
                releasing = int(holds.releasing[at])
                yield Span(int(holds.acquired[at]), releasing, f"holds {name}", "hold", {})
                if releasing != NEVER:
                    released = int(holds.released[at])
                    yield Span(releasing, released, f"releases {name}", "release", {})
        for begin, end in brackets(thread.stamps, Kind.WAKE_BEGIN, Kind.WAKE_END).tolist():
            yield Span(begin, end, "wakes others", "wake", {})
        stretches = thread.stretches
        ends = np.append(stretches.begins[1:], NEVER)
        for begin, end, doing in zip(
            stretches.begins.tolist(), ends.tolist(), stretches.doing.tolist(), strict=True
        ):
            if Doing(doing) in AWAY:
                yield Span(begin, end, AWAY[Doing(doing)], "away", {})

    def _owners(self, history: LockHistory) -> Iterator[Span]:
        holds = history.holds
        nexts = np.append(holds.acquired[1:], NEVER)
        for who, acquired, released, following in zip(
            holds.who.tolist(),
            holds.acquired.tolist(),
            holds.released.tolist(),
            nexts.tolist(),
            strict=True,
        ):
            # The next owner may acquire before the last one has returned from its release.
            end = min(released, following)
            yield Span(acquired, end, self._threads[who].label, "owner", {})

    def _of_processors(self, process: int) -> Iterator[Event]:
        ran: dict[int, list[Span]] = {}
        for thread in self._threads:
            stretches = thread.stretches
            ends = np.append(stretches.begins[1:], NEVER)
            on = np.isin(stretches.doing, ON_PROCESSOR) & (stretches.cpu >= 0)
            for at in np.flatnonzero(on).tolist():
                span = Span(int(stretches.begins[at]), int(ends[at]), thread.label, "runs", {})
                ran.setdefault(int(stretches.cpu[at]), []).append(span)
        for ring in self._trace.of_kind(RingKind.GAPS):
            for event in ring.events:
                begin = int(event["ticks"])
                is_gap = event["kind"] == Kind.GAP
                name = "has stopped" if is_gap else NAMED[InterruptKind(int(event["lock"]))]
                span = Span(begin, begin + int(event["argument"]), name, "gap", {})
                ran.setdefault(ring.cpu, []).append(span)
        if ran:
            yield _named("process_name", process, 0, f"{self._title}: processors")
        for cpu, spans in sorted(ran.items()):
            yield _named("thread_name", process, cpu, f"cpu {cpu}")
            yield from self._slices(process, cpu, spans)

    def _slices(self, process: int, track: int, spans: Iterable[Span]) -> Iterator[Event]:
        """Yields complete events that nest. A span that overlaps the end of an earlier one, as
        holds of two locks do that are released in the order of their acquisition, is an event of
        its own row."""
        ends: list[int] = []
        for span in sorted(map(self._within, spans), key=lambda each: (each.begin, -each.end)):
            if span.end < span.begin or span.begin < self._trace.begin:
                continue
            while ends and ends[-1] <= span.begin:
                ends.pop()
            begin_us, end_us = self._clock.us(span.begin), self._clock.us(span.end)
            shared = {"name": span.name, "cat": span.category, "pid": process, "tid": track}
            if ends and span.end > ends[-1]:
                unique = f"{process}.{track}.{span.begin}"
                yield {**shared, "ph": "b", "id": unique, "ts": begin_us, "args": span.arguments}
                yield {**shared, "ph": "e", "id": unique, "ts": end_us}
                continue
            ends.append(span.end)
            length_us = round(end_us - begin_us, 3)
            yield {**shared, "ph": "X", "ts": begin_us, "dur": length_us, "args": span.arguments}

    def _within(self, span: Span) -> Span:
        """Cuts what had not ended when the trace ended, and what began before it."""
        begin = max(span.begin, self._trace.begin)
        if span.begin != begin and span.category != "away":
            begin = span.begin  # dropped: its beginning was overwritten
        return span._replace(begin=begin, end=min(span.end, self._trace.end))

    def _wake_ups(self, process: int) -> Iterator[Event]:
        """Yields an arrow from each call that wakes others to each thread that it woke."""
        senders = {
            int(moment): thread.tid
            for thread in self._threads
            for moment in thread.stamps["ticks"][thread.stamps["kind"] == Kind.WAKE_BEGIN]
        }
        number = 0
        for history in self._histories:
            for who, by_out in sent(self._trace, history, self._threads).items():
                stretches = self._threads[who].stretches
                for out, moment in by_out.items():
                    back = self._back(stretches.begins, stretches.doing, out)
                    sender = senders.get(moment)
                    if sender is None or back is None or moment < self._trace.begin:
                        continue
                    number += 1
                    shared = {"name": "wakes", "cat": "wake", "id": f"{process}.{number}"}
                    start = {"ph": "s", "pid": process, "tid": sender, "ts": self._clock.us(moment)}
                    end = {
                        "ph": "f",
                        "bp": "e",
                        "pid": process,
                        "tid": self._threads[who].tid,
                        "ts": self._clock.us(back),
                    }
                    yield {**shared, **start}
                    yield {**shared, **end}

    def _back(self, begins: Any, doing: Any, out: int) -> int | None:
        """Returns when a thread that left its processor then was back on one, or None."""
        at = int(np.searchsorted(begins, out, side="left"))
        while at < len(begins) and Doing(int(doing[at])) in AWAY:
            at += 1
        return int(begins[at]) if at < len(begins) and begins[at] <= self._trace.end else None


def _named(what: str, process: int, track: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": process, "tid": track, "args": {"name": name}}
