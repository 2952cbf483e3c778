# SPDX-License-Identifier: Apache-2.0
"""Questions: groups of cells that differ only in the lock, with the best and the worst of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.advice.claims import IDLE, PAIR, RATE, TAIL, Aim, Claim, chosen_by
from lockyard.report.verdict.setting import groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lockyard.report.summary import CellSummary

REFERENCE = "std::mutex"
# A lock whose figure is this many times as bad as the reference's is advised against.
CLEARLY = 2.0


@dataclass(frozen=True)
class Question:
    aim: Aim
    group: Sequence[CellSummary]
    reference: CellSummary | None  # None: nothing to compare with
    best: Claim | None  # the best lock besides the reference
    worst: Claim | None  # None also if no other lock is clearly worse than the reference
    as_bad: Sequence[str] = ()  # locks that the choosing blocks put near the worst

    @property
    def threads(self) -> int:
        return self.group[0].threads

    @property
    def hold_ns(self) -> float:
        return float(self.group[0].conditions.get("hold_ns") or 0)

    @property
    def gap_ns(self) -> float:
        return float(self.group[0].conditions.get("gap_ns") or 0)

    @property
    def claims(self) -> list[Claim]:
        return [claim for claim in (self.best, self.worst) if claim is not None]


def questions(
    cells: Iterable[CellSummary], is_sound: Callable[[CellSummary], bool]
) -> list[Question]:
    """Returns the questions that the cells answer: of each group with several threads the rate and
    the longest wait, then how long the lock was free but wanted, and the uncontended cost."""
    sound = [cell for cell in cells if is_sound(cell) and not cell.as_published]
    contended = [cell for cell in sound if cell.threads > 1]
    waits = [cell for cell in contended if cell.study == "wait"]
    stalling: Counter[str] = Counter()
    found = []
    for group in groups(waits):
        stalls = set(_stalling(group))
        stalling.update(stalls)
        found += [_question(RATE, group, stalls), _question(TAIL, group, set())]
    often = {lock for lock, times in stalling.items() if 2 * times > len(groups(waits))}
    found += [
        _question(RATE, group, set())
        for group in groups(cell for cell in contended if cell.study == "throughput")
    ]
    found += [
        _question(IDLE, group, set())
        for group in groups(cell for cell in contended if cell.study == "idle")
    ]
    found += [
        _question(PAIR, group, often)
        for group in groups(cell for cell in sound if cell.study == "uncontended")
    ]
    return found


def _stalling(group: Sequence[CellSummary]) -> Iterator[str]:
    """Yields the locks whose waits are so long that no rate recommends them."""
    reference = _reference(group)
    for cell in group:
        if reference is not None and cell is not reference:
            ratio = chosen_by(TAIL, cell, reference)
            if ratio is not None and ratio >= CLEARLY:
                yield cell.lock


def _reference(group: Sequence[CellSummary]) -> CellSummary | None:
    return next((cell for cell in group if cell.lock == REFERENCE), None)


def _question(aim: Aim, group: Sequence[CellSummary], avoided: set[str]) -> Question:
    reference = _reference(group) or (group[0] if len(group) > 1 else None)
    if reference is None:
        return Question(aim, group, None, None, None)
    ratios = {
        cell.lock: (ratio if aim.compared.more_is_better else -ratio, cell)
        for cell in group
        if cell is not reference
        and aim.compared.of(cell)
        and (ratio := chosen_by(aim, cell, reference)) is not None
    }
    ordered = sorted(ratios.values(), key=lambda each: each[0], reverse=True)
    allowed = [cell for _, cell in ordered if cell.lock not in avoided]
    allowed = allowed or [cell for _, cell in ordered]
    best = Claim.of(aim, allowed[0], reference) if allowed and aim is not IDLE else None
    worst = ordered[-1][1] if ordered else None
    if worst is None or (best is not None and worst is best.cell):
        return Question(aim, group, reference, best, None)
    ratio = chosen_by(aim, worst, reference)
    if ratio is None or not _clearly_bad(ratio, aim):
        return Question(aim, group, reference, best, None)
    as_bad = [
        cell.lock
        for value, cell in ordered[:-1]
        if _clearly_bad(abs(value), aim) and not _clearly_bad(ratio / abs(value), aim)
    ]
    claim = Claim.of(aim, worst, reference, factor=CLEARLY)
    return Question(aim, group, reference, best, claim, as_bad)


def _clearly_bad(ratio: float, aim: Aim) -> bool:
    return ratio * CLEARLY <= 1 if aim.compared.more_is_better else ratio >= CLEARLY
