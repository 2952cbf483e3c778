# SPDX-License-Identifier: Apache-2.0
"""Which lock lets the most through where several threads want it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.report.columns import RATE
from lockyard.report.naming import counted
from lockyard.report.reference import mean_over_cells
from lockyard.report.units import rate, ratio
from lockyard.report.verdict.setting import Sentence, Setting, groups
from lockyard.stats import paired_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.report.reference import Against
    from lockyard.report.summary import CellSummary

STUDY = "throughput"


def most_let_through(
    cells: Iterable[CellSummary], setting: Setting, against: Against | None
) -> Iterable[Sentence]:
    """With the most threads, and against the reference over all cells."""
    measured = [cell for cell in cells if cell.study == STUDY and _rate(cell)]
    if not measured:
        return
    most = max(cell.threads for cell in measured)
    yield _fastest(groups(cell for cell in measured if cell.threads == most)[0], setting)
    if against is not None:
        yield from _over_cells(measured, setting, against)


def _rate(cell: CellSummary) -> float:
    return cell.median("operations_per_s") or 0.0


def _fastest(group: Sequence[CellSummary], setting: Setting) -> Sentence:
    first, *others = sorted(group, key=_rate, reverse=True)
    named = [first]
    text = f"{setting.under(first)}, {first.lock} lets the most through, {rate(_rate(first))}"
    if others:
        second = others[0]
        named.append(second)
        found = paired_ratio(RATE.of(first), RATE.of(second))
        text += f"; {second.lock} is next with {rate(_rate(second))}"
        if found is not None:
            text += f" (ratio {ratio(found)})"
    return Sentence(f"{text}.", setting.names(named))


def _over_cells(
    cells: Sequence[CellSummary], setting: Setting, against: Against
) -> Iterable[Sentence]:
    """The best of ours, by the geometric mean over all cells."""
    settings = [
        (reference, group)
        for group in groups(cells)
        if (reference := against.among(group, RATE)) is not None
    ]
    ours = dict.fromkeys(cell.lock for cell in cells if setting.is_ours(cell))
    means = [(lock, *mean_over_cells(RATE, lock, settings)) for lock in ours]
    known = [
        (found, lock)
        for lock, found, number in means
        if found is not None and number == len(settings) > 1
    ]
    if not known:
        return
    best, lock = max(known, key=lambda each: each[0].median)
    of_cell = " of each cell" if against.chooses else ""
    yield Sentence(
        f"Over {counted(len(settings), 'cell')}, {lock} lets through {ratio(best)} times as much "
        f"as the {against.name.replace('-', ' ')}{of_cell}, by the geometric mean, the most of "
        "ours.",
        setting.names(cell for cell in cells if cell.lock == lock),
    )
