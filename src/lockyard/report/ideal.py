# SPDX-License-Identifier: Apache-2.0
"""The parallelism that chance alone allows, with a lock that costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockyard.report.summary import CellSummary


@dataclass(frozen=True)
class Ideal:
    parallelism: float
    waiting_share: float  # as a share of the threads' time


def serial_bound_per_s(cell: CellSummary) -> float | None:
    """Returns the most operations that the threads can do if the lock costs nothing: holds follow
    each other without a pause, or every thread goes through its own hold and gap unhindered. None
    if the threads hold the lock for no time, and so nothing bounds them."""
    hold_ns = cell.conditions.get("hold_ns") or 0
    gap_ns = cell.conditions.get("gap_ns") or 0
    return 1e9 * min(1 / hold_ns, cell.threads / (hold_ns + gap_ns)) if hold_ns else None


def ideal(threads: int, processors: int, share: float) -> Ideal:
    """Computes the steady state of a closed queue. Each thread alternates between work without and
    with the lock, of exponentially distributed lengths; `share` is the part with the lock. A
    waiting thread leaves its processor to the others, and runnable threads share the processors
    evenly."""
    if share == 0:
        return Ideal(float(min(threads, processors)), 0.0)
    if share == 1:
        return Ideal(1.0, (threads - 1) / threads)
    # Indexed by the number of threads that want or hold the lock.
    running = [threads - wanting + (wanting > 0) for wanting in range(threads + 1)]
    speed = [min(1.0, processors / each) for each in running]
    weights = [1.0]
    for wanting in range(threads):
        arrivals = (threads - wanting) * speed[wanting] / (1 - share)
        departures = speed[wanting + 1] / share
        weights.append(weights[-1] * arrivals / departures)
    whole = sum(weights)
    work = sum(w * n * s for w, n, s in zip(weights, running, speed, strict=True))
    waiting = sum(w * max(wanting - 1, 0) for wanting, w in enumerate(weights))
    return Ideal(work / whole, waiting / whole / threads)
