# SPDX-License-Identifier: Apache-2.0
"""The states of threads, lock and processors around a stall, as slices of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.picture import MOST_ROWS, Painter, Shown
from lockyard.explain.stretches import ON_PROCESSOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lockyard.explain.stalls import ExplainedLock, Explanation, Stall

# A stall with more pieces is cut into this many equal ones, each with its longest state.
MOST_PIECES = 600

Slice = tuple[int, int, Shown, str]  # begin and end in ticks, state, and the thread concerned


@dataclass(frozen=True)
class Strip:
    label: str
    slices: list[Slice]


def strips(explanation: Explanation, lock: ExplainedLock, stall: Stall) -> list[Strip]:
    painter = Painter(explanation, lock, stall, columns=1)
    if len(painter.at) > MOST_PIECES:
        painter = Painter(explanation, lock, stall, MOST_PIECES)
    return _Cutter(painter, stall, exact=len(painter.bounds) == 2).strips()


class _Cutter:
    def __init__(self, painter: Painter, stall: Stall, exact: bool) -> None:
        self._painter, self._stall = painter, stall
        if exact:
            self._edges = np.append(painter.at, painter.bounds[-1])
            self._place = np.arange(len(painter.at))
        else:
            self._edges = painter.bounds
            self._place = np.searchsorted(painter.bounds, painter.at, side="right") - 1

    def strips(self) -> list[Strip]:
        painter, threads = self._painter, self._painter.explanation.threads
        waiting = painter.waiting()
        states = {who: painter.of_thread(who, waits) for who, waits in waiting.items()}
        present = [who for who, each in states.items() if np.any(each)]
        busy = {who: float(np.sum((states[who] > 0) * painter.lengths)) for who in present}
        present.sort(key=lambda who: (who != self._stall.subject, -busy[who]))
        shown = present[:MOST_ROWS]
        found = [Strip(threads[who].label, self._slices(states[who])) for who in shown]
        found.append(Strip("lock", self._slices(painter.of_lock(waiting))))
        return [*found, *self._processors(shown)]

    def _slices(self, states: NDArray[np.uint8]) -> list[Slice]:
        longest = self._longest(states, len(Shown))
        return [
            (begin, end, Shown(state), "")
            for begin, end, state in self._runs(longest)
            if state != Shown.ELSEWHERE
        ]

    def _processors(self, shown: Sequence[int]) -> Iterator[Strip]:
        """Yields, for each processor, which of these threads ran there, and where it stopped."""
        painter, threads = self._painter, self._painter.explanation.threads
        ran: dict[int, NDArray[np.int64]] = {}
        for number, who in enumerate(shown, start=1):
            stretches = threads[who].stretches
            at = stretches.at(painter.at)
            cpus = np.where(np.isin(stretches.doing[at], ON_PROCESSOR), stretches.cpu[at], -1)
            for cpu in np.unique(cpus[cpus >= 0]).tolist():
                states = ran.setdefault(int(cpu), np.zeros(len(painter.at), np.int64))
                states[cpus == cpu] = number
        for cpu, states in sorted(ran.items()):
            stopped = painter.gaps_of(cpu)
            states[stopped] = len(shown) + 1
            longest = self._longest(states, len(shown) + 2)
            yield Strip(
                f"cpu {cpu}",
                [
                    (begin, end, Shown.GAP, "")
                    if state > len(shown)
                    else (begin, end, Shown.ELSEWHERE, threads[shown[state - 1]].label)
                    for begin, end, state in self._runs(longest)
                    if state
                ],
            )

    def _longest(self, states: NDArray[np.integer], kinds: int) -> NDArray[np.int64]:
        """Returns the state with the most time of each place."""
        weights = np.zeros((len(self._edges) - 1, kinds))
        places = np.minimum(self._place, len(weights) - 1)
        np.add.at(weights, (places, states.astype(np.int64)), self._painter.lengths)
        found: NDArray[np.int64] = np.argmax(weights, axis=1)
        return found

    def _runs(self, states: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
        """Yields neighbours of one state together."""
        starts = np.flatnonzero(np.append(True, np.diff(states) != 0))
        ends = np.append(starts[1:], len(states))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            yield int(self._edges[start]), int(self._edges[end]), int(states[start])
