# SPDX-License-Identifier: Apache-2.0
"""The owners and the waiters of each lock, according to the stamps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.stretches import NEVER
from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lockyard.explain.threads import Thread
    from lockyard.explain.trace import Events, Trace

LOCK_KINDS = (Kind.CALLED, Kind.ACQUIRED, Kind.FAILED, Kind.RELEASING, Kind.RELEASED)


@dataclass(frozen=True)
class Holds:
    """The holds of a lock, in the order of acquisition. A hold that did not end lasts forever."""

    who: NDArray[np.int64]  # indices of threads
    called: NDArray[np.int64]  # the acquisition, if the call is unknown
    acquired: NDArray[np.int64]
    releasing: NDArray[np.int64]
    let_go: NDArray[np.int64]  # the release has begun to wake others, or has ended
    released: NDArray[np.int64]
    prior: NDArray[np.int64]  # the last stamp before the acquisition; NEVER if it paused since

    def __len__(self) -> int:
        return len(self.who)


@dataclass(frozen=True)
class Waits:
    """The waits for a lock, in the order of the calls."""

    who: NDArray[np.int64]
    called: NDArray[np.int64]
    end: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.who)


@dataclass(frozen=True)
class LockHistory:
    address: int
    name: str
    holds: Holds
    waits: Waits
    wakes: NDArray[np.int64]  # when a thread began to wake its sleepers, and at most how many
    stamps_sleep: bool  # whether sleep in this lock is stamped
    overlaps: int  # acquisitions before the previous owner began its release


def histories(trace: Trace, threads: list[Thread]) -> list[LockHistory]:
    addresses: dict[int, None] = {}
    for thread in threads:
        chosen = thread.stamps["lock"][np.isin(thread.stamps["kind"], LOCK_KINDS)]
        addresses.update(dict.fromkeys(np.unique(chosen).tolist()))
    return [_history(trace, threads, address) for address in addresses]


def _history(trace: Trace, threads: list[Thread], address: int) -> LockHistory:
    holds, waits, wakes, sleeps = [], [], [], False
    for index, thread in enumerate(threads):
        mine = thread.stamps[thread.stamps["lock"] == address]
        events = mine[np.isin(mine["kind"], LOCK_KINDS)]
        woke = mine[mine["kind"] == Kind.WAKE_BEGIN]
        holds.append(_holds(events, index, woke["ticks"], thread.stamps))
        waits.append(_waits(events, index))
        wakes.append(np.stack([woke["ticks"], woke["argument"]], axis=1))
        sleeps = sleeps or bool(np.any(mine["kind"] == Kind.SLEEP_BEGIN))
    held = np.concatenate(holds, axis=1)
    held = held[:, np.argsort(held[2], kind="stable")]
    waited = np.concatenate(waits, axis=1)
    waited = waited[:, np.argsort(waited[1], kind="stable")]
    woken = np.concatenate(wakes).astype(np.int64)
    return LockHistory(
        address=address,
        name=trace.lock_name(address),
        holds=Holds(*held),
        waits=Waits(*waited),
        wakes=woken[np.argsort(woken[:, 0], kind="stable")],
        stamps_sleep=sleeps,
        overlaps=int(np.sum(held[2][1:] < held[3][:-1])),
    )


def _holds(
    events: Events, index: int, wakes: NDArray[np.int64], stamps: Events
) -> NDArray[np.int64]:
    """Returns the rows of Holds for one thread. A recursive lock is held from the first acquisition
    to the last release."""
    kinds, ticks = events["kind"], events["ticks"]
    depth = np.cumsum((kinds == Kind.ACQUIRED).astype(np.int64) - (kinds == Kind.RELEASING))
    if len(depth):
        depth -= min(0, int(depth.min()))  # acquisitions that were overwritten
    begins = np.flatnonzero((kinds == Kind.ACQUIRED) & (depth == 1))
    ends = np.flatnonzero((kinds == Kind.RELEASING) & (depth == 0))
    after = np.searchsorted(ends, begins)
    has_end = after < len(ends)
    end = ends[np.minimum(after, max(len(ends) - 1, 0))] if len(ends) else np.zeros_like(after)
    call = np.maximum(begins - 1, 0)
    is_called = (begins > 0) & (kinds[call] == Kind.CALLED)
    done = np.minimum(end + 1, max(len(kinds) - 1, 0))
    is_done = has_end & (end + 1 < len(kinds)) & (kinds[done] == Kind.RELEASED)
    releasing = np.where(has_end, ticks[end] if len(ticks) else 0, NEVER)
    released = np.where(is_done, ticks[done] if len(ticks) else 0, NEVER)
    first_wake = np.append(wakes, NEVER)[np.searchsorted(wakes, releasing)]
    return np.stack(
        [
            np.full(len(begins), index),
            np.where(is_called, ticks[call], ticks[begins]),
            ticks[begins],
            releasing,
            np.minimum(first_wake, released),
            released,
            _prior(events[begins], stamps),
        ]
    ).astype(np.int64)


def _prior(acquired: Events, stamps: Events) -> NDArray[np.int64]:
    """Returns the thread's last stamp before each acquisition, where it has not paused since."""
    if not len(acquired):
        return np.empty(0, np.int64)
    before = np.searchsorted(stamps["ticks"], acquired["ticks"], side="left") - 1
    known = (before >= 0) & (acquired["argument"] >> 8 == 1)
    return np.where(known, stamps["ticks"][np.maximum(before, 0)], NEVER)


def _waits(events: Events, index: int) -> NDArray[np.int64]:
    kinds, ticks = events["kind"], events["ticks"]
    calls = np.flatnonzero(kinds == Kind.CALLED)
    nexts = np.minimum(calls + 1, max(len(kinds) - 1, 0))
    is_last = calls + 1 == len(kinds)
    is_over = ~is_last & np.isin(kinds[nexts], (Kind.ACQUIRED, Kind.FAILED))
    kept = is_last | is_over  # a call directly followed by another call has lost its end
    ends = np.where(is_over, ticks[nexts], NEVER)
    return np.stack([np.full(len(calls), index), ticks[calls], ends])[:, kept].astype(np.int64)
