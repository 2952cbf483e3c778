# SPDX-License-Identifier: Apache-2.0
"""The sentence about the cost of a lock that no other thread wants."""

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
# At most this many locks that are as cheap as the cheapest are named.
NAMED = 3


def cheapest(cells: Iterable[CellSummary], setting: Setting) -> Iterable[Sentence]:
    """Yields the cheapest lock, with the cheapest of ours and the cheapest of ours that sleeps."""
    measured = [cell for cell in cells if cell.study == STUDY and cell.median(KEY) is not None]
    if not measured:
        return
    group = max(groups(measured), key=len)
    reference = next((cell for cell in group if cell.lock == REFERENCE), None)
    ours = [cell for cell in group if setting.is_ours(cell)]
    sleepers = [cell for cell in ours if setting.locks[cell.lock].waiting == "park"]
    first = _least(group)
    named = [first]
    evidence = list(setting.naming.conditions(first))
    if reference is not None and reference is not first:
        evidence.append(_cost(first, reference, ""))
    for candidates, what in (
        (ours, ", the cheapest of ours"),
        (sleepers, ", the cheapest of ours that sleeps"),
        ([reference] if reference else [], ""),
    ):
        if candidates and (best := _least(candidates)) not in named:
            named.append(best)
            evidence.append(_cost(best, reference, what))
    evidence += _as_cheap(first, group)
    text = f"{first.lock} takes {duration(first.median(KEY))} for an uncontended lock and unlock"
    if len(group) > 1:
        text = f"Cheapest uncontended lock and unlock: {first.lock}, {duration(first.median(KEY))}"
    if reference is not None and reference is not first:
        text += f"; {REFERENCE} {duration(reference.median(KEY))}"
    yield Sentence(f"{text}.", setting.names(named), tuple(evidence))


def _least(cells: Sequence[CellSummary]) -> CellSummary:
    return min(cells, key=lambda cell: cell.median(KEY) or 0.0)


def _cost(cell: CellSummary, reference: CellSummary | None, place: str) -> str:
    text = f"{cell.lock} {duration(cell.median(KEY))}{place}"
    found = None
    if reference is not None and cell is not reference:
        found = paired_ratio(cell.by_block(KEY), reference.by_block(KEY))
    return text if found is None else f"{text} ({ratio(found)} against {REFERENCE})"


def _as_cheap(first: CellSummary, group: Iterable[CellSummary]) -> list[str]:
    """Names locks that the cheapest is not shown to differ from, as its place then says little."""
    alike = []
    for cell in group:
        found = paired_ratio(cell.by_block(KEY), first.by_block(KEY))
        if cell is not first and found is not None and not found.shows_difference:
            alike.append(cell.lock)
    if not alike:
        return []
    more = f" and {len(alike) - NAMED} more" if len(alike) > NAMED else ""
    return [f"no difference shown between the cheapest and {', '.join(alike[:NAMED])}{more}"]
