# SPDX-License-Identifier: Apache-2.0
"""Interrupts, by the kernel's records: a processor served the machine while its thread seemed to
run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.stretches import Doing, Stretches, inserted
from lockyard.explain.trace import Kind, RingKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lockyard.explain.trace import Events, Trace

# From an interrupt's arrival to its first record, and from its last record back into the thread: a
# virtual machine leaves and enters the processor then.
AROUND_NS = 20e3


class InterruptKind(IntEnum):
    TIMER = 1
    DEVICE = 2
    DEFERRED = 3
    CALL = 4
    PAGE_FAULT = 5


NAMED = {
    InterruptKind.TIMER: "a timer interrupt",
    InterruptKind.DEVICE: "a device's interrupt",
    InterruptKind.DEFERRED: "work that an earlier interrupt left",
    InterruptKind.CALL: "an interrupt from another processor",
    InterruptKind.PAGE_FAULT: "a page fault",
}


@dataclass(frozen=True)
class Interrupts:
    """The interrupts of each processor, in the order of time."""

    by_cpu: dict[int, Events]
    around: int

    @classmethod
    def of(cls, trace: Trace) -> Interrupts:
        found = {}
        for ring in trace.of_kind(RingKind.GAPS):
            chosen = ring.events[ring.events["kind"] == Kind.INTERRUPT]
            if len(chosen):
                found[ring.cpu] = chosen[np.argsort(chosen["ticks"], kind="stable")]
        return cls(found, round(AROUND_NS / trace.ns_per_tick))

    def within(self, cpu: int, begin: int, end: int) -> Events | None:
        """Returns the longest one that a processor served between two moments."""
        events = self.by_cpu.get(cpu)
        if events is None:
            return None
        low, high = np.searchsorted(events["ticks"], [begin, end])
        some = events[low:high]
        return some[np.argmax(some["argument"])] if len(some) else None


def with_interrupts_served(stamps: Events, known: Stretches, interrupts: Interrupts) -> Stretches:
    """Divides the times in which a thread ran: a thread does nothing while its processor serves an
    interrupt, nor on the way there and back, which no stamp of the thread divides."""
    ticks = stamps["ticks"]
    parts: list[tuple[NDArray[np.int64], Doing, NDArray[np.int64]]] = []
    for cpu, every in interrupts.by_cpu.items():
        middle = every["ticks"] + every["argument"] // 2
        at = known.at(middle)
        chosen = (known.doing[at] == Doing.RUNNING) & (known.cpu[at] == cpu)
        at, middle, events = at[chosen], middle[chosen], every[chosen]
        if not len(at):
            continue
        after = np.searchsorted(ticks, middle, side="right")
        previous = np.append(ticks, middle[-1])[after - 1] if len(ticks) else middle
        previous = np.where(after > 0, previous, known.begins[at])
        following = np.append(ticks, np.iinfo(np.int64).max)[after]
        ends = np.append(known.begins[1:], np.iinfo(np.int64).max)[at]
        begin = np.maximum.reduce([known.begins[at], previous, events["ticks"] - interrupts.around])
        end = np.minimum.reduce(
            [ends, following, events["ticks"] + events["argument"] + interrupts.around]
        )
        begin, end, at = _merged(begin, end, at)
        parts.append((begin, Doing.SERVES_INTERRUPT, known.cpu[at]))
        goes_on = end < np.append(known.begins[1:], np.iinfo(np.int64).max)[at]
        parts.append((end[goes_on], Doing.RUNNING, known.cpu[at[goes_on]]))
    return inserted(known, parts) if parts else known


def _merged(
    begins: NDArray[np.int64], ends: NDArray[np.int64], at: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Joins times that overlap or touch within one stretch."""
    kept = begins < ends
    begins, ends, at = begins[kept], ends[kept], at[kept]
    if not len(begins):
        return begins, ends, at
    order = np.argsort(begins, kind="stable")
    begins, ends, at = begins[order], np.maximum.accumulate(ends[order]), at[order]
    first = np.append(True, (begins[1:] > ends[:-1]) | (at[1:] != at[:-1]))
    last = np.append(first[1:], True)
    return begins[first], ends[last], at[first]
