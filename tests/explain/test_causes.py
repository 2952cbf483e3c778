# SPDX-License-Identifier: Apache-2.0
"""Each cause is found where its evidence is, and only there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import fake_stalls as injected
import pytest
from fake_explanations import explanation_of, longest
from fake_stalls import HOLDER, IDLE, OTHER, SCENES, WAIT, WAITER

from lockyard.explain.causes import Cause
from lockyard.explain.evidence import evidence
from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fake_trace import FakeTrace, Row

    from lockyard.explain.stalls import StallKind


def with_argument(argument: int) -> Callable[[Row], Row]:
    return lambda row: (*row[:4], argument)


def at_cpu(cpu: int) -> Callable[[Row], Row]:
    return lambda row: (*row[:3], cpu, row[4])


@pytest.mark.parametrize(
    ("scene", "kind", "cause"), SCENES, ids=[f"{s.__name__}-{k}" for s, k, _ in SCENES]
)
def test_finds_the_cause_of_each_made_up_stall(
    tmp_path: Path, scene: Callable[[], FakeTrace], kind: StallKind, cause: Cause
) -> None:
    found = explanation_of(scene(), tmp_path)
    stall = longest(found, kind)
    assert stall.cause is cause
    assert stall.share(cause) > 0.9
    assert sum(stall.amounts) == stall.length
    (lock,) = found.locks
    told = evidence(found, lock, stall)
    assert told[0].cause is cause
    assert told[0].length_ns > 0.02 * found.trace.ns(stall.length)


MUTATIONS: list[tuple[str, Callable[[], FakeTrace], StallKind, Cause]] = [
    (
        "the kernel says that the holder went of itself",
        lambda: injected.holder_preempted().changed(Kind.SWITCH_OUT, with_argument(0), HOLDER),
        WAIT,
        Cause.HOLDER_ASLEEP,
    ),
    (
        "the holder was preempted by its own account, while asleep it was not",
        lambda: injected.holder_asleep().changed(Kind.SWITCH_OUT, with_argument(1), HOLDER),
        WAIT,
        Cause.HOLDER_PREEMPTED,
    ),
    (
        "the holder yields: the flag is set, but it was not preempted",
        lambda: injected.holder_preempted().stamps(
            HOLDER, (19, Kind.YIELD_BEGIN), (2991, Kind.YIELD_END)
        ),
        WAIT,
        Cause.HOLDER_ASLEEP,
    ),
    (
        "the holder's return is lost, so how long it was away is not known",
        lambda: injected.holder_preempted()
        .without(Kind.SWITCH_IN)
        .out(HOLDER, 2995, preempted=True),
        WAIT,
        Cause.UNEXPLAINED,
    ),
    (
        "no switch records at all",
        lambda: replace(injected.holder_preempted(), has_switches=False),
        WAIT,
        Cause.UNEXPLAINED,
    ),
    (
        "the release had ended before the releaser was preempted, and the waiter ran",
        lambda: injected.holder_preempted_in_release().changed(
            Kind.RELEASED, lambda row: (20 * 2000 + 60, *row[1:]), HOLDER
        ),
        IDLE,
        Cause.UNEXPLAINED,
    ),
    (
        "no thread woke the sleeper",
        lambda: injected.woken_late().without(Kind.WAKE_BEGIN),
        IDLE,
        Cause.UNEXPLAINED,
    ),
    (
        "the releaser had begun a wake-up, and its arrival is not recorded",
        lambda: injected.woken_not_running().without(Kind.WOKEN),
        IDLE,
        Cause.WOKEN_LATE,
    ),
    (
        "a waiter that left its processor of itself, in no yield and no sleep of the lock",
        lambda: injected.woken_late()
        .without(Kind.SLEEP_BEGIN)
        .stamps(OTHER, (4000, Kind.CALLED), (4000.5, Kind.SLEEP_BEGIN)),
        IDLE,
        Cause.WAITER_NOT_RUNNING,
    ),
    (
        "the waiter's absence is not recorded",
        lambda: injected.waiter_preempted()
        .without(Kind.SWITCH_OUT, WAITER)
        .without(Kind.SWITCH_IN, WAITER),
        IDLE,
        Cause.UNEXPLAINED,
    ),
    (
        "the thread that comes and goes had called before",
        lambda: injected.held_running().without(Kind.FAILED),
        WAIT,
        Cause.HELD_RUNNING,
    ),
    (
        "the waiter that others barge past does not run, and could not have acquired the lock",
        lambda: injected.barging().out(WAITER, 15, preempted=True).back(WAITER, 3015),
        WAIT,
        Cause.WAITER_NOT_RUNNING,
    ),
    (
        "the holder stays where it was",
        lambda: injected.migration().without(Kind.MIGRATED),
        WAIT,
        Cause.HOLDER_PREEMPTED,
    ),
    (
        "the holder is moved while it is preempted already",
        lambda: injected.migration().changed(
            Kind.MIGRATED, lambda row: (200 * 2000, *row[1:]), HOLDER
        ),
        WAIT,
        Cause.HOLDER_PREEMPTED,
    ),
    (
        "another processor stood still",
        lambda: injected.machine_gap().changed(Kind.SWITCH_IN, at_cpu(0), HOLDER),
        WAIT,
        Cause.HELD_RUNNING,
    ),
    (
        "the gap is shorter than half of the wait",
        lambda: injected.machine_gap().changed(Kind.GAP, with_argument(2000 * 1000), 1),
        WAIT,
        Cause.HELD_RUNNING,
    ),
    (
        "whether the holder ran is not known",
        lambda: replace(injected.held_running(), has_switches=False),
        WAIT,
        Cause.UNEXPLAINED,
    ),
]


@pytest.mark.parametrize(
    ("scene", "kind", "cause"),
    [each[1:] for each in MUTATIONS],
    ids=[each[0].replace(" ", "-") for each in MUTATIONS],
)
def test_finds_another_cause_or_none_once_the_evidence_is_changed(
    tmp_path: Path, scene: Callable[[], FakeTrace], kind: StallKind, cause: Cause
) -> None:
    assert longest(explanation_of(scene(), tmp_path), kind).cause is cause


def test_a_lock_whose_sleep_is_not_stamped_is_woken_late_by_switch_records(tmp_path: Path) -> None:
    trace = injected.woken_late().without(Kind.SLEEP_BEGIN).without(Kind.SLEEP_END)
    trace.without(Kind.WAKE_BEGIN)
    assert longest(explanation_of(trace, tmp_path), IDLE).cause is Cause.WOKEN_LATE


def test_without_records_the_lock_s_own_stamps_still_tell_of_sleep_and_yield(
    tmp_path: Path,
) -> None:
    slept = replace(injected.woken_late(), has_switches=False)
    assert longest(explanation_of(slept, tmp_path), IDLE).cause is Cause.WOKEN_LATE
    yielded = replace(injected.waiter_yielded(), has_switches=False)
    assert longest(explanation_of(yielded, tmp_path), IDLE).cause is Cause.WAITER_NOT_RUNNING


def test_idle_time_counts_only_if_a_thread_had_called_before(tmp_path: Path) -> None:
    trace = injected.unexplained().changed(Kind.CALLED, lambda row: (30 * 2000, *row[1:]), WAITER)
    found = explanation_of(trace, tmp_path)
    assert [stall.kind for lock in found.locks for stall in lock.stalls] == [WAIT]


def test_shows_a_wait_that_never_ended(tmp_path: Path) -> None:
    trace = injected.holder_preempted()
    for kind in (Kind.RELEASING, Kind.RELEASED, Kind.ACQUIRED, Kind.SWITCH_IN):
        trace.without(kind, WAITER)
    for kind in (Kind.RELEASING, Kind.RELEASED, Kind.SWITCH_IN):
        trace.without(kind, HOLDER)
    stall = longest(explanation_of(trace, tmp_path), WAIT)
    assert stall.is_open
    assert stall.cause is Cause.HOLDER_PREEMPTED


def test_a_recursive_lock_is_held_until_its_last_release(tmp_path: Path) -> None:
    trace = injected.holder_preempted()
    rows = next(rows for (_, tid), rows in trace.rows.items() if tid == HOLDER and rows)
    inner = [(100, Kind.CALLED), (101, Kind.ACQUIRED), (102, Kind.RELEASING), (103, Kind.RELEASED)]
    rows[2:2] = [(at * 20, rows[0][1], int(kind), rows[0][3], 0) for at, kind in inner]
    assert longest(explanation_of(trace, tmp_path), WAIT).cause is Cause.HOLDER_PREEMPTED


def overtaken_and_stamped_late() -> FakeTrace:
    """Thread 2 calls last, and is away until it stamps; thread 3 waits and runs all the time."""
    trace = injected.waiter_preempted().back(OTHER, -5, cpu=1)
    return trace.stamps(OTHER, (9, Kind.CALLED), (3050, Kind.FAILED))


def test_an_owner_may_be_preempted_before_it_stamps_its_acquisition(tmp_path: Path) -> None:
    """A thread that had called before, and ran, would have acquired a free lock."""
    found = explanation_of(overtaken_and_stamped_late(), tmp_path)
    (lock,) = found.locks
    stall = longest(found, IDLE)
    assert stall.cause is Cause.HOLDER_PREEMPTED
    assert "while others ran without it" in evidence(found, lock, stall)[0].text


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (
            lambda: overtaken_and_stamped_late().changed(
                Kind.CALLED, lambda row: (11 * 2000, *row[1:]), OTHER
            ),
            "it called later, and may have to wait for its turn",
        ),
        (
            lambda: overtaken_and_stamped_late().out(OTHER, 16, preempted=True),
            "it did not run either",
        ),
    ],
)
def test_a_lock_counts_as_free_unless_an_earlier_caller_ran_in_vain(
    tmp_path: Path, trace: Callable[[], FakeTrace], why: str
) -> None:
    stall = longest(explanation_of(trace(), tmp_path), IDLE)
    assert stall.cause is Cause.WAITER_NOT_RUNNING, why
