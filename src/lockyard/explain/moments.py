# SPDX-License-Identifier: Apache-2.0
"""A lock's time cut wherever anything changes: between two cuts all threads go on as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.causes import Cause
from lockyard.explain.threads import Doing, inside
from lockyard.explain.trace import NO_CPU, Kind, RingKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lockyard.explain.locks import LockHistory
    from lockyard.explain.threads import Thread
    from lockyard.explain.trace import Trace

NOBODY = -1


class Gaps:
    """When the machine stood still, by processor."""

    def __init__(self, trace: Trace) -> None:
        self.by_cpu: dict[int, NDArray[np.int64]] = {}
        for ring in trace.of_kind(RingKind.GAPS):
            seen = ring.events[ring.events["kind"] == Kind.GAP]
            pairs = np.stack([seen["ticks"], seen["ticks"] + seen["argument"]], axis=1)
            cpu = NOBODY if ring.cpu == NO_CPU else ring.cpu
            known = self.by_cpu.get(cpu, pairs[:0])
            both = np.concatenate([known, pairs]).astype(np.int64)
            self.by_cpu[cpu] = both[np.argsort(both[:, 0], kind="stable")]

    @property
    def bounds(self) -> NDArray[np.int64]:
        every = [pairs.ravel() for pairs in self.by_cpu.values()]
        return np.concatenate(every) if every else np.empty(0, np.int64)

    def hit(self, moments: NDArray[np.int64], cpus: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the moments lie in a gap of the processor beside them."""
        found = np.zeros(len(moments), bool)
        for cpu, pairs in self.by_cpu.items():
            chosen = np.flatnonzero((cpus == cpu) & (cpus != NOBODY))
            found[chosen] = inside(moments[chosen], pairs)
        return found


@dataclass(frozen=True)
class Moments:
    """What is known of each piece of a stall. The heir is who acquires next, the subject is the
    thread whose wait is explained."""

    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    held: NDArray[np.bool_]
    releasing: NDArray[np.bool_]
    free: NDArray[np.bool_]
    hold: NDArray[np.int64]  # index of the hold that lasts, or was the last; -1 before the first
    owner: NDArray[np.int64]
    owner_doing: NDArray[np.uint8]
    owner_in_gap: NDArray[np.bool_]
    overtook: NDArray[np.bool_]  # the owner called later than the subject
    heir: NDArray[np.int64]
    heir_called: NDArray[np.bool_]  # already then
    heir_doing: NDArray[np.uint8]
    heir_since: NDArray[np.int64]
    heir_in_flight: NDArray[np.uint8]  # the cause, if a wake-up is on its way to it
    heir_in_gap: NDArray[np.bool_]
    heir_woken_since_release: NDArray[np.bool_]
    subject_doing: NDArray[np.uint8]
    subject_since: NDArray[np.int64]
    subject_in_flight: NDArray[np.uint8]
    subject_in_gap: NDArray[np.bool_]
    free_since: NDArray[np.int64]
    waking: NDArray[np.bool_]  # the releaser has begun to wake somebody
    stamps_sleep: bool


class Pieces:
    """All pieces of one lock's time, from which each stall takes its own."""

    def __init__(
        self, trace: Trace, threads: list[Thread], history: LockHistory, gaps: Gaps
    ) -> None:
        self.history, self.threads, self.gaps = history, threads, gaps
        holds = history.holds
        users = np.unique(np.concatenate([holds.who, history.waits.who]))
        cuts = np.concatenate(
            [
                [0, trace.begin, trace.end],
                *(holds.called, holds.acquired, holds.releasing, holds.released),
                *(threads[user].stretches.begins for user in users),
                *(history.waits.called, history.waits.end, history.wakes, gaps.bounds),
            ]
        )
        cuts = np.unique(cuts[(cuts >= trace.begin) & (cuts <= trace.end)])
        self.begins, self.ends = cuts[:-1], cuts[1:]
        self._from_start = not any(ring.overwritten for ring in trace.of_kind(RingKind.STAMPS))
        self._place_holds()
        self._place_heirs()

    def _place_holds(self) -> None:
        holds, begins = self.history.holds, self.begins
        if not len(holds):
            self.hold = np.full(len(begins), NOBODY)
            self.held = self.releasing = np.zeros(len(begins), bool)
            self.free = np.full(len(begins), self._from_start)
            self.owner, self.free_since = self.hold, np.zeros(len(begins), np.int64)
        else:
            self.hold = np.searchsorted(holds.acquired, begins, side="right") - 1
            at = np.maximum(self.hold, 0)
            known = self.hold >= 0
            self.held = known & (begins < holds.releasing[at])
            self.releasing = known & ~self.held & (begins < holds.released[at])
            self.free = np.where(known, ~self.held & ~self.releasing, self._from_start)
            self.owner = np.where(known, holds.who[at], NOBODY)
            self.free_since = np.where(known, holds.released[at], 0)
        wakes = self.history.wakes
        last = np.searchsorted(wakes, begins, side="right") - 1
        since = wakes[np.maximum(last, 0)] if len(wakes) else np.zeros(len(begins), np.int64)
        releasing = holds.releasing[np.maximum(self.hold, 0)] if len(holds) else since
        self.waking = (last >= 0) & (since >= releasing) & ~self.held
        self.owner_doing, _, self.owner_in_gap = self._of(self.owner, begins)

    def _place_heirs(self) -> None:
        holds, begins = self.history.holds, self.begins
        follows = self.hold + 1 < len(holds)
        at = np.minimum(self.hold + 1, max(len(holds) - 1, 0))
        if not len(holds):
            self.heir = self.hold
            self.heir_called = np.zeros(len(begins), bool)
        else:
            self.heir = np.where(follows, holds.who[at], NOBODY)
            self.heir_called = follows & (holds.called[at] <= begins)
        self.heir_doing, self.heir_since, self.heir_in_gap = self._of(self.heir, begins)
        self.heir_in_flight = self._in_flight(self.heir, begins)
        woken_at = self._turned(self.heir, begins)
        releasing = holds.releasing[np.maximum(self.hold, 0)] if len(holds) else begins
        self.heir_woken = (self.heir_doing == Doing.WOKEN) & (woken_at >= releasing)

    def _of(
        self, who: NDArray[np.int64], moments: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
        """What each of these threads does at the moment beside it, since when, and whether where it
        runs the machine stands still."""
        doing = np.zeros(len(who), np.uint8)
        since, cpus = np.zeros(len(who), np.int64), np.full(len(who), NOBODY)
        for each in np.unique(who[who != NOBODY]).tolist():
            chosen = np.flatnonzero(who == each)
            stretches = self.threads[each].stretches
            at = stretches.at(moments[chosen])
            doing[chosen], since[chosen] = stretches.doing[at], stretches.since[at]
            cpus[chosen] = stretches.cpu[at]
        return doing, since, self.gaps.hit(moments, cpus) & (doing == Doing.RUNNING)

    def _in_flight(self, who: NDArray[np.int64], moments: NDArray[np.int64]) -> NDArray[np.uint8]:
        """A wake-up whose arrival is recorded is in flight until then; else when it came, is not
        known."""
        found = np.full(len(who), Cause.WOKEN_LATE, np.uint8)
        for each in np.unique(who[who != NOBODY]).tolist():
            chosen = np.flatnonzero(who == each)
            stretches = self.threads[each].stretches
            recorded = stretches.ends_woken[stretches.at(moments[chosen])]
            found[chosen[recorded]] = Cause.WAKEUP_IN_FLIGHT
        return found

    def _turned(self, who: NDArray[np.int64], moments: NDArray[np.int64]) -> NDArray[np.int64]:
        """When what each of these threads does at its moment began."""
        found = np.zeros(len(who), np.int64)
        for each in np.unique(who[who != NOBODY]).tolist():
            chosen = np.flatnonzero(who == each)
            stretches = self.threads[each].stretches
            found[chosen] = stretches.begins[stretches.at(moments[chosen])]
        return found

    def of(self, subject: int, called: int, begin: int, end: int) -> Moments:
        """Those of a stall of this thread, which had called then."""
        low = int(np.searchsorted(self.ends, begin, side="right"))
        high = max(int(np.searchsorted(self.begins, end, side="left")), low)
        part = slice(low, high)
        begins = np.maximum(self.begins[part], begin)
        ends = np.minimum(self.ends[part], end)
        who = np.full(len(begins), subject)
        doing, since, in_gap = self._of(who, begins)
        holds, hold = self.history.holds, self.hold[part]
        known = hold >= 0
        called_at = holds.called[np.maximum(hold, 0)] if len(holds) else begins
        return Moments(
            begins=begins,
            ends=ends,
            held=self.held[part],
            releasing=self.releasing[part],
            free=self.free[part],
            hold=hold,
            owner=self.owner[part],
            owner_doing=self.owner_doing[part],
            owner_in_gap=self.owner_in_gap[part],
            overtook=known & (called_at > called),
            heir=self.heir[part],
            heir_called=self.heir_called[part],
            heir_doing=self.heir_doing[part],
            heir_since=self.heir_since[part],
            heir_in_flight=self.heir_in_flight[part],
            heir_in_gap=self.heir_in_gap[part],
            heir_woken_since_release=self.heir_woken[part],
            subject_doing=doing,
            subject_since=since,
            subject_in_flight=self._in_flight(who, begins),
            subject_in_gap=in_gap,
            free_since=self.free_since[part],
            waking=self.waking[part],
            stamps_sleep=self.history.stamps_sleep,
        )
