# SPDX-License-Identifier: Apache-2.0
"""Draws a stall as a timeline with a row for each thread, for the lock and for each processor."""

from __future__ import annotations

import string
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.stretches import ON_PROCESSOR, Doing, inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lockyard.explain.stalls import ExplainedLock, Explanation, Stall

MOST_ROWS = 8
BEFORE, AFTER = 0.06, 0.04  # times shown around a stall, as shares of its length
LETTERS = string.ascii_letters


class Shown(IntEnum):
    """The states that a column of a row can show; the one with the most time wins."""

    ELSEWHERE = 0
    HELD = 1
    HELD_AWAY = 2
    RELEASING = 3
    WAITS = 4
    ASLEEP = 5
    AWAY = 6
    WOKEN = 7
    FREE_WANTED = 8
    GAP = 9


LOOK = {
    Shown.ELSEWHERE: (" ", "", ""),
    Shown.HELD: ("█", "green", "holds the lock"),
    Shown.HELD_AWAY: ("▒", "red", "holds the lock, not running"),
    Shown.RELEASING: ("▌", "cyan", "in its release"),
    Shown.WAITS: ("w", "yellow", "waits, running"),
    Shown.ASLEEP: ("z", "blue", "waits, asleep"),
    Shown.AWAY: ("-", "magenta", "waits, not running"),
    Shown.WOKEN: ("!", "bright_magenta", "woken, not running"),
    Shown.FREE_WANTED: ("░", "bold red", "free but wanted"),
    Shown.GAP: ("x", "bold red", "the processor has stopped"),
}


@dataclass(frozen=True)
class Row:
    label: str
    cells: str
    styles: tuple[str, ...]  # one for each cell


@dataclass(frozen=True)
class Picture:
    rows: list[Row]
    left_out: int  # threads
    begin_column: int  # of the stall
    end_column: int


def picture(explanation: Explanation, lock: ExplainedLock, stall: Stall, columns: int) -> Picture:
    return Painter(explanation, lock, stall, columns).painted()


class Painter:
    """Cuts the time around a stall into pieces in which no thread changes its state, and tells the
    states. `columns` are as many cuts more, at equal distances."""

    def __init__(
        self, explanation: Explanation, lock: ExplainedLock, stall: Stall, columns: int
    ) -> None:
        self.explanation, self._lock, self._stall = explanation, lock, stall
        self._columns = columns
        low = stall.begin - round(stall.length * BEFORE)
        high = stall.end + max(round(stall.length * AFTER), 1)
        self.bounds = np.unique(np.linspace(low, high, columns + 1).astype(np.int64))
        pieces = lock.pieces
        inner = pieces.begins[(pieces.begins > low) & (pieces.begins < high)]
        cuts = np.union1d(inner, self.bounds)
        self.at, self.lengths = cuts[:-1], np.diff(cuts)
        self._column = np.searchsorted(self.bounds, self.at, side="right") - 1
        holds = lock.history.holds
        self._hold = np.searchsorted(holds.acquired, self.at, side="right") - 1

    def painted(self) -> Picture:
        waiting = self.waiting()
        shown = {who: self.of_thread(who, waits) for who, waits in waiting.items()}
        present = [who for who, states in shown.items() if np.any(states)]
        order = sorted(
            present, key=lambda who: (who != self._stall.subject, -self._weight(shown[who]))
        )
        rows_of = order[:MOST_ROWS]
        letters = dict(zip(rows_of, LETTERS, strict=False))
        rows = [
            self._row(f"{letters[who]} {self.explanation.threads[who].label}", shown[who])
            for who in rows_of
        ]
        rows.append(self._row("lock", self.of_lock(waiting)))
        rows += self._processors(rows_of, letters)
        first, last = (
            np.searchsorted(self.bounds, [self._stall.begin, self._stall.end], side="right") - 1
        )
        return Picture(rows, len(order) - len(rows_of), int(first), int(last))

    def _weight(self, states: NDArray[np.uint8]) -> float:
        busy = np.isin(states, (Shown.HELD, Shown.HELD_AWAY, Shown.RELEASING)) * 4 + (states > 0)
        return float(np.sum(busy * self.lengths))

    def waiting(self) -> dict[int, NDArray[np.bool_]]:
        waits = self._lock.history.waits
        users = np.union1d(waits.who, self._lock.history.holds.who).tolist()
        found = {}
        for who in users:
            chosen = waits.who == who
            pairs = np.stack([waits.called[chosen], waits.end[chosen]], axis=1)
            found[int(who)] = inside(self.at, pairs)
        return found

    @cached_property
    def _owned(self) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        holds = self._lock.history.holds
        if not len(holds):
            none = np.zeros(len(self.at), bool)
            return np.full(len(self.at), -1), none, none
        at, known = np.maximum(self._hold, 0), self._hold >= 0
        held = known & (self.at < holds.releasing[at])
        releasing = known & ~held & (self.at < holds.released[at])
        return np.where(known, holds.who[at], -1), held, releasing

    def of_thread(self, who: int, waits: NDArray[np.bool_]) -> NDArray[np.uint8]:
        owner, held, releasing = self._owned
        stretches = self.explanation.threads[who].stretches
        doing = stretches.doing[stretches.at(self.at)]
        away = ~np.isin(doing, (*ON_PROCESSOR, Doing.UNKNOWN))
        mine = owner == who
        return np.select(
            [
                mine & held & away,
                mine & held,
                mine & releasing & away,
                mine & releasing,
                waits & (doing == Doing.WOKEN),
                waits & np.isin(doing, (Doing.ASLEEP, Doing.BLOCKED)),
                waits & away,
                waits,
            ],
            [
                Shown.HELD_AWAY,
                Shown.HELD,
                Shown.HELD_AWAY,
                Shown.RELEASING,
                Shown.WOKEN,
                Shown.ASLEEP,
                Shown.AWAY,
                Shown.WAITS,
            ],
            Shown.ELSEWHERE,
        ).astype(np.uint8)

    def of_lock(self, waiting: dict[int, NDArray[np.bool_]]) -> NDArray[np.uint8]:
        _, held, releasing = self._owned
        wanted = np.any(np.stack(list(waiting.values())), axis=0)
        free = ~held & ~releasing & wanted
        return np.select(
            [held, releasing, free], [Shown.HELD, Shown.RELEASING, Shown.FREE_WANTED], 0
        ).astype(np.uint8)

    def _row(self, label: str, states: NDArray[np.uint8]) -> Row:
        weights = np.zeros((len(Shown), self._columns))
        np.add.at(weights, (states, np.minimum(self._column, self._columns - 1)), self.lengths)
        best = [Shown(int(each)) for each in np.argmax(weights, axis=0)]
        return Row(
            label, "".join(LOOK[each][0] for each in best), tuple(LOOK[each][1] for each in best)
        )

    def _processors(self, rows_of: Sequence[int], letters: dict[int, str]) -> list[Row]:
        """Draws, for each processor, the thread that ran there for most of each column's time."""
        ran: dict[int, NDArray[np.float64]] = {}
        for row, who in enumerate(rows_of, start=1):
            stretches = self.explanation.threads[who].stretches
            at = stretches.at(self.at)
            cpus = np.where(np.isin(stretches.doing[at], ON_PROCESSOR), stretches.cpu[at], -1)
            for cpu in np.unique(cpus[cpus >= 0]).tolist():
                weights = ran.setdefault(int(cpu), np.zeros((len(rows_of) + 2, self._columns)))
                chosen = cpus == cpu
                columns = np.minimum(self._column[chosen], self._columns - 1)
                np.add.at(weights[row], columns, self.lengths[chosen])
        gap_row = len(rows_of) + 1
        rows = []
        for cpu, weights in sorted(ran.items()):
            in_gap = self.gaps_of(cpu)
            columns = np.minimum(self._column[in_gap], self._columns - 1)
            np.add.at(weights[gap_row], columns, 2 * self.lengths[in_gap])
            glyphs = [".", *(letters[who] for who in rows_of), LOOK[Shown.GAP][0]]
            best = np.argmax(weights, axis=0).tolist()
            styles = ("dim", *[""] * len(rows_of), LOOK[Shown.GAP][1])
            rows.append(
                Row(
                    f"cpu {cpu}",
                    "".join(glyphs[each] for each in best),
                    tuple(styles[each] for each in best),
                )
            )
        return rows

    def gaps_of(self, cpu: int) -> NDArray[np.bool_]:
        """Tells in which pieces the processor has stopped."""
        return self._lock.pieces.gaps.hit(self.at, np.full(len(self.at), cpu))
