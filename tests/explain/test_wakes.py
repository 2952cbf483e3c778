# SPDX-License-Identifier: Apache-2.0
"""Wake-ups: whose they are, how long they hold, and that the lock was let go before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fake_stalls as injected
import pytest
from fake_explanations import explanation_of, longest, wait_of
from fake_stalls import HOLDER, IDLE, OTHER, WAIT, WAITER
from fake_trace import FakeTrace

from lockyard.explain.causes import Cause
from lockyard.explain.evidence import evidence
from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lockyard.explain.stalls import StallKind


def woken_by_who_comes_back() -> FakeTrace:
    """Thread 1 is in its wake-up of thread 2 for long, and takes the lock again afterwards."""
    trace = FakeTrace()
    trace.stamps(HOLDER, (0, Kind.CALLED), (1, Kind.ACQUIRED), (20, Kind.RELEASING))
    trace.stamps(HOLDER, (20.1, Kind.WAKE_BEGIN), (2990, Kind.WAKE_END), (2990.1, Kind.RELEASED))
    trace.stamps(HOLDER, (2992, Kind.CALLED), (2993, Kind.ACQUIRED), (2994, Kind.RELEASING))
    trace.stamps(HOLDER, (2994.1, Kind.RELEASED)).back(HOLDER, -5, cpu=1)
    trace.stamps(WAITER, (10, Kind.CALLED), (15, Kind.SLEEP_BEGIN), (2998, Kind.SLEEP_END))
    trace.stamps(WAITER, (3000, Kind.ACQUIRED), (3001, Kind.RELEASING), (3001.1, Kind.RELEASED))
    return trace.out(WAITER, 15.5, preempted=False).back(WAITER, 2997)


@pytest.mark.parametrize(
    ("arrives", "cause"), [(30, Cause.WOKEN_NOT_RUNNING), (2980, Cause.WAKEUP_IN_FLIGHT)]
)
@pytest.mark.parametrize("kind", [IDLE, WAIT])
def test_a_thread_that_wakes_others_has_let_go_before(
    tmp_path: Path, arrives: float, cause: Cause, kind: StallKind
) -> None:
    trace = woken_by_who_comes_back().woken(WAITER, arrives, HOLDER)
    found = explanation_of(trace, tmp_path)
    (lock,) = found.locks
    stall = longest(found, kind)
    assert stall.cause is cause
    assert stall.share(cause) > 0.9
    assert evidence(found, lock, stall)[0].thread == f"worker {WAITER}"
    silent = woken_by_who_comes_back().woken(WAITER, arrives, HOLDER).without(Kind.WAKE_BEGIN)
    assert longest(explanation_of(silent, tmp_path), IDLE).cause is Cause.UNEXPLAINED


def test_a_lock_that_was_let_go_is_free_for_others_too(tmp_path: Path) -> None:
    """While thread 1 wakes thread 2, thread 3 sleeps on; or could have it, and does not run."""
    trace = woken_by_who_comes_back().woken(WAITER, 30, HOLDER)
    trace.stamps(OTHER, (9, Kind.CALLED), (12, Kind.SLEEP_BEGIN), (3009, Kind.SLEEP_END))
    trace.stamps(OTHER, (3010, Kind.FAILED)).out(OTHER, 13, preempted=False).back(OTHER, 3008)
    found = explanation_of(trace, tmp_path)
    lock, stall = wait_of(found, OTHER)
    assert stall.cause is Cause.WOKEN_NOT_RUNNING
    assert evidence(found, lock, stall)[0].thread == f"worker {WAITER}"

    trace = woken_by_who_comes_back().woken(WAITER, 30, HOLDER)
    trace.stamps(OTHER, (9, Kind.CALLED), (2991, Kind.ACQUIRED), (2991.3, Kind.RELEASING))
    trace.stamps(OTHER, (2991.4, Kind.RELEASED)).out(OTHER, 13, preempted=True).back(OTHER, 2985)
    found = explanation_of(trace, tmp_path)
    assert longest(found, IDLE).cause is Cause.WAITER_NOT_RUNNING


def in_its_wake_up() -> FakeTrace:
    """Thread 1 has let go and is waking a thread; thread 2 acquires the lock."""
    trace = FakeTrace()
    trace.stamps(HOLDER, (0, Kind.CALLED), (1, Kind.ACQUIRED), (20, Kind.RELEASING))
    trace.stamps(HOLDER, (20.1, Kind.WAKE_BEGIN), (2990, Kind.WAKE_END), (2990.1, Kind.RELEASED))
    trace.stamps(WAITER, (10, Kind.CALLED), (2991, Kind.ACQUIRED), (2992, Kind.RELEASING))
    return trace.stamps(WAITER, (2992.1, Kind.RELEASED))


@pytest.mark.parametrize(
    ("trace", "cause"),
    [
        (
            lambda: in_its_wake_up()
            .back(HOLDER, -5, cpu=1)
            .back(WAITER, -5, cpu=0)
            .gap(0, 30, 2900),
            Cause.MACHINE_GAP,
        ),
        (
            lambda: in_its_wake_up()
            .back(HOLDER, -5, cpu=1)
            .out(WAITER, 25, preempted=True)
            .moved(WAITER, 27)
            .back(WAITER, 2985, cpu=1),
            Cause.MIGRATION,
        ),
        (
            lambda: in_its_wake_up()
            .out(HOLDER, 20.2, preempted=True)
            .back(HOLDER, 2989)
            .out(WAITER, 15, preempted=True)
            .back(WAITER, 2985),
            Cause.WAITER_NOT_RUNNING,
        ),
    ],
)
@pytest.mark.parametrize("kind", [IDLE, WAIT])
def test_a_delay_is_attributed_to_the_thread_that_could_own_the_lock(
    tmp_path: Path, trace: Callable[[], FakeTrace], cause: Cause, kind: StallKind
) -> None:
    found = explanation_of(trace(), tmp_path)
    (lock,) = found.locks
    told = evidence(found, lock, longest(found, kind))[0]
    assert (told.cause, told.thread) == (cause, f"worker {WAITER}")


def woken_and_overtaken() -> FakeTrace:
    """After it sent the wake-up, the releaser acquires and releases the lock again, unstamped."""
    trace = injected.woken_late()
    again = (23, Kind.CALLED), (23.1, Kind.ACQUIRED), (24, Kind.RELEASING), (24.1, Kind.RELEASED)
    return trace.stamps(HOLDER, *again)


def test_a_wake_up_holds_until_its_sleeper_is_back(tmp_path: Path) -> None:
    """Also if the lock is held and released again meanwhile."""
    found = explanation_of(woken_and_overtaken(), tmp_path)
    assert longest(found, IDLE).cause is Cause.WOKEN_LATE
    assert longest(found, WAIT).cause is Cause.WOKEN_LATE


@pytest.mark.parametrize(
    ("back_at", "cause"), [(1000, Cause.UNEXPLAINED), (4000, Cause.WOKEN_LATE)]
)
def test_a_wake_up_is_of_the_sleeper_that_comes_back_first(
    tmp_path: Path, back_at: float, cause: Cause
) -> None:
    """The other one, which came back first, gave up; or it slept on."""
    trace = woken_and_overtaken()
    trace.stamps(OTHER, (9, Kind.CALLED), (12, Kind.SLEEP_BEGIN), (back_at + 1, Kind.SLEEP_END))
    trace.stamps(OTHER, (back_at + 2, Kind.FAILED))
    trace.out(OTHER, 13, preempted=False).back(OTHER, back_at)
    assert longest(explanation_of(trace, tmp_path), IDLE).cause is cause


def test_a_wake_up_of_another_waiter_explains_why_the_lock_is_free(tmp_path: Path) -> None:
    """Thread 3 sleeps on; thread 2, woken in its place, gets no processor; thread 1 comes back."""
    trace = injected.woken_not_running()
    again = (2985, Kind.CALLED), (2986, Kind.ACQUIRED), (2987, Kind.RELEASING)
    trace.stamps(HOLDER, *again, (2987.1, Kind.RELEASED))
    trace.stamps(OTHER, (9, Kind.CALLED), (12, Kind.SLEEP_BEGIN), (3009, Kind.SLEEP_END))
    trace.stamps(OTHER, (3010, Kind.FAILED)).out(OTHER, 13, preempted=False).back(OTHER, 3008)
    found = explanation_of(trace, tmp_path)
    lock, stall = wait_of(found, OTHER)
    assert stall.cause is Cause.WOKEN_NOT_RUNNING
    assert evidence(found, lock, stall)[0].thread == f"worker {WAITER}"
