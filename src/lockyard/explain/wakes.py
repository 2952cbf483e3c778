# SPDX-License-Identifier: Apache-2.0
"""Attributes wake-ups to waiters: their stamps tell when a wake-up was sent, and to how many."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.stretches import NEVER, Doing, brackets
from lockyard.explain.trace import Kind, RingKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lockyard.explain.locks import LockHistory
    from lockyard.explain.threads import Thread
    from lockyard.explain.trace import Trace

Sleep = tuple[int, int, int, int]  # when it may be woken, until when; thread, switch-out
Sent = dict[int, dict[int, int]]  # by thread and switch-out of its sleep: when the wake-up was sent


def sent(trace: Trace, history: LockHistory, threads: Sequence[Thread]) -> Sent:
    """Attributes each wake-up to the sleepers of the lock that come back first. From the beginning
    of the trace's window on, every wake-up is stamped; so a sleeper that comes back without any of
    them was woken before, if its sleep began before and has no deadline."""
    sleeps = sorted(
        each for who in np.unique(history.waits.who) for each in _sleeps(history, threads, int(who))
    )
    asleep: list[tuple[int, int, int]] = []  # by the end
    found: Sent = {}
    following = 0
    for moment, count in history.wakes.tolist():
        while following < len(sleeps) and sleeps[following][0] <= moment:
            _, end, who, since = sleeps[following]
            heapq.heappush(asleep, (end, who, since))
            following += 1
        while asleep and asleep[0][0] < moment:
            heapq.heappop(asleep)
        for _ in range(min(count, len(asleep))):
            _, who, since = heapq.heappop(asleep)
            found.setdefault(who, {})[since] = moment
    if not any(ring.overwritten for ring in trace.of_kind(RingKind.STAMPS)):
        return found
    for begin, end, who, since in sleeps:
        if begin < trace.begin <= end < NEVER and not _has_deadline(threads[who], begin):
            found.setdefault(who, {}).setdefault(since, trace.begin - 1)
    return found


def _has_deadline(thread: Thread, begin: int) -> bool:
    stamps = thread.stamps
    at = np.flatnonzero((stamps["ticks"] == begin) & (stamps["kind"] == Kind.SLEEP_BEGIN))
    return not len(at) or bool(stamps["argument"][at[-1]])


def timed(thread: Thread) -> NDArray[np.int64]:
    """Returns the beginnings and ends of the thread's sleeps with a deadline, as rows."""
    sleeps = brackets(thread.stamps, Kind.SLEEP_BEGIN, Kind.SLEEP_END)
    chosen = thread.stamps[thread.stamps["kind"] == Kind.SLEEP_BEGIN]
    begins = chosen["ticks"][chosen["argument"] != 0]
    return sleeps[np.isin(sleeps[:, 0], begins)]


def _sleeps(history: LockHistory, threads: Sequence[Thread], who: int) -> list[Sleep]:
    """Returns the thread's sleeps in this lock, up to the wake-up if recorded, else the return."""
    thread = threads[who]
    stretches = thread.stretches
    at = np.flatnonzero(stretches.doing == Doing.ASLEEP)
    since = stretches.since[at]
    ends = np.append(stretches.begins[1:], NEVER)[at]
    stamped = thread.stamps["ticks"][thread.stamps["kind"] == Kind.SLEEP_BEGIN]
    before = np.searchsorted(stamped, since, side="right") - 1
    begins = np.where(before >= 0, stamped[np.maximum(before, 0)] if len(stamped) else since, since)
    mine = _waits_of(history, who, since)
    return [
        (int(begin), int(end), who, int(out))
        for begin, end, out in zip(begins[mine], ends[mine], since[mine], strict=True)
    ]


def _waits_of(history: LockHistory, who: int, moments: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tells at which moments the thread waits for the lock."""
    chosen = history.waits.who == who
    called, ends = history.waits.called[chosen], history.waits.end[chosen]
    at = np.searchsorted(called, moments, side="right") - 1
    found: NDArray[np.bool_] = (at >= 0) & (moments < ends[np.maximum(at, 0)])
    return found
