# SPDX-License-Identifier: Apache-2.0
"""Placement of threads in studies that choose the processors themselves."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockyard.machine.conditions import Pinning
    from lockyard.measure.request import Request


def places_of_threads(request: Request) -> list[tuple[int, Pinning]]:
    """Returns the numbers of threads with their placements; the publisher comes first, and there is
    at least one worker. By default: one worker on the publisher's processor, one on the next, and,
    if there are more, one on each."""
    counts = list(dict.fromkeys(max(threads, 2) for threads in request.threads))
    if request.pinning != "none":
        return [(threads, request.pinning) for threads in counts]
    cpus = sorted(os.sched_getaffinity(0))
    if request.as_published:
        threads = max(len(cpus), 2)
        return [(threads, tuple(cpus))]
    pairs = [(cpus[0], cpus[0]), *([(cpus[0], cpus[1])] if len(cpus) > 1 else [])]
    return [
        *((2, pair) for pair in pairs),
        *((threads, tuple(cpus)) for threads in counts if threads > 2),
    ]


def each_processor(request: Request) -> Request:
    """Changes a request so that a study of the machine visits each processor once."""
    if isinstance(request.pinning, str):
        return replace(request, threads=[len(os.sched_getaffinity(0))])
    cpus = tuple(dict.fromkeys(request.pinning))
    return replace(request, threads=[len(cpus)], pinning=cpus)
