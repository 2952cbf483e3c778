# SPDX-License-Identifier: Apache-2.0
"""The sequential design of a report: after the choosing blocks, only cells whose answer is open are
measured again, until every answer is settled or the time is up. Answers that the rest of the time
can settle come first."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from lockyard.advice.claims import CHOOSING_BLOCKS, Claim
from lockyard.advice.questions import questions
from lockyard.measure.noise import NOISE_STUDY
from lockyard.report.summary import CellSummary, summary_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from lockyard.harness import Record
    from lockyard.measure.cell import Cell

# A claim with fewer compared blocks says too little of how many more it needs.
FORESEEING_BLOCKS = 12
# Claims that the rest of the time will not settle, and the machine's noise, are measured in every
# so many blocks.
SELDOM = 4
# Only what the claims read is kept of a run.
KEPT = ("block", "checks")


class Design:
    """Decides, block by block, which places of a plan are measured."""

    def __init__(
        self,
        cells: Sequence[Cell],
        budget_s: float,
        always: Collection[int] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`always` holds the places that are measured in every block until their runs are done."""
        self.budget_s = budget_s
        self._clock = clock
        self._always = set(always)
        self._watching = {i for i, cell in enumerate(cells) if cell.study == NOISE_STUDY}
        self.summaries = [summary_of(cell.study, cell.lock, cell.asked) for cell in cells]
        self._place = {id(summary): place for place, summary in enumerate(self.summaries)}
        self._spent_s = [0.0] * len(cells)
        self._blocks = 0
        self._chosen: list[Claim] = []
        self._chosen_in: object = None  # what the choice of the claims' locks was made from
        self._started = clock()

    @property
    def spent_s(self) -> float:
        return self._clock() - self._started

    @property
    def is_over(self) -> bool:
        return self.spent_s >= self.budget_s

    def places(self, block: int) -> set[int]:
        if self.is_over:
            return set()
        if block < CHOOSING_BLOCKS:
            return set(range(len(self.summaries)))
        seldom = block % SELDOM == 0
        still_open = [claim for claim in self.claims() if not claim.is_settled]
        wanted = still_open if seldom else self._within_reach(still_open)
        found = {place for claim in wanted for place in self._places(claim)} | self._always
        return found | self._watching if seldom and still_open else found

    def count(self, place: int, record: Record) -> None:
        if record["status"] == "ok" and record["values"].get("complete"):
            self._blocks = max(self._blocks, record["block"] + 1)
            values = {k: v for k, v in record["values"].items() if isinstance(v, int | float)}
            kept = {key: record[key] for key in KEPT}
            self._spent_s[place] += record["spent_s"]
            self.summaries[place].runs.append({**kept, "values": values, "histograms": {}})

    def _within_reach(self, claims: Sequence[Claim]) -> list[Claim]:
        """Returns the claims that the rest of the time can settle, in the order of the blocks that
        they need, but at least one claim, and each claim of which too little is known."""
        foreseen = [claim for claim in claims if claim.blocks >= FORESEEING_BLOCKS]
        found = [claim for claim in claims if claim.blocks < FORESEEING_BLOCKS]
        needs = [(claim.blocks_left(), claim) for claim in foreseen]
        needs.sort(key=lambda each: each[0])
        left_s = self.budget_s - self.spent_s
        blocks_of: dict[int, float] = {}  # by place: the blocks that are already paid for
        for blocks, claim in needs:
            places = self._places(claim)
            left_s -= sum((blocks - blocks_of.get(i, 0.0)) * self._run_s(i) for i in places)
            if found and (math.isinf(blocks) or left_s < 0):
                break
            blocks_of |= dict.fromkeys(places, blocks)
            found.append(claim)
        return found

    def _places(self, claim: Claim) -> tuple[int, int]:
        return self._place[id(claim.cell)], self._place[id(claim.reference)]

    def _run_s(self, place: int) -> float:
        return self._spent_s[place] / max(len(self.summaries[place].runs), 1)

    def claims(self) -> list[Claim]:
        """Returns the claims as they stand. The choice of their locks is final after the choosing
        blocks, unless a lock turns out to fail its checks."""
        sound = [cell for cell in self._measured() if _is_sound(cell)]
        state = (min(self._blocks, CHOOSING_BLOCKS), [id(cell) for cell in sound])
        if state != self._chosen_in:
            self._chosen_in = state
            self._chosen = [claim for each in questions(sound, _is_sound) for claim in each.claims]
        return [Claim.of(each.aim, each.cell, each.reference, each.factor) for each in self._chosen]

    def _measured(self) -> Iterable[CellSummary]:
        apart = self._always | self._watching
        return (each for place, each in enumerate(self.summaries) if place not in apart)


def _is_sound(cell: CellSummary) -> bool:
    return bool(cell.runs) and cell.checks_hold and cell.lock != "null_lock"
