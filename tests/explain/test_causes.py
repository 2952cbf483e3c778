# SPDX-License-Identifier: Apache-2.0
"""Each cause is found where its evidence is, and only there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import made_up_stalls as planted
import pytest
from made_up_explanations import explanation_of, longest
from made_up_stalls import HOLDER, IDLE, OTHER, SCENES, WAIT, WAITER
from made_up_trace import MadeUpTrace

from lockyard.explain import stalls
from lockyard.explain.causes import Cause
from lockyard.explain.evidence import evidence
from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from made_up_trace import Row

    from lockyard.explain.stalls import StallKind


def with_argument(argument: int) -> Callable[[Row], Row]:
    return lambda row: (*row[:4], argument)


def at_cpu(cpu: int) -> Callable[[Row], Row]:
    return lambda row: (*row[:3], cpu, row[4])


@pytest.mark.parametrize(
    ("scene", "kind", "cause"), SCENES, ids=[f"{s.__name__}-{k}" for s, k, _ in SCENES]
)
def test_finds_the_cause_of_each_made_up_stall(
    tmp_path: Path, scene: Callable[[], MadeUpTrace], kind: StallKind, cause: Cause
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


MUTATIONS: list[tuple[str, Callable[[], MadeUpTrace], StallKind, Cause]] = [
    (
        "the kernel says that the holder went of itself",
        lambda: planted.holder_preempted().changed(Kind.SWITCH_OUT, with_argument(0), HOLDER),
        WAIT,
        Cause.HOLDER_ASLEEP,
    ),
    (
        "the holder was preempted by its own account, while asleep it was not",
        lambda: planted.holder_asleep().changed(Kind.SWITCH_OUT, with_argument(1), HOLDER),
        WAIT,
        Cause.HOLDER_PREEMPTED,
    ),
    (
        "the holder yields: the flag is set, and it was no preemption",
        lambda: planted.holder_preempted().stamps(
            HOLDER, (19, Kind.YIELD_BEGIN), (2991, Kind.YIELD_END)
        ),
        WAIT,
        Cause.HOLDER_ASLEEP,
    ),
    (
        "the holder's return is lost, so how long it was away is not known",
        lambda: planted.holder_preempted()
        .without(Kind.SWITCH_IN)
        .out(HOLDER, 2995, preempted=True),
        WAIT,
        Cause.UNEXPLAINED,
    ),
    (
        "no switch records at all",
        lambda: replace(planted.holder_preempted(), has_switches=False),
        WAIT,
        Cause.UNEXPLAINED,
    ),
    (
        "the release had ended before the releaser was preempted, and the waiter ran",
        lambda: planted.holder_preempted_in_release().changed(
            Kind.RELEASED, lambda row: (20 * 2000 + 60, *row[1:]), HOLDER
        ),
        IDLE,
        Cause.UNEXPLAINED,
    ),
    (
        "nobody woke the sleeper",
        lambda: planted.woken_late().without(Kind.WAKE_BEGIN),
        IDLE,
        Cause.UNEXPLAINED,
    ),
    (
        "the releaser had begun a wake-up, and its arrival is not recorded",
        lambda: planted.woken_not_running().without(Kind.WOKEN),
        IDLE,
        Cause.WOKEN_LATE,
    ),
    (
        "a waiter that left its processor of itself, in no yield and no sleep of the lock",
        lambda: planted.woken_late()
        .without(Kind.SLEEP_BEGIN)
        .stamps(OTHER, (4000, Kind.CALLED), (4000.5, Kind.SLEEP_BEGIN)),
        IDLE,
        Cause.WAITER_NOT_RUNNING,
    ),
    (
        "the waiter's absence is not recorded",
        lambda: planted.waiter_preempted()
        .without(Kind.SWITCH_OUT, WAITER)
        .without(Kind.SWITCH_IN, WAITER),
        IDLE,
        Cause.UNEXPLAINED,
    ),
    (
        "the thread that comes and goes had called before",
        lambda: planted.held_running().without(Kind.FAILED),
        WAIT,
        Cause.HELD_RUNNING,
    ),
    (
        "the waiter that is overtaken does not run, and could not have taken the lock",
        lambda: planted.barging().out(WAITER, 15, preempted=True).back(WAITER, 3015),
        WAIT,
        Cause.WAITER_NOT_RUNNING,
    ),
    (
        "the holder stays where it was",
        lambda: planted.migration().without(Kind.MIGRATED),
        WAIT,
        Cause.HOLDER_PREEMPTED,
    ),
    (
        "the holder is moved while it is preempted already",
        lambda: planted.migration().changed(
            Kind.MIGRATED, lambda row: (200 * 2000, *row[1:]), HOLDER
        ),
        WAIT,
        Cause.HOLDER_PREEMPTED,
    ),
    (
        "another processor stood still",
        lambda: planted.machine_gap().changed(Kind.SWITCH_IN, at_cpu(0), HOLDER),
        WAIT,
        Cause.HELD_RUNNING,
    ),
    (
        "the gap is shorter than half of the wait",
        lambda: planted.machine_gap().changed(Kind.GAP, with_argument(2000 * 1000), 1),
        WAIT,
        Cause.HELD_RUNNING,
    ),
    (
        "whether the holder ran is not known",
        lambda: replace(planted.held_running(), has_switches=False),
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
    tmp_path: Path, scene: Callable[[], MadeUpTrace], kind: StallKind, cause: Cause
) -> None:
    assert longest(explanation_of(scene(), tmp_path), kind).cause is cause


def test_overtaking_takes_a_later_call(tmp_path: Path) -> None:
    """Others that were in line before are no bargers."""
    trace = planted.barging().changed(Kind.CALLED, lambda row: (2019 * 2000, *row[1:]), WAITER)
    stall = longest(explanation_of(trace, tmp_path), WAIT)
    assert stall.overtakings == 10


def passed_by(acquires: float = 80) -> MadeUpTrace:
    """Thread 3 comes and goes 15 times, and is at acquiring or releasing almost all the time."""
    trace = planted.barging().without(Kind.CALLED, OTHER)
    for kind in (Kind.ACQUIRED, Kind.RELEASING, Kind.RELEASED):
        trace.without(kind, OTHER)
    for number in range(15):
        at = 20.2 + number * 200
        acquired = at + acquires
        calls = (at, Kind.CALLED), (acquired, Kind.ACQUIRED), (acquired + 2, Kind.RELEASING)
        trace.stamps(OTHER, *calls, (at + 199.9, Kind.RELEASED))
    return trace.back(OTHER, -5, cpu=1)


@pytest.mark.parametrize(
    ("trace", "cause"),
    [
        (passed_by, Cause.BARGING),
        (
            lambda: passed_by().out(WAITER, 15, preempted=True).back(WAITER, 3015),
            Cause.WAITER_NOT_RUNNING,
        ),
        (
            lambda: passed_by(acquires=120).out(WAITER, 15, preempted=True).back(WAITER, 3015),
            Cause.WAITER_NOT_RUNNING,
        ),
        (
            lambda: passed_by()
            .out(WAITER, 15, preempted=True)
            .moved(WAITER, 17)
            .back(WAITER, 3015, cpu=1),
            Cause.MIGRATION,
        ),
        (
            lambda: passed_by()
            .stamps(WAITER, (14, Kind.SLEEP_BEGIN), (3016, Kind.SLEEP_END))
            .stamps(HOLDER, (20.02, Kind.WAKE_BEGIN), (20.05, Kind.WAKE_END))
            .out(WAITER, 15, preempted=False)
            .woken(WAITER, 20.04, HOLDER)
            .back(WAITER, 3015),
            Cause.WOKEN_NOT_RUNNING,
        ),
        # Near misses: no record says that thread 3 ran, or it had called before.
        (lambda: replace(passed_by(), has_switches=False), Cause.UNEXPLAINED),
        (
            lambda: planted.unexplained()
            .stamps(OTHER, (5, Kind.CALLED), (20.2, Kind.ACQUIRED))
            .stamps(OTHER, (21, Kind.RELEASING), (2990, Kind.RELEASED))
            .back(OTHER, -5, cpu=1),
            Cause.UNEXPLAINED,
        ),
    ],
)
def test_a_lock_that_passes_a_waiter_by_is_not_held_all_the_time(
    tmp_path: Path, trace: Callable[[], MadeUpTrace], cause: Cause
) -> None:
    found = explanation_of(trace(), tmp_path)
    (lock,) = found.locks
    stall = longest(found, WAIT)
    assert found.threads[stall.subject].tid == WAITER
    assert stall.cause is cause
    assert stall.share(cause) > 0.9
    told = evidence(found, lock, stall)[0]
    assert told.cause is cause
    if cause not in (Cause.BARGING, Cause.UNEXPLAINED):
        assert told.thread == f"worker {WAITER}"
    # Why the lock lay idle is another question, and who passes by does not answer it.
    assert longest(found, IDLE).share(Cause.BARGING) == 0


def test_stalls_are_explained_alike_whether_together_or_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = explanation_of(passed_by(), tmp_path).locks[0].stalls
    monkeypatch.setattr(stalls, "PIECES_AT_ONCE", 1)
    one_by_one = explanation_of(passed_by(), tmp_path).locks[0].stalls
    assert len(together) == len(one_by_one) > 2

    def told(of: list[stalls.Stall]) -> list[tuple[object, ...]]:
        return sorted((each.begin, each.kind, each.overtakings, *each.amounts) for each in of)

    assert told(together) == told(one_by_one)
    assert {each.overtakings for each in together} == {0, 15}


def woken_by_who_comes_back() -> MadeUpTrace:
    """Thread 1 is in its wake-up of thread 2 for long, and takes the lock again afterwards."""
    trace = MadeUpTrace()
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
def test_who_wakes_others_has_let_go_before(
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
    (lock,) = found.locks
    (stall,) = (each for each in lock.stalls if found.threads[each.subject].tid == OTHER)
    assert stall.cause is Cause.WOKEN_NOT_RUNNING
    assert evidence(found, lock, stall)[0].thread == f"worker {WAITER}"

    trace = woken_by_who_comes_back().woken(WAITER, 30, HOLDER)
    trace.stamps(OTHER, (9, Kind.CALLED), (2991, Kind.ACQUIRED), (2991.3, Kind.RELEASING))
    trace.stamps(OTHER, (2991.4, Kind.RELEASED)).out(OTHER, 13, preempted=True).back(OTHER, 2985)
    found = explanation_of(trace, tmp_path)
    assert longest(found, IDLE).cause is Cause.WAITER_NOT_RUNNING


def test_who_is_woken_while_the_lock_passes_another_waiter_by_is_told_of(tmp_path: Path) -> None:
    """Thread 3 called last and releases; thread 4 gets no processor; thread 2 would not either."""
    trace = planted.waiter_preempted().back(OTHER, -5, cpu=1)
    calls = (20.2, Kind.CALLED), (20.4, Kind.ACQUIRED), (21, Kind.RELEASING)
    trace.stamps(OTHER, *calls, (21.5, Kind.WAKE_BEGIN), (2800, Kind.WAKE_END))
    trace.stamps(OTHER, (2801, Kind.RELEASED))
    heir = 4
    trace.stamps(heir, (9, Kind.CALLED), (12, Kind.SLEEP_BEGIN), (2796, Kind.SLEEP_END))
    trace.stamps(heir, (2802, Kind.ACQUIRED), (2803, Kind.RELEASING), (2803.1, Kind.RELEASED))
    trace.out(heir, 13, preempted=False).woken(heir, 2790, OTHER).back(heir, 2795)
    found = explanation_of(trace, tmp_path)
    (lock,) = found.locks
    (stall,) = (
        each
        for each in lock.stalls
        if each.kind is WAIT and found.threads[each.subject].tid == WAITER
    )
    told = evidence(found, lock, stall)[0]
    assert (told.cause, told.thread) == (Cause.WAKEUP_IN_FLIGHT, f"worker {heir}")


def test_a_lock_whose_sleep_is_not_stamped_is_woken_late_by_switch_records(tmp_path: Path) -> None:
    trace = planted.woken_late().without(Kind.SLEEP_BEGIN).without(Kind.SLEEP_END)
    trace.without(Kind.WAKE_BEGIN)
    assert longest(explanation_of(trace, tmp_path), IDLE).cause is Cause.WOKEN_LATE


def test_without_records_the_lock_s_own_stamps_still_tell_of_sleep_and_yield(
    tmp_path: Path,
) -> None:
    slept = replace(planted.woken_late(), has_switches=False)
    assert longest(explanation_of(slept, tmp_path), IDLE).cause is Cause.WOKEN_LATE
    yielded = replace(planted.waiter_yielded(), has_switches=False)
    assert longest(explanation_of(yielded, tmp_path), IDLE).cause is Cause.WAITER_NOT_RUNNING


def test_idle_time_counts_only_if_somebody_had_called_before(tmp_path: Path) -> None:
    trace = planted.unexplained().changed(Kind.CALLED, lambda row: (30 * 2000, *row[1:]), WAITER)
    found = explanation_of(trace, tmp_path)
    assert [stall.kind for lock in found.locks for stall in lock.stalls] == [WAIT]


def test_shows_a_wait_that_never_ended(tmp_path: Path) -> None:
    trace = planted.holder_preempted()
    for kind in (Kind.RELEASING, Kind.RELEASED, Kind.ACQUIRED, Kind.SWITCH_IN):
        trace.without(kind, WAITER)
    for kind in (Kind.RELEASING, Kind.RELEASED, Kind.SWITCH_IN):
        trace.without(kind, HOLDER)
    stall = longest(explanation_of(trace, tmp_path), WAIT)
    assert stall.is_open
    assert stall.cause is Cause.HOLDER_PREEMPTED


def test_a_recursive_lock_is_held_until_its_last_release(tmp_path: Path) -> None:
    trace = planted.holder_preempted()
    rows = next(rows for (_, tid), rows in trace.rows.items() if tid == HOLDER and rows)
    inner = [(100, Kind.CALLED), (101, Kind.ACQUIRED), (102, Kind.RELEASING), (103, Kind.RELEASED)]
    rows[2:2] = [(at * 20, rows[0][1], int(kind), rows[0][3], 0) for at, kind in inner]
    assert longest(explanation_of(trace, tmp_path), WAIT).cause is Cause.HOLDER_PREEMPTED


def woken_and_overtaken() -> MadeUpTrace:
    """After its wake-up went out, the releaser takes and releases the lock once more, silently."""
    trace = planted.woken_late()
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
    trace = planted.woken_not_running()
    again = (2985, Kind.CALLED), (2986, Kind.ACQUIRED), (2987, Kind.RELEASING)
    trace.stamps(HOLDER, *again, (2987.1, Kind.RELEASED))
    trace.stamps(OTHER, (9, Kind.CALLED), (12, Kind.SLEEP_BEGIN), (3009, Kind.SLEEP_END))
    trace.stamps(OTHER, (3010, Kind.FAILED)).out(OTHER, 13, preempted=False).back(OTHER, 3008)
    found = explanation_of(trace, tmp_path)
    (lock,) = found.locks
    (stall,) = (each for each in lock.stalls if found.threads[each.subject].tid == OTHER)
    assert stall.kind is WAIT
    assert stall.cause is Cause.WOKEN_NOT_RUNNING
    assert evidence(found, lock, stall)[0].thread == f"worker {WAITER}"


def overtaken_and_stamped_late() -> MadeUpTrace:
    """Thread 2 calls last, and is away until it stamps; thread 3 waits and runs all the time."""
    trace = planted.waiter_preempted().back(OTHER, -5, cpu=1)
    return trace.stamps(OTHER, (9, Kind.CALLED), (3050, Kind.FAILED))


def test_an_owner_may_be_preempted_before_it_stamps_its_acquisition(tmp_path: Path) -> None:
    """Who had called before, and ran, would have got a free lock."""
    found = explanation_of(overtaken_and_stamped_late(), tmp_path)
    (lock,) = found.locks
    stall = longest(found, IDLE)
    assert stall.cause is Cause.HOLDER_PREEMPTED
    assert "others ran and did not get it" in evidence(found, lock, stall)[0].text


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
    tmp_path: Path, trace: Callable[[], MadeUpTrace], why: str
) -> None:
    stall = longest(explanation_of(trace(), tmp_path), IDLE)
    assert stall.cause is Cause.WAITER_NOT_RUNNING, why
