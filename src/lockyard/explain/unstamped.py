# SPDX-License-Identifier: Apache-2.0
"""Finds owners that were preempted after they got the lock, but before they could stamp it.

According to the stamps the lock is free then. But a thread that had called before, and runs without
getting the lock, shows that it is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.stretches import ON_PROCESSOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lockyard.explain.locks import LockHistory
    from lockyard.explain.stretches import Stretches
    from lockyard.explain.threads import Thread

IN_VAIN_NS = 50e3  # longer than the waiters of any lock pause between two attempts


def unstamped(
    history: LockHistory, threads: Sequence[Thread], ns_per_tick: float
) -> NDArray[np.int64]:
    """Returns the first and the last moment of each such time, as rows."""
    holds, waits = history.holds, history.waits
    least = IN_VAIN_NS / ns_per_tick
    by_thread = {int(who): np.flatnonzero(waits.who == who) for who in np.unique(waits.who)}
    found = []
    for heir in (np.flatnonzero(holds.acquired[1:] - holds.released[:-1] >= least) + 1).tolist():
        called, until = int(holds.called[heir]), int(holds.acquired[heir])
        begin = max(int(holds.released[heir - 1]), called)
        for who, mine in by_thread.items():
            at = int(np.searchsorted(waits.called[mine], called)) - 1
            if who == holds.who[heir] or at < 0:
                continue
            end = min(until, int(waits.end[mine][at]))
            if end > begin and _ran(threads[who].stretches, begin, end) >= least:
                found.append((begin, until))
                break
    return np.array(found, np.int64).reshape(-1, 2)


def _ran(stretches: Stretches, begin: int, end: int) -> int:
    """Returns how long the thread ran between two moments."""
    low, high = stretches.at(np.array([begin, end])).tolist()
    part = slice(low, high + 1)
    begins = np.maximum(stretches.begins[part], begin)
    ends = np.append(stretches.begins[low + 1 : high + 1], end)
    return int(np.sum((ends - begins)[np.isin(stretches.doing[part], ON_PROCESSOR)]))
