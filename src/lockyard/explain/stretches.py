# SPDX-License-Identifier: Apache-2.0
"""Stretches of a thread's time in which it does one thing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lockyard.explain.trace import Events

NEVER = int(np.iinfo(np.int64).max)
INTERRUPT_NS = 50e3  # from an interrupt to the switch-out that it causes; a virtual one is slow
RETURN_NS = 20e3  # from the switch-in to a thread's first step: its caches are cold


class Doing(IntEnum):
    """The activity of a thread. Without switch records, only its stamps are known."""

    UNKNOWN = 0
    RUNNING = 1
    PREEMPTED = 2  # taken off its processor although it could have run
    YIELDED = 3  # preempted according to the kernel, but inside a yield according to its stamps
    ASLEEP = 4  # in the lock's own sleep
    BLOCKED = 5  # left its processor by itself, outside the lock's sleep
    WOKEN = 6  # was asleep or blocked; the wake-up is recorded, but it does not run yet
    MOVING = 7  # taken off one processor and sent to another, but does not run there yet
    LEAVES_YIELD = 8  # runs again, but has not returned from its yield
    LEAVES_SLEEP = 9  # runs again, but has not returned from the lock's sleep
    INTERRUPTED = 10  # has its processor, but makes no stamp any more before it is preempted
    FALLS_ASLEEP = 11  # is inside the call for the lock's sleep, but still has its processor
    SERVES_INTERRUPT = 12  # has its processor, which serves an interrupt
    RETURNS = 13  # runs again after a preemption, but has made no stamp yet


ON_PROCESSOR = (
    Doing.RUNNING,
    Doing.LEAVES_YIELD,
    Doing.LEAVES_SLEEP,
    Doing.INTERRUPTED,
    Doing.FALLS_ASLEEP,
    Doing.SERVES_INTERRUPT,
    Doing.RETURNS,
)
IN_CALL = (Kind.YIELD_BEGIN, Kind.SLEEP_BEGIN, Kind.WAKE_BEGIN)


@dataclass(frozen=True)
class Stretches:
    """A thread's activities, each lasting from its beginning to the next one's."""

    begins: NDArray[np.int64]
    doing: NDArray[np.uint8]
    cpu: NDArray[np.int64]  # where it ran; -1 if it did not, or if that is unknown
    since: NDArray[np.int64]  # when it left its processor; otherwise the beginning

    @property
    def ends_woken(self) -> NDArray[np.bool_]:
        """Tells which stretches end with a recorded wake-up, or follow one and leave a sleep."""
        is_woken = self.doing == Doing.WOKEN
        left = (self.doing == Doing.LEAVES_SLEEP) & np.append(False, is_woken[:-1])
        found: NDArray[np.bool_] = np.append(is_woken[1:], False) | left
        return found

    def at(self, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the index of the stretch that contains each moment."""
        return np.maximum(np.searchsorted(self.begins, ticks, side="right") - 1, 0)


def brackets(events: Events, begin: Kind, end: Kind) -> NDArray[np.int64]:
    """Returns pairs of moments as rows; a pair that has not ended yet lasts forever."""
    chosen = events[np.isin(events["kind"], (begin, end))]
    starts = np.flatnonzero(chosen["kind"] == begin)
    ends = np.full(len(starts), NEVER)
    has_next = starts + 1 < len(chosen)
    following = chosen[np.minimum(starts + 1, max(len(chosen) - 1, 0))]
    is_end = has_next & (following["kind"] == end)
    ends[is_end] = following["ticks"][is_end]
    # A beginning directly followed by another has lost its end, and tells nothing.
    kept = is_end | ~has_next
    return np.stack([chosen["ticks"][starts][kept], ends[kept]], axis=1)


def inside(moments: NDArray[np.int64], pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tells which moments lie in one of the brackets, which are sorted and exclude their ends."""
    if not len(pairs):
        return np.zeros(len(moments), bool)
    at = np.searchsorted(pairs[:, 0], moments, side="right") - 1
    found: NDArray[np.bool_] = (at >= 0) & (moments < pairs[np.maximum(at, 0), 1])
    return found


def stretches(
    begins: NDArray[np.int64],
    doing: NDArray[np.int64],
    cpu: NDArray[np.int64],
    since: NDArray[np.int64],
) -> Stretches:
    order = np.argsort(begins, kind="stable")
    return Stretches(begins[order], doing[order].astype(np.uint8), cpu[order], since[order])


def with_sleeps_entered(stamps: Events, known: Stretches) -> Stretches:
    """Divides the times in which a thread ran: inside and outside the call for the lock's sleep."""
    sleeps = brackets(stamps, Kind.SLEEP_BEGIN, Kind.SLEEP_END)
    if not len(sleeps):
        return known
    runs = known.doing == Doing.RUNNING
    doing = np.where(runs & inside(known.begins, sleeps), np.uint8(Doing.FALLS_ASLEEP), known.doing)
    parts = []
    for moments, what, side in (
        (sleeps[:, 0], Doing.FALLS_ASLEEP, "right"),
        (sleeps[:, 1][sleeps[:, 1] != NEVER], Doing.RUNNING, "left"),
    ):
        at = np.maximum(np.searchsorted(known.begins, moments, side=side) - 1, 0)  # type: ignore[call-overload]
        cut = runs[at] & (known.begins[at] < moments)
        parts.append((moments[cut], what, known.cpu[at[cut]]))
    return inserted(Stretches(known.begins, doing, known.cpu, known.since), parts)


def with_interrupts(stamps: Events, known: Stretches, longest: int) -> Stretches:
    """Divides the times that end with a preemption: an interrupt precedes it, so the thread did
    nothing between its last stamp and the switch-out if its next step was due. Only a rule that
    knows this may conclude from it."""
    preempted = np.flatnonzero(known.doing[1:] == Doing.PREEMPTED)
    preempted = preempted[known.doing[preempted] == Doing.RUNNING]
    ticks = stamps["ticks"]
    if not len(preempted) or not len(ticks):
        return known
    ends = known.begins[preempted + 1]
    last = np.searchsorted(ticks, ends, side="right") - 1
    in_call = (last >= 0) & np.isin(stamps["kind"][np.maximum(last, 0)], IN_CALL)
    since = np.where(last >= 0, ticks[np.maximum(last, 0)], -NEVER)
    begins = np.maximum(np.maximum(since, known.begins[preempted]), ends - longest)
    cut = ~in_call & (begins < ends)
    return inserted(known, [(begins[cut], Doing.INTERRUPTED, known.cpu[preempted[cut]])])


def with_returns(stamps: Events, known: Stretches, longest: int) -> Stretches:
    """Divides the times that begin with a return to a processor: until its first stamp, the thread
    did nothing but return if its next step was due."""
    following = np.append(stamps["ticks"], NEVER)
    ends = np.append(known.begins[1:], NEVER)
    before = np.append(np.uint8(Doing.UNKNOWN), known.doing[:-1])
    came = np.append(known.begins[0], known.begins[:-1])
    runs = known.doing == Doing.RUNNING
    begins, doing = known.begins.copy(), known.doing.copy()
    # The stamp at the end of the call is the beginning of the stretch.
    first = following[np.searchsorted(stamps["ticks"], known.begins, side="right")]
    leaves = runs & np.isin(before, (Doing.LEAVES_YIELD, Doing.LEAVES_SLEEP))
    begins[leaves] = np.maximum(
        begins[leaves], np.minimum.reduce([first, ends, came + longest])[leaves]
    )
    back = runs & np.isin(before, (Doing.PREEMPTED, Doing.YIELDED, Doing.MOVING))
    doing[back] = Doing.RETURNS
    done = np.minimum(first, known.begins + longest)
    cut = back & (done < ends)
    moved = Stretches(begins, doing, known.cpu, known.since)
    return inserted(moved, [(done[cut], Doing.RUNNING, known.cpu[cut])])


def inserted(
    known: Stretches, parts: list[tuple[NDArray[np.int64], Doing, NDArray[np.int64]]]
) -> Stretches:
    """Adds the beginnings of stretches; an added one replaces a stretch that begins with it."""
    begins = [known.begins, *(moments for moments, _, _ in parts)]
    doing = [known.doing, *(np.full(len(moments), what, np.uint8) for moments, what, _ in parts)]
    cpus = [known.cpu, *(places for _, _, places in parts)]
    since = [known.since, *(moments for moments, _, _ in parts)]
    return stretches(*(np.concatenate(each) for each in (begins, doing, cpus, since)))
