# SPDX-License-Identifier: Apache-2.0
"""The same cause at other places: in a release, of the heir, of a waiter that was passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fake_stalls as injected
import pytest
from fake_stalls import ACQUIRED, CALLED, HOLDER, IDLE, OTHER, RELEASED, RELEASING, WAITER

from lockyard.explain.causes import Cause
from lockyard.explain.stalls import explain
from lockyard.explain.trace import Kind, read_trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fake_trace import FakeTrace


def woken_while_the_releaser_is_away() -> FakeTrace:
    """The wake-up that arrived shows a free lock, so the releaser's absence delays no thread."""
    trace = injected.woken_not_running().without(RELEASED, HOLDER).without(Kind.WAKE_END)
    trace.stamps(HOLDER, (2901, Kind.WAKE_END), (2902, RELEASED))
    return trace.out(HOLDER, 22, preempted=True).back(HOLDER, 2900)


def wake_up_in_flight_in_a_long_release() -> FakeTrace:
    trace = injected.wakeup_in_flight().without(RELEASED, HOLDER).without(Kind.WAKE_END)
    return trace.stamps(HOLDER, (2981, Kind.WAKE_END), (2982, RELEASED))


def gap_in_a_release() -> FakeTrace:
    trace = injected.holder_preempted_in_release().without(Kind.SWITCH_OUT)
    return trace.without(Kind.SWITCH_IN).back(HOLDER, -5, cpu=1).gap(1, 30, 2950)


def gap_of_the_heir() -> FakeTrace:
    trace = injected.unexplained().without(Kind.SWITCH_IN)
    return trace.back(WAITER, -5, cpu=1).gap(1, 30, 2950)


def _passed_over(trace: FakeTrace) -> FakeTrace:
    """Thread 3 calls late and takes the lock that thread 2 has wanted all the time."""
    late = (2985, CALLED), (2986, ACQUIRED), (2990, RELEASING), (2990.1, RELEASED)
    return trace.stamps(OTHER, *late)


def waiter_preempted_and_passed_over() -> FakeTrace:
    return _passed_over(injected.waiter_preempted())


def waiter_in_a_gap_and_passed_over() -> FakeTrace:
    return _passed_over(gap_of_the_heir())


@pytest.mark.parametrize(
    ("scene", "cause"),
    [
        (woken_while_the_releaser_is_away, Cause.WOKEN_NOT_RUNNING),
        (wake_up_in_flight_in_a_long_release, Cause.WAKEUP_IN_FLIGHT),
        (gap_in_a_release, Cause.MACHINE_GAP),
        (gap_of_the_heir, Cause.MACHINE_GAP),
        (waiter_preempted_and_passed_over, Cause.WAITER_NOT_RUNNING),
        (waiter_in_a_gap_and_passed_over, Cause.MACHINE_GAP),
    ],
)
def test_finds_the_cause_wherever_it_is(
    tmp_path: Path, scene: Callable[[], FakeTrace], cause: Cause
) -> None:
    found = explain(read_trace(scene().write(tmp_path / "made-up.trace")), 100e3)
    (stall,) = (each for lock in found.locks for each in lock.stalls if each.kind is IDLE)
    assert stall.share(cause) > 0.9
