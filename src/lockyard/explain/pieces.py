# SPDX-License-Identifier: Apache-2.0
"""Cuts a lock's time wherever a state changes: between two cuts, no thread changes its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.moments import NOBODY, Being, Candidates, Moments
from lockyard.explain.stopped import (
    stopped_acquisitions,
    stopped_handovers,
    stopped_releases,
)
from lockyard.explain.stretches import NEVER, ON_PROCESSOR, Doing, inside
from lockyard.explain.trace import NO_CPU, Kind, RingKind
from lockyard.explain.unstamped import IN_VAIN_NS, unstamped
from lockyard.explain.wakes import sent, timed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lockyard.explain.locks import LockHistory
    from lockyard.explain.stretches import Stretches
    from lockyard.explain.threads import Thread
    from lockyard.explain.trace import Trace


class Gaps:
    """The times when the machine stopped, or had nothing to run, by processor."""

    def __init__(self, trace: Trace, of: RingKind = RingKind.GAPS, kind: Kind = Kind.GAP) -> None:
        self.by_cpu: dict[int, NDArray[np.int64]] = {}
        for ring in trace.of_kind(of):
            seen = ring.events[ring.events["kind"] == kind]
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
        """Tells which moments lie in a gap of the processor given for each."""
        found = np.zeros(len(moments), bool)
        for cpu, pairs in self.by_cpu.items():
            chosen = np.flatnonzero((cpus == cpu) & (cpus != NOBODY))
            found[chosen] = inside(moments[chosen], pairs)
        return found


class Pieces:
    """All pieces of one lock's time, from which each stall takes its part."""

    def __init__(
        self, trace: Trace, threads: list[Thread], history: LockHistory, gaps: Gaps
    ) -> None:
        self.history, self.threads, self.gaps = history, threads, gaps
        self._trace = trace
        self._sent = sent(trace, history, threads)
        self._timed = [timed(thread) for thread in threads]
        self._stopped_since = np.minimum(
            stopped_acquisitions(history, threads, trace),
            stopped_handovers(history, threads, trace),
        )
        holds = history.holds
        users = np.unique(np.concatenate([holds.who, history.waits.who]))
        cuts = np.concatenate(
            [
                [0, trace.begin, trace.end],
                *(holds.called, holds.acquired, holds.releasing, holds.released),
                *(threads[user].stretches.begins for user in users),
                *(history.waits.called, history.waits.end, history.wakes[:, 0], gaps.bounds),
                self._stopped_since,
            ]
        )
        cuts = np.unique(cuts[(cuts >= trace.begin) & (cuts <= trace.end)])
        self.begins, self.ends = cuts[:-1], cuts[1:]
        self._brief = round(IN_VAIN_NS / trace.ns_per_tick)
        self._from_start = not any(ring.overwritten for ring in trace.of_kind(RingKind.STAMPS))
        self._place_holds()
        taken = unstamped(history, threads, trace.ns_per_tick)
        self.heir_has_it = self.free & inside(self.begins, taken)

    def _place_holds(self) -> None:
        holds, begins = self.history.holds, self.begins
        nothing = np.zeros(len(begins), np.int64)
        if not len(holds):
            nobody = nothing + NOBODY
            self.hold, owner, heir = nobody, nobody, nobody
            self.held = self.releasing = self.heir_called = nothing.astype(bool)
            self.free = self.let_go = self.held | self._from_start
            self.stopped = self.heir_stopped = self.held
            self.release_began = self.free_since = nothing
        else:
            self.hold = np.searchsorted(holds.acquired, begins, side="right") - 1
            known, at = self.hold >= 0, np.maximum(self.hold, 0)
            self.release_began = np.where(known, holds.releasing[at], 0)
            self.free_since = np.where(known, holds.released[at], 0)
            self.held = known & (begins < self.release_began)
            self.releasing = known & ~self.held & (begins < self.free_since)
            self.free = np.where(known, ~self.held & ~self.releasing, self._from_start)
            self.let_go = self.free | (self.releasing & (begins >= holds.let_go[at]))
            stopped = stopped_releases(self.history, self._trace)
            self.stopped = self.releasing & ~self.let_go & stopped[at]
            owner = np.where(known, holds.who[at], NOBODY)
            follows = self.hold + 1 < len(holds)
            after = np.minimum(self.hold + 1, len(holds) - 1)
            heir = np.where(follows, holds.who[after], NOBODY)
            self.heir_called = follows & (holds.called[after] <= begins)
            self.heir_stopped = follows & (self._stopped_since[after] <= begins)
        self.owner, self.heir = self._being(owner, begins), self._being(heir, begins)
        self.awoken = self._being(self._whose_wake_up(begins), begins)

    def _whose_wake_up(self, moments: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the waiter that was woken last, if it is not back yet."""
        found = np.full(len(moments), NOBODY)
        trips: list[tuple[int, int, int]] = []
        for who, of_thread in self._sent.items():
            stretches = self.threads[who].stretches
            for out, moment in of_thread.items():
                at = int(np.searchsorted(stretches.since, out, side="right"))
                back = int(stretches.begins[at]) if at < len(stretches.begins) else NEVER
                trips.append((moment, back, who))
        for moment, back, who in sorted(trips):
            low, high = np.searchsorted(moments, [moment, back])
            found[low:high] = who
        return found

    def _being(self, who: NDArray[np.int64], moments: NDArray[np.int64]) -> Being:
        doing = np.zeros(len(who), np.uint8)
        since, began = np.zeros(len(who), np.int64), np.zeros(len(who), np.int64)
        cpus = np.full(len(who), NOBODY)
        is_sent, arrives, naps = (np.zeros(len(who), bool) for _ in range(3))
        for each in np.unique(who[who != NOBODY]).tolist():
            chosen = np.flatnonzero(who == each)
            stretches = self.threads[each].stretches
            at = stretches.at(moments[chosen])
            doing[chosen], cpus[chosen] = stretches.doing[at], stretches.cpu[at]
            since[chosen], began[chosen] = stretches.since[at], stretches.begins[at]
            arrives[chosen] = stretches.ends_woken[at]
            is_sent[chosen] = self._is_sent(each, stretches, at, moments[chosen])
            naps[chosen] = inside(moments[chosen], self._timed[each])
        in_gap = self.gaps.hit(moments, cpus) & np.isin(doing, ON_PROCESSOR)
        in_gap |= doing == Doing.SERVES_INTERRUPT
        naps &= np.isin(doing, (Doing.ASLEEP, Doing.LEAVES_SLEEP)) & ~is_sent
        return Being(who, doing, since, began, in_gap, is_sent, arrives, naps)

    def _is_sent(
        self,
        who: int,
        stretches: Stretches,
        at: NDArray[np.int64],
        moments: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        went_out = np.full(len(stretches.begins), NEVER)
        sleeps = np.flatnonzero(stretches.doing == Doing.ASLEEP)
        known = self._sent.get(who, {})
        went_out[sleeps] = [known.get(out, NEVER) for out in stretches.since[sleeps].tolist()]
        leaving = np.flatnonzero(stretches.doing == Doing.LEAVES_SLEEP)
        if len(leaving):
            went_out[leaving] = went_out[sleeps[np.searchsorted(sleeps, leaving) - 1]]
        found: NDArray[np.bool_] = went_out[at] <= moments
        return found

    def counts(self, stalls: Candidates) -> NDArray[np.int64]:
        """Returns the number of pieces of each stall."""
        low, high = self._bounds(stalls)
        return high - low

    def _bounds(self, stalls: Candidates) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        low = np.searchsorted(self.ends, stalls.begin, side="right")
        high = np.searchsorted(self.begins, stalls.end, side="left")
        return low, np.maximum(high, low)

    def of(self, stalls: Candidates) -> Moments:
        low, high = self._bounds(stalls)
        stall = np.repeat(np.arange(len(stalls)), high - low)
        first = np.cumsum(high - low) - (high - low)
        part = np.arange(len(stall)) - first[stall] + low[stall]
        begins = np.maximum(self.begins[part], stalls.begin[stall])
        holds, hold = self.history.holds, self.hold[part]
        called = stalls.called[stall]
        called_at = holds.called[np.maximum(hold, 0)] if len(holds) else begins
        after = np.minimum(hold + 1, len(holds) - 1)
        next_called = holds.called[after] if len(holds) else begins
        next_acquired = (
            np.where(after > hold, holds.acquired[after], NEVER) if len(holds) else begins
        )
        is_in_time = next_acquired <= stalls.end[stall]
        release_began = self.release_began[part]
        return Moments(
            stall=stall,
            begins=begins,
            ends=np.minimum(self.ends[part], stalls.end[stall]),
            held=self.held[part],
            releasing=self.releasing[part],
            free=self.free[part],
            let_go=self.let_go[part],
            stopped=self.stopped[part],
            hold=hold,
            overtook=(hold >= 0) & (called_at > called),
            heir_overtakes=(next_called > called) & is_in_time,
            is_brief=next_acquired - release_began <= self._brief,
            release_began=release_began,
            free_since=self.free_since[part],
            owner=self.owner.part(part),
            heir=self.heir.part(part),
            heir_called=self.heir_called[part],
            heir_stopped=self.heir_stopped[part],
            heir_has_it=self.heir_has_it[part],
            subject=self._being(stalls.subject[stall], begins),
            subject_called=begins >= called,
            awoken=self.awoken.part(part),
            is_wait=stalls.is_wait[stall],
            stamps_sleep=self.history.stamps_sleep,
        )
