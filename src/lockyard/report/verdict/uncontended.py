# SPDX-License-Identifier: Apache-2.0
"""What a lock costs where nobody else wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.report.units import duration, ratio
from lockyard.report.verdict.setting import Sentence, Setting, groups
from lockyard.stats import paired_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.report.summary import CellSummary

STUDY = "uncontended"
KEY = "pair_after_threads_ns"
REFERENCE = "std::mutex"
# As many locks as the cheapest is not shown to differ from are named.
NAMED = 3


def cheapest(cells: Iterable[CellSummary], setting: Setting) -> Iterable[Sentence]:
    """The cheapest lock, ours, and that of ours which puts waiters to sleep as a mutex does."""
    measured = [cell for cell in cells if cell.study == STUDY and cell.median(KEY) is not None]
    if not measured:
        return
    group = max(groups(measured), key=len)
    reference = next((cell for cell in group if cell.lock == REFERENCE), None)
    ours = [cell for cell in group if setting.is_ours(cell)]
    sleepers = [cell for cell in ours if setting.locks[cell.lock].waiting == "park"]
    first = _least(group)
    named = [first]
    parts = [_cost(first, reference, ", the cheapest" if len(group) > 1 else "")]
    for candidates, what in (
        (ours, ", the cheapest of ours"),
        (sleepers, ", the cheapest of ours that sleeps"),
        ([reference] if reference else [], ""),
    ):
        if candidates and (best := _least(candidates)) not in named:
            named.append(best)
            parts.append(_cost(best, reference, what))
    opening = ", ".join(["Uncontended", *setting.naming.conditions(first), "lock and unlock cost "])
    text = f"{opening}{'; '.join(parts)}{_as_cheap(first, group)}."
    yield Sentence(text, setting.names(named))


def _least(cells: Sequence[CellSummary]) -> CellSummary:
    return min(cells, key=lambda cell: cell.median(KEY) or 0.0)


def _cost(cell: CellSummary, reference: CellSummary | None, place: str) -> str:
    text = f"{duration(cell.median(KEY))} with {cell.lock}{place}"
    found = None
    if reference is not None and cell is not reference:
        found = paired_ratio(cell.by_block(KEY), reference.by_block(KEY))
    return text if found is None else f"{text} ({ratio(found)} against {REFERENCE})"


def _as_cheap(first: CellSummary, group: Iterable[CellSummary]) -> str:
    """The locks that the cheapest is not shown to differ from: its first place says little."""
    alike = []
    for cell in group:
        found = paired_ratio(cell.by_block(KEY), first.by_block(KEY))
        if cell is not first and found is not None and not found.shows_difference:
            alike.append(cell.lock)
    if not alike:
        return ""
    more = f" and {len(alike) - NAMED} more" if len(alike) > NAMED else ""
    return f"; no difference shown between the cheapest and {', '.join(alike[:NAMED])}{more}"
