# SPDX-License-Identifier: Apache-2.0
"""Times in which a thread seems to run and does nothing: its processor serves an interrupt, it is
on its way back from a preemption, or its way to a free lock is stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fake_stalls as injected
import pytest
from fake_explanations import idle_of
from fake_stalls import ACQUIRED, CALLED, HOLDER, OTHER, RELEASED, RELEASING, WAITER
from fake_trace import US, FakeTrace

from lockyard.explain.causes import Cause
from lockyard.explain.evidence import evidence
from lockyard.explain.interrupts import InterruptKind
from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NO_PAUSE, A_PAUSE = 1 << 8, 2 << 8  # arguments of an acquisition


def hole(until_us: float = 51) -> FakeTrace:
    """The lock is free from 20.1 µs on, and thread 2, which runs on cpu 0, acquires it later."""
    return injected.got(injected.held(20), until_us).back(WAITER, -5)


def served(at: float, length: float, cpu: int = 0, until_us: float = 51) -> FakeTrace:
    return hole(until_us).interrupt(cpu, at, length, InterruptKind.TIMER)


def faulted() -> FakeTrace:
    return hole().interrupt(0, 35, 0, InterruptKind.PAGE_FAULT)


def served_by_the_releaser() -> FakeTrace:
    trace = injected.got(injected.held(20, released=51), 51.2).back(HOLDER, -5)
    return trace.interrupt(0, 30, 12, InterruptKind.DEVICE)


def came_back(at_us: float = 51) -> FakeTrace:
    """Thread 2 is preempted while the lock is held, and back when it has been free for 10 µs."""
    trace = injected.got(injected.held(20), at_us)
    return trace.back(WAITER, -5).out(WAITER, 15, preempted=True).back(WAITER, 35)


def came_out_of_its_yield(at_us: float = 51) -> FakeTrace:
    trace = came_back(at_us)
    return trace.stamps(WAITER, (14, Kind.YIELD_BEGIN), (36, Kind.YIELD_END))


def stopped(
    usual_us: float = 0.1, calls: int = 1200, argument: int = NO_PAUSE, length_us: float = 30
) -> FakeTrace:
    """Thread 1 acquires the lock many times. At last it is free from 20.1 µs on, and thread 2,
    which has yielded, takes long for the way to it."""
    trace = FakeTrace(ring_events=8192)
    for n in range(calls):
        at = -20_000 + 8 * n
        trace.stamps(HOLDER, (at, CALLED), (at + usual_us, ACQUIRED), (at + 3, RELEASING))
        trace.stamps(HOLDER, (at + 3.1, RELEASED))
    trace.stamps(HOLDER, (0, CALLED), (1, ACQUIRED), (20, RELEASING), (20.1, RELEASED))
    trace.stamps(WAITER, (10, CALLED), (20.2, Kind.YIELD_BEGIN), (20.4, Kind.YIELD_END))
    injected.got(trace, 20.4 + length_us)
    for who in (HOLDER, WAITER):
        trace.back(who, -20_100).changed(ACQUIRED, lambda row: (*row[:4], argument), who)
    return trace


def stopped_in_its_spin(
    usual_us: float = 0.1, times: int = 600, length_us: float = 30
) -> FakeTrace:
    """Thread 2 spins, and gets the lock as soon as thread 1 has released it, again and again. At
    last it is free from 20.1 µs on, and thread 2 takes long to see it."""
    trace = FakeTrace(ring_events=8192)
    for n in range(times):
        at = -20_000 + 16 * n
        trace.stamps(HOLDER, (at, CALLED), (at + 0.1, ACQUIRED), (at + 3, RELEASING))
        trace.stamps(HOLDER, (at + 3.1, RELEASED))
        got = at + 3.1 + usual_us
        trace.stamps(WAITER, (at + 1, CALLED), (got, ACQUIRED), (got + 1, RELEASING))
        trace.stamps(WAITER, (got + 1.1, RELEASED))
    trace.stamps(HOLDER, (0, CALLED), (1, ACQUIRED), (20, RELEASING), (20.1, RELEASED))
    trace.stamps(WAITER, (10, CALLED))
    injected.got(trace, 20.1 + length_us)
    for who in (HOLDER, WAITER):
        trace.back(who, -20_100).changed(ACQUIRED, lambda row: (*row[:4], A_PAUSE), who)
    return trace


def yielded_since_long() -> FakeTrace:
    """Thread 2 has overwritten the stamp of its call, and yields when the lock becomes free."""
    trace = injected.held(20).back(WAITER, -5)
    for n in range(100):
        at = 11 + n / 20
        trace.stamps(WAITER, (at, Kind.YIELD_BEGIN), (at + 0.02, Kind.YIELD_END))
    trace.stamps(WAITER, (18, Kind.YIELD_BEGIN), (50.2, Kind.YIELD_END))
    return injected.got(trace.out(WAITER, 18.5, preempted=True).back(WAITER, 50), 50.5)


def barged_before_the_sleeper_came() -> FakeTrace:
    """Thread 2 is woken at 20.2 µs and back at 60; thread 3 calls at 45 µs and gets the lock, while
    thread 1 is inside its release."""
    trace = injected.held(20, released=400)
    trace.stamps(HOLDER, (20.2, Kind.WAKE_BEGIN), (399, Kind.WAKE_END))
    trace.stamps(WAITER, (11, Kind.SLEEP_BEGIN), (61, Kind.SLEEP_END))
    trace.back(WAITER, -5).out(WAITER, 12, preempted=False).back(WAITER, 60)
    trace.stamps(OTHER, (45, CALLED), (46, ACQUIRED), (500, RELEASING), (500.1, RELEASED))
    return injected.got(trace.back(OTHER, -5), 501)


SCENES: list[tuple[str, Callable[[], FakeTrace], Cause, float]] = [
    ("an interrupt, with the way there and back", lambda: served(33, 10), Cause.MACHINE_GAP, 0.9),
    ("a page fault", faulted, Cause.MACHINE_GAP, 0.9),
    ("in the release", served_by_the_releaser, Cause.MACHINE_GAP, 0.9),
    ("back from a preemption", came_back, Cause.WAITER_NOT_RUNNING, 0.9),
    ("back from a yield", came_out_of_its_yield, Cause.WAITER_NOT_RUNNING, 0.9),
    ("stopped on its way", stopped, Cause.MACHINE_GAP, 0.9),
    ("stopped in its spin", stopped_in_its_spin, Cause.MACHINE_GAP, 0.9),
    ("its call was overwritten", yielded_since_long, Cause.WAITER_NOT_RUNNING, 0.9),
    ("the heir has not called", barged_before_the_sleeper_came, Cause.WOKEN_LATE, 0.9),
]
NEAR: list[tuple[str, Callable[[], FakeTrace]]] = [
    ("the other processor served it", lambda: served(33, 10, cpu=1)),
    ("a stamp shows that it was over before", lambda: served(5, 4)),
    ("it is short in a long time", lambda: served(500, 10, until_us=1000)),
    ("the first step comes long after the return", lambda: came_back(200)),
    ("or after the yield", lambda: came_out_of_its_yield(200)),
    ("it paused, so it waited for something", lambda: stopped(argument=A_PAUSE)),
    ("it is unknown whether it paused", lambda: stopped(argument=0)),
    (
        "no thread was woken, and the heir has not called",
        lambda: barged_before_the_sleeper_came().without(Kind.WAKE_BEGIN),
    ),
    ("all acquisitions take long", lambda: stopped(usual_us=2)),
    ("a few acquisitions do not tell how long one takes", lambda: stopped(calls=900)),
    ("no machine stops a thread for so long", lambda: stopped(length_us=300)),
    ("all that spin take long", lambda: stopped_in_its_spin(usual_us=2)),
    ("a few spins do not tell how long one takes", lambda: stopped_in_its_spin(times=400)),
    ("no machine stops a spin for so long", lambda: stopped_in_its_spin(length_us=300)),
]


@pytest.mark.parametrize(
    ("make", "cause", "share"),
    [each[1:] for each in SCENES],
    ids=[each[0] for each in SCENES],
)
def test_time_without_a_stamp_has_a_cause(
    tmp_path: Path, make: Callable[[], FakeTrace], cause: Cause, share: float
) -> None:
    _, _, stall = idle_of(make(), tmp_path)
    assert stall.cause is cause
    assert stall.share(cause) > share


@pytest.mark.parametrize("make", [make for _, make in NEAR], ids=[name for name, _ in NEAR])
def test_time_without_evidence_stays_unexplained(
    tmp_path: Path, make: Callable[[], FakeTrace]
) -> None:
    _, _, stall = idle_of(make(), tmp_path)
    assert stall.cause is Cause.UNEXPLAINED
    assert stall.share(Cause.UNEXPLAINED) > 0.6


def test_an_interrupt_takes_no_more_than_the_way_there_and_back(tmp_path: Path) -> None:
    _, _, stall = idle_of(served(500, 10, until_us=1000), tmp_path)
    assert stall.amounts[Cause.MACHINE_GAP] == pytest.approx((10 + 2 * 20) * US)


def test_a_thread_that_stamps_is_not_on_the_way_to_an_interrupt(tmp_path: Path) -> None:
    yields = (29, Kind.YIELD_BEGIN), (30, Kind.YIELD_END), (44, Kind.YIELD_BEGIN)
    trace = served(33, 10).stamps(WAITER, *yields, (45, Kind.YIELD_END))
    _, _, stall = idle_of(trace, tmp_path)
    assert stall.amounts[Cause.MACHINE_GAP] == pytest.approx((44 - 30) * US)


@pytest.mark.parametrize("make", [stopped, stopped_in_its_spin])
def test_a_stopped_way_is_not_the_time_of_a_preemption(
    tmp_path: Path, make: Callable[..., FakeTrace]
) -> None:
    trace = make(length_us=200).out(WAITER, 30, preempted=True).back(WAITER, 60)
    _, _, stall = idle_of(trace, tmp_path)
    assert stall.amounts[Cause.MACHINE_GAP] == 0


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda: served(33, 10),
            "worker 2 made no stamp from −7.00 µs on, because cpu 0 served a timer interrupt at "
            "+13.0 µs for 10.0 µs",
        ),
        (faulted, "cpu 0 served a page fault at +15.0 µs"),
        (served_by_the_releaser, "cpu 0 served a device's interrupt at +10.0 µs for 12.0 µs"),
        (came_back, "worker 2 was preempted at −5.00 µs (cpu 0), came back at +15.0 µs (cpu 0)"),
        (stopped, "worker 2 ran without a stamp or a pause on its way to the lock"),
        (stopped_in_its_spin, "worker 2 ran without a stamp on its way to the lock"),
    ],
)
def test_the_evidence_names_it(tmp_path: Path, make: Callable[[], FakeTrace], told: str) -> None:
    explanation, lock, stall = idle_of(make(), tmp_path)
    assert any(told in each.text for each in evidence(explanation, lock, stall)), [
        each.text for each in evidence(explanation, lock, stall)
    ]
