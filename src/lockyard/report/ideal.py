# SPDX-License-Identifier: Apache-2.0
"""What chance alone leaves of parallelism: threads whose lock costs nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ideal:
    parallelism: float
    waiting_share: float  # of the threads' time


def ideal(threads: int, processors: int, share: float) -> Ideal:
    """The steady state of a closed queue: so many threads work for exponentially distributed
    lengths, in turn without the lock and with it, share being the part with it. Whoever waits
    leaves its processor to the others, and those that can run share the processors evenly."""
    if share == 0:
        return Ideal(float(min(threads, processors)), 0.0)
    if share == 1:
        return Ideal(1.0, (threads - 1) / threads)
    # By how many threads want the lock or have it.
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
