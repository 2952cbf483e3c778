# SPDX-License-Identifier: Apache-2.0
"""The causes that a stall's time can have, and the rules that tell them, each by its evidence.

A rule asks what was recorded of one moment; no rule concludes from what the others left over. What
no rule holds for is unexplained.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from lockyard.explain.threads import ON_PROCESSOR, Doing

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

    @property
    def stored(self) -> str:
        return self.name.lower()

    @property
    def whole(self) -> Cause:
        """The cause that this one is a part of: that of most of a stall is found among wholes."""
        parts = (Cause.WAKEUP_IN_FLIGHT, Cause.WOKEN_NOT_RUNNING)
        return Cause.WOKEN_LATE if self in parts else self


BY_NAME = {cause.stored: cause for cause in Cause}
WHOLE = np.array([cause.whole for cause in Cause])

# What it says of the holder that it is not at work.
OF_HOLDER = {
    Doing.PREEMPTED: Cause.HOLDER_PREEMPTED,
    Doing.YIELDED: Cause.HOLDER_ASLEEP,
    Doing.ASLEEP: Cause.HOLDER_ASLEEP,
    Doing.BLOCKED: Cause.HOLDER_ASLEEP,
    Doing.WOKEN: Cause.HOLDER_ASLEEP,
    Doing.MOVING: Cause.MIGRATION,
}
OF_RELEASER = {**OF_HOLDER, Doing.PREEMPTED: Cause.HOLDER_PREEMPTED_IN_RELEASE}
# And of a waiter that could have had the lock. Sleep alone says nothing: was it woken at all?
OF_WAITER = {
    Doing.PREEMPTED: Cause.WAITER_NOT_RUNNING,
    Doing.YIELDED: Cause.WAITER_NOT_RUNNING,
    Doing.BLOCKED: Cause.WAITER_NOT_RUNNING,
    Doing.WOKEN: Cause.WOKEN_NOT_RUNNING,
    Doing.MOVING: Cause.MIGRATION,
    Doing.LEAVES_YIELD: Cause.WAITER_NOT_RUNNING,
}
# Of these it is known that it did not wait to be woken.
ABSENT = (Doing.PREEMPTED, Doing.YIELDED, Doing.MOVING, Doing.LEAVES_YIELD)


def _looked_up(table: dict[Doing, Cause], doing: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.array([table.get(each, Cause.UNEXPLAINED) for each in Doing], np.uint8)[doing]


def of_wait(m: Moments) -> NDArray[np.uint8]:
    """The cause of each moment in which one thread, the subject, wanted the lock."""
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
        # Held: what keeps the holder, and then whether it should have been its turn at all.
        (m.held & (by_holder != none), by_holder),
        (m.held & m.owner.in_gap, Cause.MACHINE_GAP),
        (m.held & ~m.overtook & owner_runs, Cause.HELD_RUNNING),
        (overtaken & _tries_or_sleeps(m), Cause.BARGING),
        (overtaken & (by_subject != none), by_subject),
        # In the release: a wake-up that has arrived says that the lock is free.
        (m.releasing & m.heir_called & heir_is_awoken, Cause.WOKEN_NOT_RUNNING),
        # And who has let go need not run for one that can take it, and does not run itself.
        (m.releasing & m.let_go & m.heir_called & np.isin(m.heir.doing, ABSENT), by_heir),
        (m.releasing & (by_releaser != none), by_releaser),
        (m.releasing & m.owner.in_gap, Cause.MACHINE_GAP),
        (
            m.releasing & m.heir_called & m.heir.wake_sent & (m.heir.doing == Doing.ASLEEP),
            by_heir,
        ),
        # Free by the stamps, but taken already.
        (m.heir_has_it & (by_unstamped != none), by_unstamped),
        # Free: it was for who got it next, or if that one had not called, for the subject.
        (m.let_go & m.heir_called & (by_heir != none), by_heir),
        (m.let_go & m.heir_called & m.heir.in_gap, Cause.MACHINE_GAP),
        (m.let_go & ~m.heir_called & (by_subject != none), by_subject),
        (m.let_go & ~m.heir_called & m.subject.in_gap, Cause.MACHINE_GAP),
        # Or it passes the subject by, as one that is held does.
        (m.passes_by & m.is_brief & _tries_or_sleeps(m), Cause.BARGING),
        (m.passes_by & (by_subject != none), by_subject),
        # Or for a third one, that was woken in the place of the subject, which sleeps on.
        (m.let_go & ~m.heir_called & (m.subject.doing == Doing.ASLEEP), by_awoken),
    ]
    found: NDArray[np.uint8] = np.select(
        [condition for condition, _ in rules], [cause for _, cause in rules], none
    ).astype(np.uint8)
    return found


def _tries_or_sleeps(m: Moments) -> NDArray[np.bool_]:
    """The subject does what the lock makes its waiters do: whoever has the lock took it from it."""
    found = np.isin(m.subject.doing, (Doing.UNKNOWN, *ON_PROCESSOR))
    found |= (m.subject.doing == Doing.ASLEEP) & ~m.subject.wake_sent
    if not m.stamps_sleep:
        found |= m.subject.doing == Doing.BLOCKED
    return found


def _of_waiter(m: Moments, waiter: Being) -> NDArray[np.uint8]:
    """Of a thread that has called and could have the lock."""
    woken = (waiter.doing == Doing.ASLEEP) & waiter.wake_sent
    if not m.stamps_sleep:
        # The lock's sleep is not stamped: what went to sleep of itself before the release, and
        # comes back after it, was woken in between.
        woken |= (waiter.doing == Doing.BLOCKED) & (waiter.since < m.free_since)
    in_flight = np.where(waiter.wake_arrives, Cause.WAKEUP_IN_FLIGHT, Cause.WOKEN_LATE)
    found = np.where(woken, in_flight, _looked_up(OF_WAITER, waiter.doing))
    # It was woken, runs, and is still in the sleep that it was woken from.
    leaves = waiter.doing == Doing.LEAVES_SLEEP
    found = np.where(leaves & waiter.wake_sent, Cause.WOKEN_LATE, found)
    return np.where(leaves & waiter.wake_arrives, Cause.WOKEN_NOT_RUNNING, found).astype(np.uint8)
