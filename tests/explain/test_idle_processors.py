# SPDX-License-Identifier: Apache-2.0
"""A processor that was idle while a thread was queued on another one is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fake_trace import FakeTrace

from lockyard.explain.evidence import evidence
from lockyard.explain.idle_processors import IdleProcessors
from lockyard.explain.stalls import StallKind, explain
from lockyard.explain.threads import threads_of
from lockyard.explain.trace import Kind, read_trace

if TYPE_CHECKING:
    from pathlib import Path

OWNER, WAITER = 11, 22


def preempted_owner(back_on: int = 1) -> FakeTrace:
    """An owner loses cpu 0 for 3 ms, while another thread waits, and comes back."""
    return (
        FakeTrace()
        .stamps(OWNER, (10, Kind.CALLED), (11, Kind.ACQUIRED))
        .stamps(OWNER, (3050, Kind.RELEASING), (3051, Kind.RELEASED))
        .stamps(WAITER, (20, Kind.CALLED), (3052, Kind.ACQUIRED), (3060, Kind.RELEASING))
        .stamps(WAITER, (3061, Kind.RELEASED))
        .back(OWNER, 1, cpu=0)
        .back(WAITER, 1, cpu=1)
        .out(OWNER, 40, preempted=True, cpu=0)
        .back(OWNER, 3040, cpu=back_on)
    )


def told(trace: FakeTrace, folder: Path) -> str:
    explanation = explain(read_trace(trace.write(folder / "a.trace")), 1e6)
    (lock,) = explanation.locks
    (stall,) = [each for each in lock.stalls if each.kind is StallKind.WAIT]
    return " | ".join(each.text for each in evidence(explanation, lock, stall))


def test_names_the_idle_processor_and_the_late_migration(tmp_path: Path) -> None:
    text = told(preempted_owner().idle(1, 700, 2330), tmp_path)
    assert "queued on cpu 0 while cpu 1 was idle for 2.33 ms, until it was moved there" in text


def test_a_thread_that_stays_on_its_processor_was_not_moved(tmp_path: Path) -> None:
    text = told(preempted_owner(back_on=0).idle(1, 700, 2000), tmp_path)
    assert "while cpu 1 was idle for 2.00 ms" in text
    assert "moved" not in text


@pytest.mark.parametrize(
    ("cpu", "at", "length"),
    [(0, 700, 2000), (1, 5000, 9000), (1, 700, 30), (1, 5, 20)],
    ids=["its own", "later", "too short", "before"],
)
def test_nothing_is_said_of_other_idle_times(
    tmp_path: Path, cpu: int, at: float, length: float
) -> None:
    assert "idle" not in told(preempted_owner().idle(cpu, at, length), tmp_path)


def test_sums_what_threads_waited_and_what_was_wasted(tmp_path: Path) -> None:
    trace = read_trace(preempted_owner().idle(1, 1040, 1000).write(tmp_path / "a.trace"))
    idle = IdleProcessors(trace)
    assert idle.are_known
    waited, wasted = idle.waited_and_wasted(threads_of(trace))
    assert trace.ns(waited) == pytest.approx(3e6)
    assert trace.ns(wasted) == pytest.approx(1e6)
    without = read_trace(preempted_owner().write(tmp_path / "b.trace"))
    assert not IdleProcessors(without).are_known


def test_only_the_longest_idle_processor_counts_and_only_while_the_thread_waits(
    tmp_path: Path,
) -> None:
    """The thread waits from 40 to 3040 µs; two processors are idle at once, one of them before."""
    trace = preempted_owner().idle(1, 0, 1040).idle(2, 500, 2000)
    opened = read_trace(trace.write(tmp_path / "a.trace"))
    idle = IdleProcessors(opened)
    (owner, _) = sorted(threads_of(opened), key=lambda each: each.tid)
    (waited,) = owner.all_runnable()
    found = {cpu: opened.ns(ticks) for cpu, ticks in idle.elsewhere(waited)}
    assert list(found) == [2, 1]
    assert list(found.values()) == pytest.approx([2e6, 1e6])
    assert opened.ns(idle.waited_and_wasted([owner])[1]) == pytest.approx(2e6)
