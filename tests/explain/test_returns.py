# SPDX-License-Identifier: Apache-2.0
"""A thread that has its processor again, and is not yet out of the yield or sleep it left in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fake_stalls as injected
import pytest
from fake_explanations import explanation_of, longest
from fake_stalls import ACQUIRED, HOLDER, IDLE, OTHER, RELEASED, RELEASING, WAIT, WAITER

from lockyard.explain.causes import Cause
from lockyard.explain.evidence import evidence
from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fake_trace import FakeTrace

    from lockyard.explain.stalls import StallKind


def leaves_yield() -> FakeTrace:
    """It leaves its processor for 5 µs, and the yield itself takes 3 ms."""
    return injected.waiter_yielded().without(Kind.SWITCH_IN).back(WAITER, 25)


def leaves_sleep() -> FakeTrace:
    """Woken at 21 µs, back at 25 µs, and out of its sleep at 2991 µs."""
    return injected.woken_not_running().without(Kind.SWITCH_IN).back(WAITER, 25)


def without_wakeups(trace: FakeTrace) -> FakeTrace:
    trace.has_wakeups = False
    return trace.without(Kind.WOKEN)


def preempted_in_a_second_sleep() -> FakeTrace:
    """Before it slept there. It was woken from the first one, which is over."""
    trace = without_wakeups(leaves_sleep()).without(Kind.WAKE_BEGIN, HOLDER)
    trace.changed(Kind.SWITCH_OUT, lambda row: (*row[:4], 1), WAITER)
    trace.stamps(WAITER, (10.5, Kind.SLEEP_BEGIN), (13, Kind.SLEEP_END))
    trace.out(WAITER, 11, preempted=False).back(WAITER, 12.5)
    wake = (11.5, Kind.CALLED), (11.6, Kind.WAKE_BEGIN), (11.7, Kind.WAKE_END), (11.8, Kind.FAILED)
    return trace.stamps(OTHER, *wake)


def ends_at(trace: FakeTrace, kind: Kind, at_us: float) -> FakeTrace:
    return trace.changed(kind, lambda row: (round(at_us * 2000), *row[1:]), WAITER)


NEAR: list[tuple[str, Callable[[], FakeTrace], StallKind, Cause]] = [
    ("it leaves its yield", leaves_yield, IDLE, Cause.WAITER_NOT_RUNNING),
    ("the yield ends at once", lambda: ends_at(leaves_yield(), Kind.YIELD_END, 26), IDLE, Cause(0)),
    (
        "it yields all the time and never loses its processor",
        lambda: leaves_yield().without(Kind.SWITCH_OUT).without(Kind.SWITCH_IN).back(WAITER, -5),
        IDLE,
        Cause.UNEXPLAINED,
    ),
    (
        "it was preempted before its yield, and not in it",
        lambda: leaves_yield()
        .without(Kind.SWITCH_OUT)
        .out(WAITER, 12, preempted=True)
        .without(Kind.YIELD_BEGIN)
        .stamps(WAITER, (25.5, Kind.YIELD_BEGIN)),
        IDLE,
        Cause.UNEXPLAINED,
    ),
    (
        "the end of its yield is not stamped",
        lambda: leaves_yield().without(Kind.YIELD_END),
        IDLE,
        Cause.UNEXPLAINED,
    ),
    ("it leaves its sleep", leaves_sleep, IDLE, Cause.WOKEN_NOT_RUNNING),
    ("for its own wait, too", leaves_sleep, WAIT, Cause.WOKEN_NOT_RUNNING),
    (
        "that it was woken is known by the stamp of the wake-up alone",
        lambda: without_wakeups(leaves_sleep()),
        IDLE,
        Cause.WOKEN_LATE,
    ),
    (
        "no thread woke it",
        lambda: without_wakeups(leaves_sleep()).without(Kind.WAKE_BEGIN),
        IDLE,
        Cause.UNEXPLAINED,
    ),
    ("the sleep ends at once", lambda: ends_at(leaves_sleep(), Kind.SLEEP_END, 26), IDLE, Cause(0)),
    ("it slept and was woken before that", preempted_in_a_second_sleep, IDLE, Cause.FALLS_ASLEEP),
    (
        "it has not slept yet, but lost its processor on its way to the sleep",
        lambda: without_wakeups(leaves_sleep()).changed(
            Kind.SWITCH_OUT, lambda row: (*row[:4], 1), WAITER
        ),
        IDLE,
        Cause.FALLS_ASLEEP,
    ),
]


@pytest.mark.parametrize(
    ("scene", "kind", "cause"),
    [each[1:] for each in NEAR],
    ids=[each[0].replace(" ", "-") for each in NEAR],
)
def test_a_return_counts_with_the_absence_that_it_ends(
    tmp_path: Path, scene: Callable[[], FakeTrace], kind: StallKind, cause: Cause
) -> None:
    stall = longest(explanation_of(scene(), tmp_path), kind)
    assert stall.cause is cause
    assert stall.share(cause) > 0.9


def test_a_return_is_told_with_its_moments(tmp_path: Path) -> None:
    found = explanation_of(leaves_yield(), tmp_path)
    (lock,) = found.locks
    text = evidence(found, lock, longest(found, IDLE))[0].text
    assert "came back at +5.00 µs (cpu 0), and was out of its yield at +2.98 ms" in text


def test_a_waiter_that_leaves_its_yield_can_still_be_overtaken(tmp_path: Path) -> None:
    """It is where the lock has its waiters be."""
    trace = injected.barging().stamps(WAITER, (14, Kind.YIELD_BEGIN), (3010, Kind.YIELD_END))
    trace.out(WAITER, 15, preempted=True).back(WAITER, 16)
    assert longest(explanation_of(trace, tmp_path), WAIT).cause is Cause.BARGING


def test_a_holder_that_leaves_its_yield_runs(tmp_path: Path) -> None:
    trace = injected.held_running().without(Kind.SWITCH_IN)
    trace.stamps(HOLDER, (2, Kind.YIELD_BEGIN), (2990, Kind.YIELD_END))
    trace.out(HOLDER, 3, preempted=True).back(HOLDER, 4)
    assert longest(explanation_of(trace, tmp_path), WAIT).cause is Cause.HELD_RUNNING


def test_an_earlier_caller_that_leaves_its_yield_has_run_in_vain(tmp_path: Path) -> None:
    """The thread ran: the lock was not free, but its owner had not stamped it yet."""
    trace = injected.waiter_preempted().stamps(
        OTHER, (9, Kind.CALLED), (9.5, Kind.YIELD_BEGIN), (2980, Kind.YIELD_END)
    )
    trace.out(OTHER, 9.6, preempted=True).back(OTHER, 9.7, cpu=1)
    trace.stamps(OTHER, (3100, ACQUIRED), (3101, RELEASING), (3101.1, RELEASED))
    assert longest(explanation_of(trace, tmp_path), IDLE).cause is Cause.HOLDER_PREEMPTED
