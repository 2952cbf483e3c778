# SPDX-License-Identifier: Apache-2.0
"""Attributes wake-ups to waiters: their stamps tell when a wake-up was sent, and to how many."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.threads import NEVER, Doing
from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lockyard.explain.locks import LockHistory
    from lockyard.explain.threads import Thread

Sleep = tuple[int, int, int, int]  # when it may be woken, until when; thread, switch-out
Sent = dict[int, dict[int, int]]  # by thread and switch-out of its sleep: when the wake-up was sent


def sent(history: LockHistory, threads: Sequence[Thread]) -> Sent:
    """Attributes each wake-up to the sleepers of the lock that come back first."""
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
    return found


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
