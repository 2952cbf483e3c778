# SPDX-License-Identifier: Apache-2.0
"""A made-up stall of 3 ms for each cause: thread 1 has the lock first, thread 2 waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fake_trace import FakeTrace

from lockyard.explain.causes import Cause
from lockyard.explain.stalls import StallKind
from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

HOLDER, WAITER, OTHER = 1, 2, 3
CALLED, ACQUIRED = Kind.CALLED, Kind.ACQUIRED
RELEASING, RELEASED = Kind.RELEASING, Kind.RELEASED


def held(until: float, released: float | None = None, **changes: object) -> FakeTrace:
    """Makes thread 1 hold the lock from 1 µs on, and thread 2 want it from 10 µs on."""
    trace = FakeTrace(**changes)  # type: ignore[arg-type]
    trace.stamps(HOLDER, (0, CALLED), (1, ACQUIRED), (until, RELEASING))
    trace.stamps(HOLDER, (released or until + 0.1, RELEASED))
    return trace.stamps(WAITER, (10, CALLED))


def got(trace: FakeTrace, at: float) -> FakeTrace:
    return trace.stamps(WAITER, (at, ACQUIRED), (at + 1, RELEASING), (at + 1.1, RELEASED))


def holder_preempted() -> FakeTrace:
    trace = got(held(3000), 3000.2)
    return trace.out(HOLDER, 20, preempted=True).back(HOLDER, 2990)


def holder_preempted_in_release() -> FakeTrace:
    trace = got(held(20, released=3000), 2999)
    return trace.out(HOLDER, 20.05, preempted=True).back(HOLDER, 2998)


def holder_asleep() -> FakeTrace:
    trace = got(held(3000), 3000.2)
    return trace.out(HOLDER, 20, preempted=False).back(HOLDER, 2990)


def _sleeper(wakes_at: float, runs_at: float) -> FakeTrace:
    """Thread 2 sleeps in the lock from 15 µs on, and is woken in the release at 20 µs."""
    trace = FakeTrace()
    trace.stamps(HOLDER, (0, CALLED), (1, ACQUIRED), (20, RELEASING))
    trace.stamps(HOLDER, (20.1, Kind.WAKE_BEGIN), (22, Kind.WAKE_END), (22.1, RELEASED))
    trace.stamps(WAITER, (10, CALLED), (15, Kind.SLEEP_BEGIN), (runs_at + 1, Kind.SLEEP_END))
    trace.out(WAITER, 15.5, preempted=False).woken(WAITER, wakes_at, HOLDER)
    return got(trace.back(WAITER, runs_at), runs_at + 2)


def wakeup_in_flight() -> FakeTrace:
    return _sleeper(wakes_at=2980, runs_at=2990)


def woken_not_running() -> FakeTrace:
    return _sleeper(wakes_at=21, runs_at=2990)


def woken_late() -> FakeTrace:
    trace = woken_not_running().without(Kind.WOKEN)
    trace.has_wakeups = False
    return trace


def waiter_preempted() -> FakeTrace:
    trace = got(held(20), 3000)
    return trace.out(WAITER, 15, preempted=True).back(WAITER, 2995)


def waiter_yielded() -> FakeTrace:
    trace = held(20).stamps(WAITER, (14, Kind.YIELD_BEGIN), (2996, Kind.YIELD_END))
    return got(trace.out(WAITER, 15, preempted=True).back(WAITER, 2995), 3000)


def barging() -> FakeTrace:
    """Thread 3 comes and goes 30 times."""
    trace = held(20)
    trace.ring_events = 256
    for number in range(30):
        at = 20.2 + number * 100
        calls = (at, CALLED), (at + 0.2, ACQUIRED), (at + 99, RELEASING), (at + 99.1, RELEASED)
        trace.stamps(OTHER, *calls)
    return got(trace, 3020)


def migration() -> FakeTrace:
    trace = got(held(3000), 3000.2)
    trace.out(HOLDER, 20, preempted=True).moved(HOLDER, 22).back(HOLDER, 2990, cpu=1)
    return trace


def machine_gap() -> FakeTrace:
    trace = got(held(3000), 3000.2).back(HOLDER, -5, cpu=1)
    return trace.gap(1, 30, 2950)


def held_running() -> FakeTrace:
    return got(held(3000), 3000.2).back(HOLDER, -5)


def unexplained() -> FakeTrace:
    """Thread 2 runs, the lock is free, and it does not take it."""
    return got(held(20), 3000).back(WAITER, -5)


Scene = tuple["Callable[[], FakeTrace]", StallKind, Cause]
WAIT, IDLE = StallKind.WAIT, StallKind.IDLE

SCENES: list[Scene] = [
    (holder_preempted, WAIT, Cause.HOLDER_PREEMPTED),
    (holder_preempted_in_release, WAIT, Cause.HOLDER_PREEMPTED_IN_RELEASE),
    (holder_preempted_in_release, IDLE, Cause.HOLDER_PREEMPTED_IN_RELEASE),
    (holder_asleep, WAIT, Cause.HOLDER_ASLEEP),
    (wakeup_in_flight, IDLE, Cause.WAKEUP_IN_FLIGHT),
    (wakeup_in_flight, WAIT, Cause.WAKEUP_IN_FLIGHT),
    (woken_not_running, IDLE, Cause.WOKEN_NOT_RUNNING),
    (woken_late, IDLE, Cause.WOKEN_LATE),
    (waiter_preempted, IDLE, Cause.WAITER_NOT_RUNNING),
    (waiter_yielded, IDLE, Cause.WAITER_NOT_RUNNING),
    (barging, WAIT, Cause.BARGING),
    (migration, WAIT, Cause.MIGRATION),
    (machine_gap, WAIT, Cause.MACHINE_GAP),
    (held_running, WAIT, Cause.HELD_RUNNING),
    (unexplained, IDLE, Cause.UNEXPLAINED),
    (unexplained, WAIT, Cause.UNEXPLAINED),
]
