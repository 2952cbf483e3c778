# SPDX-License-Identifier: Apache-2.0
"""Finds releases and acquisitions in which the machine stopped a thread that seems to run: they
took far longer than nearly all others of the lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.stretches import NEVER, ON_PROCESSOR, Doing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lockyard.explain.locks import LockHistory
    from lockyard.explain.threads import Thread
    from lockyard.explain.trace import Trace

# A release without a stamp in between is straight code: one that takes this much longer than most
# releases of its lock was stopped. Shorter than the least, it may have waited for a successor.
STOPPED_TIMES = 20
STOPPED_NS = 8e3
LEAST_RELEASES = 100


def stopped_releases(history: LockHistory, trace: Trace) -> NDArray[np.bool_]:
    """Tells of which holds the release took far longer, up to its first wake-up or its end, than
    nine in ten releases of the lock."""
    holds = history.holds
    known = holds.let_go != NEVER
    lengths = np.where(known, holds.let_go - np.where(known, holds.releasing, 0), 0)
    if np.count_nonzero(known) < LEAST_RELEASES:
        return np.zeros(len(holds), bool)
    usual = float(np.quantile(lengths[known], 0.9))
    found: NDArray[np.bool_] = lengths >= max(STOPPED_TIMES * usual, STOPPED_NS / trace.ns_per_tick)
    return found


# The same for an acquisition without a pause. Longer than the most, it is left unexplained.
STOPPED_MOST_NS = 250e3
LEAST_ACQUISITIONS = 1000
# The same for a thread that waited, and ran, when the lock became free.
LEAST_HANDOVERS = 500


def stopped_acquisitions(
    history: LockHistory, threads: Sequence[Thread], trace: Trace
) -> NDArray[np.int64]:
    """Returns for each hold since when its thread, without a pause, was about to acquire and was
    stopped: it took far longer than 99 in 100 such acquisitions of the lock; NEVER if it was
    not."""
    holds = history.holds
    found = _far_longer(history, trace, holds.prior, holds.prior != NEVER, LEAST_ACQUISITIONS)
    for at in np.flatnonzero(found).tolist():
        stretches = threads[int(holds.who[at])].stretches
        low, high = stretches.at(np.array([holds.prior[at], holds.acquired[at]])).tolist()
        found[at] = np.isin(stretches.doing[low : high + 1], ON_PROCESSOR).all()
    return np.where(found, holds.prior, NEVER)


def stopped_handovers(
    history: LockHistory, threads: Sequence[Thread], trace: Trace
) -> NDArray[np.int64]:
    """Returns for each hold since when its thread, which had called and ran, could have taken the
    lock and was stopped: it took far longer than 99 in 100 threads that ran and waited when this
    lock became free; NEVER if it was not. Such a thread may pause meanwhile, as its lock waits."""
    holds = history.holds
    begins = np.append(NEVER, holds.released[:-1]) if len(holds) else holds.acquired
    known = (holds.called < begins) & (begins < holds.acquired)
    for who in np.unique(holds.who[known]).tolist():
        mine = np.flatnonzero(known & (holds.who == who))
        stretches = threads[who].stretches
        low, high = stretches.at(begins[mine]), stretches.at(holds.acquired[mine])
        known[mine] = (low == high) & (stretches.doing[low] == Doing.RUNNING)
    found = _far_longer(history, trace, begins, known, LEAST_HANDOVERS)
    return np.where(found, begins, NEVER)


def _far_longer(
    history: LockHistory,
    trace: Trace,
    since: NDArray[np.int64],
    known: NDArray[np.bool_],
    fewest: int,
) -> NDArray[np.bool_]:
    """Tells which of the known times from `since` to the acquisition are far longer than 99 in 100
    of these times, and not longer than the most; none if fewer than `fewest` are known."""
    if np.count_nonzero(known) < fewest:
        return np.zeros(len(known), bool)
    lengths = np.where(known, history.holds.acquired - np.where(known, since, 0), 0)
    usual = float(np.quantile(lengths[known], 0.99))
    least = max(STOPPED_TIMES * usual, STOPPED_NS / trace.ns_per_tick)
    most = STOPPED_MOST_NS / trace.ns_per_tick
    found: NDArray[np.bool_] = known & (lengths >= least) & (lengths <= most)
    return found
