# SPDX-License-Identifier: Apache-2.0
"""Waiters that the lock passes by: the causes of their waits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import fake_stalls as injected
import pytest
from fake_explanations import explanation_of, longest, wait_of
from fake_stalls import HOLDER, IDLE, OTHER, WAIT, WAITER

from lockyard.explain import stalls
from lockyard.explain.causes import Cause
from lockyard.explain.evidence import evidence
from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fake_trace import FakeTrace


def test_barging_takes_a_later_call(tmp_path: Path) -> None:
    """Threads that called before do not barge."""
    trace = injected.barging().changed(Kind.CALLED, lambda row: (2019 * 2000, *row[1:]), WAITER)
    stall = longest(explanation_of(trace, tmp_path), WAIT)
    assert stall.overtakings == 10


def passed_by(times: int = 75, acquires: float = 0.4, *, wakes: bool = False) -> FakeTrace:
    """Thread 3 comes and goes, and is at acquiring, for that part, or releasing almost all the
    time."""
    trace = injected.barging().without(Kind.CALLED, OTHER)
    trace.ring_events = 512
    for kind in (Kind.ACQUIRED, Kind.RELEASING, Kind.RELEASED):
        trace.without(kind, OTHER)
    for number in range(times):
        at, length = 20.2 + number * 3000 / times, 3000 / times
        acquired = at + length * acquires
        calls = (at, Kind.CALLED), (acquired, Kind.ACQUIRED), (acquired + 0.5, Kind.RELEASING)
        trace.stamps(OTHER, *calls, (at + length - 0.1, Kind.RELEASED))
        if wakes:
            trace.stamps(OTHER, (acquired + 0.6, Kind.WAKE_BEGIN))
            trace.stamps(OTHER, (at + length - 0.2, Kind.WAKE_END))
    return trace.back(OTHER, -5, cpu=1)


@pytest.mark.parametrize(
    ("trace", "cause", "thread"),
    [
        (passed_by, Cause.BARGING, OTHER),
        (
            lambda: passed_by().out(WAITER, 15, preempted=True).back(WAITER, 3015),
            Cause.WAITER_NOT_RUNNING,
            WAITER,
        ),
        (
            lambda: passed_by(acquires=0.6).out(WAITER, 15, preempted=True).back(WAITER, 3015),
            Cause.WAITER_NOT_RUNNING,
            WAITER,
        ),
        (
            lambda: passed_by()
            .out(WAITER, 15, preempted=True)
            .moved(WAITER, 17)
            .back(WAITER, 3015, cpu=1),
            Cause.MIGRATION,
            WAITER,
        ),
        (
            lambda: passed_by()
            .stamps(WAITER, (14, Kind.SLEEP_BEGIN), (3016, Kind.SLEEP_END))
            .stamps(HOLDER, (20.02, Kind.WAKE_BEGIN), (20.05, Kind.WAKE_END))
            .out(WAITER, 15, preempted=False)
            .woken(WAITER, 20.04, HOLDER)
            .back(WAITER, 3015),
            Cause.WOKEN_NOT_RUNNING,
            WAITER,
        ),
    ],
)
def test_a_lock_that_passes_a_waiter_by_is_not_held_all_the_time(
    tmp_path: Path, trace: Callable[[], FakeTrace], cause: Cause, thread: int
) -> None:
    found = explanation_of(trace(), tmp_path)
    (lock,) = found.locks
    stall = longest(found, WAIT)
    assert found.threads[stall.subject].tid == WAITER
    assert stall.cause is cause
    assert stall.share(cause) > 0.9
    told = evidence(found, lock, stall)[0]
    assert (told.cause, told.thread) == (cause, f"worker {thread}")


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (lambda: replace(passed_by(), has_switches=False), "whether thread 3 ran is not known"),
        (lambda: passed_by(times=15), "a lock is not passed on for that long"),
        (lambda: passed_by(acquires=0.02, wakes=True), "it was let go, and the waiter ran"),
        (
            lambda: injected.unexplained()
            .stamps(OTHER, (5, Kind.CALLED), (20.2, Kind.ACQUIRED))
            .stamps(OTHER, (21, Kind.RELEASING), (2990, Kind.RELEASED))
            .back(OTHER, -5, cpu=1),
            "thread 3 had called before",
        ),
    ],
)
def test_a_waiter_is_passed_by_where_events_show_it(
    tmp_path: Path, trace: Callable[[], FakeTrace], why: str
) -> None:
    stall = longest(explanation_of(trace(), tmp_path), WAIT)
    assert stall.cause is Cause.UNEXPLAINED, why
    assert stall.share(Cause.UNEXPLAINED) > 0.9


def test_a_passed_waiter_does_not_explain_idle_time(tmp_path: Path) -> None:
    trace = passed_by(times=15).out(WAITER, 15, preempted=True).back(WAITER, 3015)
    found = explanation_of(trace, tmp_path)
    assert longest(found, WAIT).cause is Cause.WAITER_NOT_RUNNING
    assert longest(found, IDLE).share(Cause.WAITER_NOT_RUNNING) < 0.01


def test_an_owner_after_a_waiter_gave_up_did_not_barge(tmp_path: Path) -> None:
    trace = injected.held_running().without(Kind.ACQUIRED, WAITER)
    trace.without(Kind.RELEASING, WAITER).without(Kind.RELEASED, WAITER)
    trace.stamps(WAITER, (3010, Kind.FAILED))
    trace.stamps(OTHER, (3001, Kind.CALLED), (3020, Kind.ACQUIRED), (3021, Kind.RELEASING))
    trace.stamps(OTHER, (3021.1, Kind.RELEASED)).back(OTHER, -5, cpu=1)
    stall = longest(explanation_of(trace, tmp_path), WAIT)
    assert stall.overtakings == 0
    assert stall.share(Cause.BARGING) == 0


def test_a_release_without_successor_passes_no_waiter_by(tmp_path: Path) -> None:
    trace = injected.unexplained().without(Kind.ACQUIRED, WAITER)
    trace.without(Kind.RELEASING, WAITER).without(Kind.RELEASED, WAITER)
    trace.stamps(OTHER, (20.2, Kind.CALLED), (20.4, Kind.ACQUIRED), (21, Kind.RELEASING))
    trace.stamps(OTHER, (2990, Kind.RELEASED)).back(OTHER, -5, cpu=1)
    stall = longest(explanation_of(trace, tmp_path), WAIT)
    assert stall.is_open
    assert stall.share(Cause.BARGING) < 0.001


def test_a_gap_is_told_of_the_thread_that_ran_there(tmp_path: Path) -> None:
    """Makes thread 3 acquire the free lock that thread 2 waits for."""
    trace = injected.unexplained().back(OTHER, -5, cpu=1).gap(1, 30, 2900)
    trace.stamps(OTHER, (21, Kind.CALLED), (2980, Kind.ACQUIRED), (2981, Kind.RELEASING))
    trace.stamps(OTHER, (2981.1, Kind.RELEASED))
    found = explanation_of(trace, tmp_path)
    (lock,) = found.locks
    told = evidence(found, lock, longest(found, WAIT))[0]
    assert (told.cause, told.thread) == (Cause.MACHINE_GAP, f"worker {OTHER}")


def test_a_thread_woken_while_the_lock_passes_another_by_is_named(tmp_path: Path) -> None:
    """Thread 3 called last and releases; thread 4 gets no processor; thread 2 would not either."""
    trace = injected.waiter_preempted().back(OTHER, -5, cpu=1)
    calls = (20.2, Kind.CALLED), (20.4, Kind.ACQUIRED), (21, Kind.RELEASING)
    trace.stamps(OTHER, *calls, (21.5, Kind.WAKE_BEGIN), (2800, Kind.WAKE_END))
    trace.stamps(OTHER, (2801, Kind.RELEASED))
    heir = 4
    trace.stamps(heir, (9, Kind.CALLED), (12, Kind.SLEEP_BEGIN), (2796, Kind.SLEEP_END))
    trace.stamps(heir, (2802, Kind.ACQUIRED), (2803, Kind.RELEASING), (2803.1, Kind.RELEASED))
    trace.out(heir, 13, preempted=False).woken(heir, 2790, OTHER).back(heir, 2795)
    found = explanation_of(trace, tmp_path)
    lock, stall = wait_of(found, WAITER)
    told = evidence(found, lock, stall)[0]
    assert (told.cause, told.thread) == (Cause.WAKEUP_IN_FLIGHT, f"worker {heir}")


def test_stalls_are_explained_alike_whether_together_or_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = explanation_of(passed_by(times=15), tmp_path).locks[0].stalls
    monkeypatch.setattr(stalls, "PIECES_AT_ONCE", 1)
    one_by_one = explanation_of(passed_by(times=15), tmp_path).locks[0].stalls
    assert len(together) == len(one_by_one) > 2

    def told(of: list[stalls.Stall]) -> list[tuple[object, ...]]:
        return sorted((each.begin, each.kind, each.overtakings, *each.amounts) for each in of)

    assert told(together) == told(one_by_one)
    assert {each.overtakings for each in together} == {0, 15}
