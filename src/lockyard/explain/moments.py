# SPDX-License-Identifier: Apache-2.0
"""The known state of a lock, and of the threads that want it, at a series of moments."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.stretches import ON_PROCESSOR, Doing

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOBODY = -1


@dataclass(frozen=True)
class Being:
    """The state of one thread at each moment: always the same thread, or another each time."""

    who: NDArray[np.int64]
    doing: NDArray[np.uint8]
    since: NDArray[np.int64]  # when it left its processor
    began: NDArray[np.int64]  # when its current activity began
    in_gap: NDArray[np.bool_]  # it runs, but its processor has stopped
    wake_sent: NDArray[np.bool_]  # it sleeps in the lock, or is leaving that sleep, and another
    # thread has begun to wake it
    wake_arrives: NDArray[np.bool_]  # a record shows that the wake-up arrives, now or later
    naps: NDArray[np.bool_]  # it sleeps until a deadline, and no thread has begun to wake it

    def part(self, of: NDArray[np.int64]) -> Being:
        return Being(*(getattr(self, each.name)[of] for each in fields(self)))


@dataclass(frozen=True)
class Candidates:
    """Times that may be stalls, with their beginnings and ends."""

    subject: NDArray[np.int64]  # the thread whose wait is to be explained
    called: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    is_wait: NDArray[np.bool_]  # a stall of the subject, not of the lock

    def __len__(self) -> int:
        return len(self.subject)

    def part(self, of: NDArray[np.int64]) -> Candidates:
        return Candidates(*(getattr(self, each.name)[of] for each in fields(self)))


@dataclass(frozen=True)
class Moments:
    """The known state during each piece of a series of stalls. The heir is the thread that acquires
    next; the subject is the thread whose wait is explained."""

    stall: NDArray[np.int64]  # the index of the stall
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    held: NDArray[np.bool_]
    releasing: NDArray[np.bool_]
    free: NDArray[np.bool_]
    let_go: NDArray[np.bool_]  # free, or in a release that wakes others, who may take it
    stopped: NDArray[np.bool_]  # in a release that took far longer than most of this lock
    hold: NDArray[np.int64]  # index of the current or last hold; -1 before the first
    overtook: NDArray[np.bool_]  # the owner called later than the subject
    heir_overtakes: NDArray[np.bool_]  # so did the heir, and acquired before the stall ended
    is_brief: NDArray[np.bool_]  # a short time from the beginning of the release to the next hold
    release_began: NDArray[np.int64]
    free_since: NDArray[np.int64]
    owner: Being
    heir: Being
    heir_called: NDArray[np.bool_]  # the heir has called by then
    heir_stopped: NDArray[np.bool_]  # its way to the lock took far longer than most
    heir_has_it: NDArray[np.bool_]  # the heir has the lock by then, though its stamp comes later
    subject: Being
    subject_called: NDArray[np.bool_]  # the subject has called by then
    awoken: Being  # a waiter that was woken, or is being woken, and is not back yet
    is_wait: NDArray[np.bool_]  # a stall of the subject, not of the lock
    stamps_sleep: bool

    @property
    def passes_by(self) -> NDArray[np.bool_]:
        """Tells where a lock without a holder passes the subject by: its releaser called later and
        has not let go, or the heir called later, has called already, and runs."""
        owner_runs = np.isin(self.owner.doing, ON_PROCESSOR)
        heir_runs = self.heir.doing == Doing.RUNNING
        in_release = self.releasing & ~self.let_go & self.overtook & owner_runs
        taken = self.let_go & self.heir_called & self.heir_overtakes & heir_runs
        found: NDArray[np.bool_] = (
            (in_release & (heir_runs | ~self.heir_called)) | taken
        ) & self.is_wait
        return found
