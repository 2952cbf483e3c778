# SPDX-License-Identifier: Apache-2.0
"""What is known of a lock and of those that want it, at each of some moments."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.threads import ON_PROCESSOR, Doing

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOBODY = -1


@dataclass(frozen=True)
class Being:
    """What one thread is at, at each of some moments: always the same one, or another each time."""

    who: NDArray[np.int64]
    doing: NDArray[np.uint8]
    since: NDArray[np.int64]  # when it left its processor
    began: NDArray[np.int64]  # when what it does began
    in_gap: NDArray[np.bool_]  # it runs, and its processor stands still
    wake_sent: NDArray[np.bool_]  # it sleeps in the lock, or leaves that sleep, and somebody has
    # begun to wake it
    wake_arrives: NDArray[np.bool_]  # and there is a record of the wake-up's arrival, now or later

    def part(self, of: NDArray[np.int64]) -> Being:
        return Being(*(getattr(self, each.name)[of] for each in fields(self)))


@dataclass(frozen=True)
class Candidates:
    """Times that may be stalls, by beginnings and ends."""

    subject: NDArray[np.int64]  # the thread whose wait is to be explained
    called: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    is_wait: NDArray[np.bool_]  # of the subject, and not of the lock

    def __len__(self) -> int:
        return len(self.subject)

    def part(self, of: NDArray[np.int64]) -> Candidates:
        return Candidates(*(getattr(self, each.name)[of] for each in fields(self)))


@dataclass(frozen=True)
class Moments:
    """What is known of each piece of some stalls, one after the other. The heir is who acquires
    next, the subject is the thread whose wait is explained."""

    stall: NDArray[np.int64]  # which of them
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    held: NDArray[np.bool_]
    releasing: NDArray[np.bool_]
    free: NDArray[np.bool_]
    let_go: NDArray[np.bool_]  # it is free, or its release wakes others, who may have it then
    hold: NDArray[np.int64]  # index of the hold that lasts, or was the last; -1 before the first
    overtook: NDArray[np.bool_]  # its owner called later than the subject
    heir_overtakes: NDArray[np.bool_]  # and so did the heir, which had it before the stall ended
    is_brief: NDArray[np.bool_]  # from the beginning of its release to the next acquisition
    release_began: NDArray[np.int64]
    free_since: NDArray[np.int64]
    owner: Being
    heir: Being
    heir_called: NDArray[np.bool_]  # already then
    heir_has_it: NDArray[np.bool_]  # already then, though its stamp comes later
    subject: Being
    awoken: Being  # some waiter that was woken, or is being woken, and is not back
    is_wait: NDArray[np.bool_]  # of the subject, and not of the lock
    stamps_sleep: bool

    @property
    def passes_by(self) -> NDArray[np.bool_]:
        """The lock passes the subject by, though nobody holds it: one that called later releases
        it, and has not let go, or will have it, has called already, and runs."""
        owner_runs = np.isin(self.owner.doing, ON_PROCESSOR)
        heir_runs = self.heir.doing == Doing.RUNNING
        in_release = self.releasing & ~self.let_go & self.overtook & owner_runs
        taken = self.let_go & self.heir_called & self.heir_overtakes & heir_runs
        found: NDArray[np.bool_] = (
            (in_release & (heir_runs | ~self.heir_called)) | taken
        ) & self.is_wait
        return found
