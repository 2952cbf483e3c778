# SPDX-License-Identifier: Apache-2.0
"""The causes that a stall's time can have, and the rules that tell them, each by its evidence.

A rule asks what was recorded of one moment; no rule concludes from what the others left over. What
no rule holds for is unexplained.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.threads import Doing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lockyard.explain.moments import Moments


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
}


def _looked_up(table: dict[Doing, Cause], doing: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.array([table.get(each, Cause.UNEXPLAINED) for each in Doing], np.uint8)[doing]


def of_wait(m: Moments) -> NDArray[np.uint8]:
    """The cause of each moment in which one thread, the subject, wanted the lock."""
    none = np.uint8(Cause.UNEXPLAINED)
    by_holder = _looked_up(OF_HOLDER, m.owner_doing)
    by_releaser = _looked_up(OF_RELEASER, m.owner_doing)
    by_waiter = _looked_up(OF_WAITER, m.subject_doing)
    by_heir = _of_heir(m, m.heir_doing, m.heir_since)
    by_subject = _of_heir(m, m.subject_doing, m.subject_since)
    owner_runs = m.owner_doing == Doing.RUNNING
    waits_in_vain = np.isin(m.subject_doing, (Doing.UNKNOWN, Doing.RUNNING, Doing.ASLEEP))
    if not m.stamps_sleep:
        waits_in_vain |= m.subject_doing == Doing.BLOCKED
    return np.select(
        [
            m.held & (by_holder != none),
            m.held & m.owner_in_gap,
            m.held & ~m.overtook & owner_runs,
            # Whoever called later and has it took it while the subject
            m.held & m.overtook & waits_in_vain,
            m.held & m.overtook & (by_waiter != none),
            # In the release, a wake-up that has gone out says that the lock is free.
            m.releasing & m.heir_called & m.heir_woken_since_release,
            m.releasing & (by_releaser != none),
            m.releasing & m.owner_in_gap,
            m.releasing & m.heir_called & m.waking & (m.heir_doing == Doing.ASLEEP),
            m.free & m.heir_called & (by_heir != none),
            m.free & m.heir_called & m.heir_in_gap,
            m.free & ~m.heir_called & (by_subject != none),
            m.free & ~m.heir_called & m.subject_in_gap,
        ],
        [
            by_holder,
            np.uint8(Cause.MACHINE_GAP),
            np.uint8(Cause.HELD_RUNNING),
            np.uint8(Cause.BARGING),
            by_waiter,
            np.uint8(Cause.WOKEN_NOT_RUNNING),
            by_releaser,
            np.uint8(Cause.MACHINE_GAP),
            np.uint8(m.in_flight),
            by_heir,
            np.uint8(Cause.MACHINE_GAP),
            by_subject,
            np.uint8(Cause.MACHINE_GAP),
        ],
        none,
    ).astype(np.uint8)


def _of_heir(m: Moments, doing: NDArray[np.uint8], since: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Of a thread that has called and can have the lock, for it is free."""
    found = _looked_up(OF_WAITER, doing)
    found[(doing == Doing.ASLEEP) & m.waking] = m.in_flight
    if not m.stamps_sleep:
        # The lock's sleep is not stamped: what went to sleep of itself before the release, and
        # comes back after it, was woken in between.
        slept_before = (doing == Doing.BLOCKED) & (since < m.free_since)
        found[slept_before] = m.in_flight
        found[(doing == Doing.BLOCKED) & ~slept_before] = Cause.WAITER_NOT_RUNNING
    return found
