# SPDX-License-Identifier: Apache-2.0
"""The stalls of a trace: waits of one thread, and times in which a lock was free but wanted."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.causes import WHOLE, Cause, of_wait
from lockyard.explain.idle_processors import IdleProcessors
from lockyard.explain.interrupts import Interrupts
from lockyard.explain.locks import histories
from lockyard.explain.moments import NOBODY, Candidates, Moments
from lockyard.explain.pieces import Gaps, Pieces
from lockyard.explain.stretches import NEVER
from lockyard.explain.threads import threads_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from lockyard.explain.locks import LockHistory
    from lockyard.explain.threads import Thread
    from lockyard.explain.trace import Trace


PIECES_AT_ONCE = 1 << 19  # a piece takes some hundred bytes


class StallKind(StrEnum):
    WAIT = "wait"  # one thread's, from its call until it acquires or gives up
    IDLE = "idle"  # the lock's, from the beginning of a release to the next acquisition


@dataclass(frozen=True)
class Stall:
    kind: StallKind
    subject: int  # the thread that waits; for a free lock, the thread that acquires next
    called: int
    begin: int
    end: int
    is_open: bool  # had not ended when the trace ended
    amounts: NDArray[np.float64]  # ticks by cause
    overtakings: int

    @property
    def length(self) -> int:
        return self.end - self.begin

    @property
    def cause(self) -> Cause:
        """Returns the cause of most of the time; if that has parts, the larger part."""
        by_whole = np.bincount(WHOLE, self.amounts, len(Cause))
        whole = Cause(int(np.argmax(by_whole)))
        parts = [cause for cause in Cause if cause.whole is whole]
        return max(parts, key=lambda cause: float(self.amounts[cause]))

    def share(self, cause: Cause) -> float:
        return float(self.amounts[cause]) / self.length if self.length else 0.0


@dataclass
class ExplainedLock:
    """One lock of a trace with its stalls."""

    history: LockHistory
    pieces: Pieces
    stalls: list[Stall] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.history.name

    def moments(self, stall: Stall) -> Moments:
        return self.pieces.of(
            _in_columns([(stall.kind, stall.subject, stall.called, stall.begin, stall.end)])
        )


@dataclass
class Explanation:
    trace: Trace
    threads: list[Thread]
    locks: list[ExplainedLock]
    too_early: int  # stalls that began before the window
    idle: IdleProcessors
    interrupts: Interrupts


def explain(trace: Trace, longer_than_ns: float) -> Explanation:
    threads = threads_of(trace)
    gaps = Gaps(trace)
    least = max(1, round(longer_than_ns / trace.ns_per_tick))
    explanation = Explanation(trace, threads, [], 0, IdleProcessors(trace), Interrupts.of(trace))
    for history in histories(trace, threads):
        lock = ExplainedLock(history, Pieces(trace, threads, history, gaps))
        every = _in_columns(_candidates(history, trace, least))
        whole = every.part(np.flatnonzero(every.begin >= trace.begin))
        explanation.too_early += len(every) - len(whole)
        for portion in _portions(lock, whole):
            lock.stalls += _explained(lock, portion, trace.end)
        explanation.locks.append(lock)
    return explanation


Candidate = tuple[StallKind, int, int, int, int]


def _in_columns(rows: Iterable[Candidate]) -> Candidates:
    columns = np.array(list(rows), object).reshape(-1, 5).T
    kind, (subject, called, begin, end) = columns[0], columns[1:].astype(np.int64)
    return Candidates(subject, called, begin, end, is_wait=kind == StallKind.WAIT)


def _portions(lock: ExplainedLock, of: Candidates) -> Iterator[Candidates]:
    """Yields portions of stalls whose pieces together stay below the limit, or single stalls."""
    ends = np.cumsum(lock.pieces.counts(of))
    portion = ends // PIECES_AT_ONCE
    for each in np.unique(portion):
        yield of.part(np.flatnonzero(portion == each))


def _candidates(history: LockHistory, trace: Trace, least: int) -> Iterator[Candidate]:
    waits = history.waits
    ends = np.minimum(waits.end, trace.end)
    for index in np.flatnonzero(ends - waits.called >= least).tolist():
        called = int(waits.called[index])
        end = int(waits.end[index])
        yield StallKind.WAIT, int(waits.who[index]), called, called, min(end, trace.end)
    yield from _idle(history, trace, least)


def _idle(history: LockHistory, trace: Trace, least: int) -> Iterator[Candidate]:
    """Yields the times after a release in which another thread had called but not acquired."""
    holds = history.holds
    by_thread = _waits_by_thread(history)
    until = np.append(holds.acquired[1:], trace.end)
    for index in np.flatnonzero(until - holds.releasing >= least).tolist():
        releasing, until_then = int(holds.releasing[index]), int(until[index])
        released = min(int(holds.released[index]), until_then)
        wanting = _wanting(by_thread, int(holds.who[index]), released)
        if not wanting:
            continue
        heir = int(holds.who[index + 1]) if index + 1 < len(holds) else NOBODY
        begin = max(releasing, min(called for _, called, _ in wanting))
        end = min(until_then, max(ended for _, _, ended in wanting))
        first = min(wanting, key=lambda each: (each[0] != heir, each[2]))
        if end - begin >= least:
            yield StallKind.IDLE, first[0], first[1], begin, end


Waiting = tuple[int, int, int]  # thread, call, end


def _waits_by_thread(
    history: LockHistory,
) -> dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    waits = history.waits
    return {
        int(who): (waits.called[waits.who == who], waits.end[waits.who == who])
        for who in np.unique(waits.who)
    }


def _wanting(
    by_thread: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]], releaser: int, moment: int
) -> list[Waiting]:
    """Returns the other threads that had called by then and were still waiting."""
    found = []
    for who, (called, ends) in by_thread.items():
        at = int(np.searchsorted(called, moment, side="right")) - 1
        if who != releaser and at >= 0 and ends[at] >= moment:
            found.append((who, int(called[at]), int(ends[at])))
    return found


def _explained(lock: ExplainedLock, of: Candidates, trace_end: int) -> list[Stall]:
    moments = lock.pieces.of(of)
    causes = of_wait(moments)
    cell = moments.stall * len(Cause) + causes
    lengths = moments.ends - moments.begins
    amounts = np.bincount(cell, lengths, len(of) * len(Cause)).astype(np.float64)
    later = moments.held & moments.overtook
    holds = np.unique(np.stack([moments.stall[later], moments.hold[later]]), axis=1)
    overtakings = np.bincount(holds[0], minlength=len(of)).tolist()
    kinds = [StallKind.WAIT if each else StallKind.IDLE for each in of.is_wait.tolist()]
    rows = np.stack([of.subject, of.called, of.begin, of.end], axis=1).tolist()
    return [
        Stall(
            kind=kind,
            subject=subject,
            called=called,
            begin=begin,
            end=end,
            is_open=end == trace_end and _is_open(lock, kind, subject, end),
            amounts=amount,
            overtakings=overtaken,
        )
        for kind, (subject, called, begin, end), amount, overtaken in zip(
            kinds, rows, amounts.reshape(-1, len(Cause)), overtakings, strict=True
        )
    ]


def _is_open(lock: ExplainedLock, kind: StallKind, subject: int, end: int) -> bool:
    if kind is StallKind.IDLE:
        return not np.any(lock.history.holds.acquired == end)
    waits = lock.history.waits
    return bool(np.any((waits.who == subject) & (waits.end == NEVER)))
