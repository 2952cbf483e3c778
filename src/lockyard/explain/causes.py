# SPDX-License-Identifier: Apache-2.0
"""The causes of a stall's time, and the rules that recognise each cause by its evidence.

A rule looks at the records of one moment; no rule concludes from what other rules leave over. Time
to which no rule applies is unexplained.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from lockyard.explain.stretches import ON_PROCESSOR, Doing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lockyard.explain.moments import Being, Moments


class Cause(IntEnum):
    UNEXPLAINED = 0
    HOLDER_PREEMPTED = 1
    HOLDER_PREEMPTED_IN_RELEASE = 2
    HOLDER_ASLEEP = 3
    WOKEN_LATE = 4
    WAKEUP_IN_FLIGHT = 5
    WOKEN_NOT_RUNNING = 6
    WAITER_NOT_RUNNING = 7
    BARGING = 8
    MIGRATION = 9
    MACHINE_GAP = 10
    HELD_RUNNING = 11
    FALLS_ASLEEP = 12
    TIMED_SLEEP = 13

    @property
    def stored(self) -> str:
        return self.name.lower()

    @property
    def whole(self) -> Cause:
        """Returns the cause that includes this one; a stall's main cause is found among these."""
        parts = (Cause.WAKEUP_IN_FLIGHT, Cause.WOKEN_NOT_RUNNING)
        return Cause.WOKEN_LATE if self in parts else self


BY_NAME = {cause.stored: cause for cause in Cause}
WHOLE = np.array([cause.whole for cause in Cause])

# The cause that applies when the holder is not at work.
OF_HOLDER = {
    Doing.PREEMPTED: Cause.HOLDER_PREEMPTED,
    Doing.YIELDED: Cause.HOLDER_ASLEEP,
    Doing.ASLEEP: Cause.HOLDER_ASLEEP,
    Doing.BLOCKED: Cause.HOLDER_ASLEEP,
    Doing.WOKEN: Cause.HOLDER_ASLEEP,
    Doing.MOVING: Cause.MIGRATION,
}
OF_RELEASER = {
    **OF_HOLDER,
    Doing.PREEMPTED: Cause.HOLDER_PREEMPTED_IN_RELEASE,
    Doing.INTERRUPTED: Cause.HOLDER_PREEMPTED_IN_RELEASE,
    Doing.RETURNS: Cause.HOLDER_PREEMPTED_IN_RELEASE,
}
# The cause for a waiter that could have taken the lock. A waiter that sleeps may not have been
# woken.
OF_WAITER = {
    Doing.PREEMPTED: Cause.WAITER_NOT_RUNNING,
    Doing.YIELDED: Cause.WAITER_NOT_RUNNING,
    Doing.BLOCKED: Cause.WAITER_NOT_RUNNING,
    Doing.WOKEN: Cause.WOKEN_NOT_RUNNING,
    Doing.MOVING: Cause.MIGRATION,
    Doing.LEAVES_YIELD: Cause.WAITER_NOT_RUNNING,
    Doing.INTERRUPTED: Cause.WAITER_NOT_RUNNING,
    Doing.RETURNS: Cause.WAITER_NOT_RUNNING,
    Doing.FALLS_ASLEEP: Cause.FALLS_ASLEEP,
}
# In these states a waiter is certainly not waiting to be woken.
ABSENT = (Doing.PREEMPTED, Doing.YIELDED, Doing.MOVING, Doing.LEAVES_YIELD, Doing.RETURNS)


def _looked_up(table: dict[Doing, Cause], doing: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.array([table.get(each, Cause.UNEXPLAINED) for each in Doing], np.uint8)[doing]


def of_wait(m: Moments) -> NDArray[np.uint8]:
    """Returns the cause of each moment in which the stalled thread, the subject, wanted the
    lock."""
    none = np.uint8(Cause.UNEXPLAINED)
    by_holder = _looked_up(OF_HOLDER, m.owner.doing)
    by_unstamped = _looked_up(OF_HOLDER, m.heir.doing)
    by_releaser = _looked_up(OF_RELEASER, m.owner.doing)
    by_heir, by_subject = _of_waiter(m, m.heir), _of_waiter(m, m.subject)
    by_awoken = _of_waiter(m, m.awoken)
    owner_runs = np.isin(m.owner.doing, ON_PROCESSOR)
    heir_is_awoken = (m.heir.doing == Doing.WOKEN) & (m.heir.began >= m.release_began)
    overtaken = m.held & m.overtook
    rules: list[tuple[NDArray[np.bool_], Any]] = [
        # Held: what delays the holder, and then whether it was the holder's turn at all.
        (m.held & (by_holder != none), by_holder),
        (m.held & m.owner.in_gap, Cause.MACHINE_GAP),
        (m.held & ~m.overtook & owner_runs, Cause.HELD_RUNNING),
        (overtaken & _tries_or_sleeps(m), Cause.BARGING),
        (overtaken & (by_subject != none), by_subject),
        # In the release: the lock is free once a wake-up has arrived.
        (m.releasing & m.heir_called & heir_is_awoken, Cause.WOKEN_NOT_RUNNING),
        # The releaser has let go, but the thread that can take the lock does not run.
        (m.releasing & m.let_go & m.heir_called & np.isin(m.heir.doing, ABSENT), by_heir),
        (m.releasing & (by_releaser != none), by_releaser),
        (m.releasing & m.owner.in_gap, Cause.MACHINE_GAP),
        (m.stopped & (m.owner.doing == Doing.RUNNING), Cause.MACHINE_GAP),
        (
            m.releasing & m.heir_called & m.heir.wake_sent & (m.heir.doing == Doing.ASLEEP),
            by_heir,
        ),
        # Free according to the stamps, but taken already.
        (m.heir_has_it & (by_unstamped != none), by_unstamped),
        # Free, and meant for the next owner; if that has not called yet, for the subject.
        (m.let_go & m.heir_called & (by_heir != none), by_heir),
        (m.let_go & m.heir_called & m.heir.in_gap, Cause.MACHINE_GAP),
        (
            m.let_go & m.heir_called & m.heir_stopped & (m.heir.doing == Doing.RUNNING),
            Cause.MACHINE_GAP,
        ),
        (m.let_go & ~m.heir_called & (by_subject != none), by_subject),
        (m.let_go & ~m.heir_called & m.subject.in_gap, Cause.MACHINE_GAP),
        # Or it passes the subject by, as a held lock does.
        (m.passes_by & m.is_brief & _tries_or_sleeps(m), Cause.BARGING),
        (m.passes_by & (by_subject != none), by_subject),
        # Or meant for a third thread that was woken instead of the subject, which still sleeps, or
        # has not called yet.
        (
            m.let_go & ~m.heir_called & ((m.subject.doing == Doing.ASLEEP) | ~m.subject_called),
            by_awoken,
        ),
    ]
    found: NDArray[np.uint8] = np.select(
        [condition for condition, _ in rules], [cause for _, cause in rules], none
    ).astype(np.uint8)
    return found


def _tries_or_sleeps(m: Moments) -> NDArray[np.bool_]:
    """Tells where the subject waits as its lock makes it wait, so that the owner barged."""
    found = np.isin(m.subject.doing, (Doing.UNKNOWN, *ON_PROCESSOR))
    found |= (m.subject.doing == Doing.ASLEEP) & ~m.subject.wake_sent
    if not m.stamps_sleep:
        found |= m.subject.doing == Doing.BLOCKED
    return found


def _of_waiter(m: Moments, waiter: Being) -> NDArray[np.uint8]:
    """Returns the cause for a thread that has called and could take the lock."""
    woken = (waiter.doing == Doing.ASLEEP) & waiter.wake_sent
    if not m.stamps_sleep:
        # The lock's sleep is not stamped: a thread that went to sleep by itself before the release
        # and comes back after it was woken in between.
        woken |= (waiter.doing == Doing.BLOCKED) & (waiter.since < m.free_since)
    in_flight = np.where(waiter.wake_arrives, Cause.WAKEUP_IN_FLIGHT, Cause.WOKEN_LATE)
    found = np.where(woken, in_flight, _looked_up(OF_WAITER, waiter.doing))
    # The thread was woken and runs, but has not left the sleep yet.
    leaves = waiter.doing == Doing.LEAVES_SLEEP
    found = np.where(leaves & waiter.wake_sent, Cause.WOKEN_LATE, found)
    found = np.where(waiter.naps, Cause.TIMED_SLEEP, found)
    return np.where(leaves & waiter.wake_arrives, Cause.WOKEN_NOT_RUNNING, found).astype(np.uint8)
