# SPDX-License-Identifier: Apache-2.0
"""Processors that had nothing to run while a thread waited for one: the scheduler's fault, not the
lock's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.pieces import Gaps
from lockyard.explain.trace import Kind, RingKind

if TYPE_CHECKING:
    from lockyard.explain.threads import Runnable, Thread
    from lockyard.explain.trace import Trace

# A processor that is idle for less is about to get the thread, or the interrupt is on its way.
LEAST_NS = 50_000.0


class IdleProcessors:
    def __init__(self, trace: Trace) -> None:
        self._by_cpu = Gaps(trace, RingKind.IDLE, Kind.IDLE).by_cpu
        self._least = round(LEAST_NS / trace.ns_per_tick)

    @property
    def are_known(self) -> bool:
        return bool(self._by_cpu)

    def elsewhere(self, while_: Runnable) -> list[tuple[int, int]]:
        """Returns processors that were idle meanwhile, with the ticks, the longest first. The one
        that the thread queues on is not among them: that it is idle means that the thread is on its
        way."""
        found = []
        for cpu, pairs in self._by_cpu.items():
            begins = np.maximum(pairs[:, 0], while_.begin)
            ends = np.minimum(pairs[:, 1], while_.end)
            lengths = ends - begins
            whole = int(lengths[lengths >= self._least].sum())
            if whole > 0 and cpu != while_.cpu:
                found.append((cpu, whole))
        return sorted(found, key=lambda each: -each[1])

    def waited_and_wasted(self, threads: list[Thread]) -> tuple[int, int]:
        """Returns for how many ticks threads waited for a processor, and for how many of them
        another one was idle."""
        waited = wasted = 0
        for thread in threads:
            for each in thread.all_runnable():
                waited += each.end - each.begin
                found = self.elsewhere(each)
                wasted += found[0][1] if found else 0
        return waited, wasted
