# SPDX-License-Identifier: Apache-2.0
"""A thread that has its processor and gets nowhere: before a preemption, in the call for the lock's
sleep, in a release that was stopped. And sleeps whose wake-up no stamp shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fake_stalls as injected
import pytest
from fake_explanations import idle_of
from fake_stalls import ACQUIRED, CALLED, HOLDER, RELEASED, RELEASING, WAITER
from fake_trace import US, FakeTrace

from lockyard.explain.causes import Cause
from lockyard.explain.evidence import evidence
from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lockyard.explain.stalls import Stall


def interrupted_waiter() -> FakeTrace:
    """The lock is free from 20.1 µs on. Thread 2 is preempted at 45 µs, back at 50."""
    trace = injected.got(injected.held(20), 51)
    return trace.back(WAITER, -5).out(WAITER, 45, preempted=True).back(WAITER, 50)


def interrupted_releaser() -> FakeTrace:
    trace = injected.got(injected.held(20, released=51), 51.2)
    return trace.back(HOLDER, -5).out(HOLDER, 45, preempted=True).back(HOLDER, 50)


def interrupted_in_a_wake_call() -> FakeTrace:
    """The time before the switch belongs to the wake call, which begins with a stamp."""
    trace = interrupted_releaser().without(RELEASED, HOLDER)
    return trace.stamps(HOLDER, (21, Kind.WAKE_BEGIN), (50.5, Kind.WAKE_END), (51, RELEASED))


def falls_asleep() -> FakeTrace:
    """Thread 2 is in the sleep's call while the lock is free, and never leaves its processor."""
    trace = injected.held(20).stamps(WAITER, (19, Kind.SLEEP_BEGIN), (50, Kind.SLEEP_END))
    return injected.got(trace, 51).back(WAITER, -5)


def falls_asleep_at_last() -> FakeTrace:
    trace = injected.held(20).stamps(WAITER, (19, Kind.SLEEP_BEGIN), (61, Kind.SLEEP_END))
    trace.back(WAITER, -5).out(WAITER, 50, preempted=False).back(WAITER, 60)
    trace.stamps(HOLDER, (58, Kind.WAKE_BEGIN), (58.4, Kind.WAKE_END))
    return injected.got(trace, 62)


def naps() -> FakeTrace:
    """Thread 2 sleeps until a deadline, and no thread wakes it."""
    trace = injected.woken_not_running().without(Kind.WAKE_BEGIN).without(Kind.WAKE_END)
    trace.without(Kind.WOKEN).has_wakeups = False
    return trace.changed(Kind.SLEEP_BEGIN, lambda row: (*row[:4], 77), WAITER)


def woken_before_the_window(deadline: int = 0) -> FakeTrace:
    """Thread 1 has overwritten the stamp of the wake-up, and all that came before 12 µs. Thread 2
    slept before that and comes back at 2990 µs."""
    trace = naps().changed(Kind.SLEEP_BEGIN, lambda row: (11 * US, *row[1:4], deadline), WAITER)
    trace.ring_events = 8
    lost = ((11 + n / 10, Kind.FAILED) for n in range(8))
    trace.stamps(HOLDER, *lost, (12, RELEASED), (12.5, CALLED), (13, ACQUIRED))
    return trace.without(Kind.SWITCH_OUT).out(WAITER, 11.5, preempted=False)


def slept_since(trace: FakeTrace) -> FakeTrace:
    """Makes the sleep begin after the overwritten stamps."""
    trace.changed(Kind.SLEEP_BEGIN, lambda row: (15 * US, *row[1:]), WAITER)
    return trace.changed(Kind.SWITCH_OUT, lambda row: (16 * US, *row[1:]), WAITER)


def woken_before_its_deadline() -> FakeTrace:
    trace = injected.woken_late()
    return trace.changed(Kind.SLEEP_BEGIN, lambda row: (*row[:4], 77), WAITER)


def stopped_release(usual_us: float = 0.1, releases: int = 120) -> FakeTrace:
    """Thread 1 releases the lock many times, and at last takes 30 µs for it."""
    trace = FakeTrace(ring_events=1024)
    for n in range(releases):
        at = -1000 + 8 * n
        trace.stamps(HOLDER, (at, CALLED), (at + 0.1, ACQUIRED), (at + 1, RELEASING))
        trace.stamps(HOLDER, (at + 1 + usual_us, RELEASED))
    trace.stamps(HOLDER, (0, CALLED), (1, ACQUIRED), (20, RELEASING), (50, RELEASED))
    trace.stamps(WAITER, (10, CALLED), (51, ACQUIRED), (52, RELEASING), (52.1, RELEASED))
    return trace.back(HOLDER, -5).back(WAITER, -5)


def idle(trace: FakeTrace, folder: Path) -> Stall:
    return idle_of(trace, folder)[2]


@pytest.mark.parametrize(
    ("scene", "cause", "share"),
    [
        (interrupted_waiter, Cause.WAITER_NOT_RUNNING, 0.9),
        (interrupted_releaser, Cause.HOLDER_PREEMPTED_IN_RELEASE, 0.9),
        (falls_asleep, Cause.FALLS_ASLEEP, 0.9),
        (falls_asleep_at_last, Cause.FALLS_ASLEEP, 0.6),
        (naps, Cause.TIMED_SLEEP, 0.9),
        (stopped_release, Cause.MACHINE_GAP, 0.9),
        (woken_before_its_deadline, Cause.WOKEN_LATE, 0.9),
        (woken_before_the_window, Cause.WOKEN_LATE, 0.9),
        (lambda: woken_before_the_window(deadline=77), Cause.TIMED_SLEEP, 0.9),
    ],
)
def test_the_time_before_an_absence_has_a_cause(
    tmp_path: Path, scene: Callable[[], FakeTrace], cause: Cause, share: float
) -> None:
    stall = idle(scene(), tmp_path)
    assert stall.cause is cause
    assert stall.share(cause) > share


NEAR: list[tuple[str, Callable[[], FakeTrace], Cause, float]] = [
    (
        "the waiter is not preempted, so no record says why it does not take the lock",
        lambda: interrupted_waiter().without(Kind.SWITCH_OUT).without(Kind.SWITCH_IN),
        Cause.UNEXPLAINED,
        0.9,
    ),
    (
        "the waiter leaves its processor by itself, so its own code ran until then",
        lambda: interrupted_waiter().changed(Kind.SWITCH_OUT, lambda row: (*row[:4], 0), WAITER),
        Cause.UNEXPLAINED,
        0.7,
    ),
    (
        "the waiter stamps shortly before it is preempted, so it ran its code until then",
        lambda: interrupted_waiter().stamps(WAITER, (43, Kind.YIELD_BEGIN), (44, Kind.YIELD_END)),
        Cause.UNEXPLAINED,
        0.7,
    ),
    (
        "the preemption comes long after the lock was free",
        lambda: injected.got(injected.held(20), 1000)
        .back(WAITER, -5)
        .out(WAITER, 990, preempted=True)
        .back(WAITER, 995),
        Cause.UNEXPLAINED,
        0.9,
    ),
    (
        "no thread wakes the sleeper, and its sleep has no deadline",
        lambda: naps().changed(Kind.SLEEP_BEGIN, lambda row: (*row[:4], 0), WAITER),
        Cause.UNEXPLAINED,
        0.9,
    ),
    (
        "the sleep began when all stamps are known, and none wakes the sleeper",
        lambda: slept_since(woken_before_the_window()),
        Cause.UNEXPLAINED,
        0.9,
    ),
    (
        "all releases take long, this one too",
        lambda: stopped_release(usual_us=2),
        Cause.UNEXPLAINED,
        0.9,
    ),
    (
        "a few releases do not tell how long a release takes",
        lambda: stopped_release(releases=20),
        Cause.UNEXPLAINED,
        0.9,
    ),
    (
        "the lock was let go soon, so what the releaser does later stops no thread",
        lambda: stopped_release()
        .changed(RELEASED, lambda row: (90 * US, *row[1:]) if row[0] == 50 * US else row, HOLDER)
        .changed(ACQUIRED, lambda row: (91 * US, *row[1:]), WAITER)
        .changed(RELEASING, lambda row: (92 * US, *row[1:]), WAITER)
        .changed(RELEASED, lambda row: (93 * US, *row[1:]), WAITER)
        .stamps(HOLDER, (30, Kind.WAKE_BEGIN), (89, Kind.WAKE_END)),
        Cause.UNEXPLAINED,
        0.8,
    ),
    ("the call for the sleep was over before", lambda: called_before(), Cause.UNEXPLAINED, 0.9),
    (
        "the releaser is in its wake call",
        interrupted_in_a_wake_call,
        Cause.HOLDER_PREEMPTED_IN_RELEASE,
        0.0,
    ),
]


def called_before() -> FakeTrace:
    trace = injected.held(20).stamps(WAITER, (15, Kind.SLEEP_BEGIN), (19, Kind.SLEEP_END))
    return injected.got(trace, 51).back(WAITER, -5)


@pytest.mark.parametrize(
    ("scene", "cause", "share"), [each[1:] for each in NEAR], ids=[each[0] for each in NEAR]
)
def test_only_evidence_explains_that_time(
    tmp_path: Path, scene: Callable[[], FakeTrace], cause: Cause, share: float
) -> None:
    stall = idle(scene(), tmp_path)
    assert stall.share(cause) > share
    assert not stall.share(Cause.FALLS_ASLEEP)
    if scene is interrupted_in_a_wake_call:
        assert stall.share(cause) < 0.3


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        (interrupted_waiter, ("made no stamp after", "and then worker 2 was preempted at")),
        (stopped_release, ("in its release since +0, worker 1 ran without a stamp",)),
        (falls_asleep, ("worker 2 called the sleep at", "left it without sleeping at")),
        (falls_asleep_at_last, ("worker 2 called the sleep at", "fell asleep at")),
    ],
)
def test_the_evidence_names_the_events(
    tmp_path: Path, scene: Callable[[], FakeTrace], words: tuple[str, ...]
) -> None:
    text = evidence(*idle_of(scene(), tmp_path))[0].text
    assert all(each in text for each in words), text
