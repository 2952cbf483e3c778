# SPDX-License-Identifier: Apache-2.0
"""The sequential design of a report: after the choosing blocks, only cells whose answer is open are
measured again, until every answer is settled or the time is up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lockyard.advice.claims import CHOOSING_BLOCKS
from lockyard.advice.questions import questions
from lockyard.measure.noise import NOISE_STUDY
from lockyard.report.summary import CellSummary, summary_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from lockyard.advice.claims import Claim
    from lockyard.harness import Record
    from lockyard.measure.cell import Cell

# Only what the claims read is kept of a run.
KEPT = ("block", "checks")


class Design:
    """Decides, block by block, which places of a plan are measured."""

    def __init__(
        self, cells: Sequence[Cell], budget_s: float, always: Collection[int] = ()
    ) -> None:
        """`always` holds the places that are measured in every block until their runs are done."""
        self.budget_s = budget_s
        self._always = set(always)
        self._watching = {i for i, cell in enumerate(cells) if cell.study == NOISE_STUDY}
        self._summaries = [summary_of(cell.study, cell.lock, cell.asked) for cell in cells]
        self._place = {id(summary): place for place, summary in enumerate(self._summaries)}
        self._started = time.monotonic()

    @property
    def spent_s(self) -> float:
        return time.monotonic() - self._started

    @property
    def is_over(self) -> bool:
        return self.spent_s >= self.budget_s

    def places(self, block: int) -> set[int]:
        if self.is_over:
            return set()
        if block < CHOOSING_BLOCKS:
            return set(range(len(self._summaries)))
        open_places = self._open_places()
        watching = self._watching if open_places else set()
        return open_places | self._always | watching

    def count(self, place: int, record: Record) -> None:
        if record["status"] == "ok" and record["values"].get("complete"):
            values = {k: v for k, v in record["values"].items() if isinstance(v, int | float)}
            kept = {key: record[key] for key in KEPT}
            self._summaries[place].runs.append({**kept, "values": values, "histograms": {}})

    def _open_places(self) -> set[int]:
        return {
            self._place[id(cell)]
            for claim in self.claims()
            if not claim.is_settled
            for cell in (claim.cell, claim.reference)
        }

    def claims(self) -> list[Claim]:
        return [claim for each in questions(self._measured(), _is_sound) for claim in each.claims]

    def _measured(self) -> Iterable[CellSummary]:
        apart = self._always | self._watching
        return (each for place, each in enumerate(self._summaries) if place not in apart)


def _is_sound(cell: CellSummary) -> bool:
    return bool(cell.runs) and cell.checks_hold and cell.lock != "null_lock"
