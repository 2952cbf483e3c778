# SPDX-License-Identifier: Apache-2.0
"""Traces that programs write of themselves: switches between stamps, some added at the end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import fake_stalls as injected
import pytest
from fake_explanations import explanation_of, longest
from fake_stalls import HOLDER, IDLE, SCENES, WAIT, WAITER

from lockyard.explain.causes import Cause
from lockyard.explain.trace import Kind, RingKind, read_trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fake_trace import FakeTrace

    from lockyard.explain.stalls import StallKind


@pytest.mark.parametrize("last_stamp", [1e9, 100, 0], ids=["all", "some", "none"])
@pytest.mark.parametrize(
    ("scene", "kind", "cause"), SCENES, ids=[f"{s.__name__}-{k}" for s, k, _ in SCENES]
)
def test_records_say_the_same_wherever_they_stand(
    tmp_path: Path,
    scene: Callable[[], FakeTrace],
    kind: StallKind,
    cause: Cause,
    last_stamp: float,
) -> None:
    assert longest(explanation_of(scene().own(last_stamp), tmp_path), kind).cause is cause


def test_a_record_that_is_there_twice_changes_nothing(tmp_path: Path) -> None:
    """Its thread was about to copy it when the trace ended; the clocks were read again."""
    trace = injected.holder_preempted().out(HOLDER, 20.02, preempted=True).back(HOLDER, 2990.02)
    found = longest(explanation_of(trace.own(1e9), tmp_path), WAIT)
    assert found.cause is Cause.HOLDER_PREEMPTED
    assert found.share(Cause.HOLDER_PREEMPTED) > 0.9


def lost(trace: FakeTrace, tid: int, at_us: float) -> FakeTrace:
    row = trace.rows[RingKind.SWITCHES, tid]
    row.append((round(at_us * 2000), 0, int(Kind.RECORDS_LOST), 0, 3))
    row.sort(key=lambda each: each[0])
    return trace


@pytest.mark.parametrize(
    ("at_us", "cause"), [(2900, Cause.UNEXPLAINED), (10, Cause.HOLDER_PREEMPTED)]
)
def test_where_records_were_lost_nothing_is_known(
    tmp_path: Path, at_us: float, cause: Cause
) -> None:
    """From the last one before the loss: it may have come back at once, and gone again."""
    trace = lost(injected.holder_preempted(), HOLDER, at_us).own(1e9)
    assert longest(explanation_of(trace, tmp_path), WAIT).cause is cause


def test_a_thread_that_came_before_lost_records_does_not_count_as_running(tmp_path: Path) -> None:
    trace = lost(injected.held_running(), HOLDER, 2900).own(1e9)
    assert longest(explanation_of(trace, tmp_path), WAIT).cause is Cause.UNEXPLAINED


@pytest.mark.parametrize(("ends", "cause"), [(3000, Cause.HELD_RUNNING), (0, Cause.UNEXPLAINED)])
def test_after_a_threads_last_event_a_running_trace_tells_nothing(
    tmp_path: Path, ends: int, cause: Cause
) -> None:
    """It may have lost its processor: that is copied with its next stamp."""
    trace = replace(injected.held_running(), ends=ends * 2000)
    for kind in (Kind.RELEASING, Kind.RELEASED, Kind.ACQUIRED):
        trace.without(kind, WAITER)
    for kind in (Kind.RELEASING, Kind.RELEASED):
        trace.without(kind, HOLDER)
    trace.stamps(3, (2999, Kind.CALLED), (2999.5, Kind.FAILED), lock=0x99)
    assert longest(explanation_of(trace.own(1e9), tmp_path), WAIT).cause is cause


def test_what_a_running_program_has_stamped_is_explained(tmp_path: Path) -> None:
    trace = replace(injected.holder_preempted_in_release(), ends=0).own(1e9)
    found = longest(explanation_of(trace, tmp_path), IDLE)
    assert found.cause is Cause.HOLDER_PREEMPTED_IN_RELEASE


def test_threads_without_records_are_counted_and_not_taken_to_run(tmp_path: Path) -> None:
    trace = replace(injected.held_running(), threads_without_switches=2).own(1e9)
    trace.is_own = False
    path = trace.write(tmp_path / "a.trace")
    (warning,) = read_trace(path).warnings
    assert "2 threads have no switch records" in warning
    assert "no perf" in warning
    assert longest(explanation_of(trace, tmp_path), WAIT).cause is Cause.UNEXPLAINED
