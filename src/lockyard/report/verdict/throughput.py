# SPDX-License-Identifier: Apache-2.0
"""Sentences about the lock with the highest throughput among several threads."""

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
    """Yields the fastest lock with the most threads, and our best lock over all cells."""
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
    around = setting.circumstances(first)
    if not others:
        text = f"{first.lock} has a throughput of {rate(_rate(first))}."
        return Sentence(text, setting.names([first]), tuple(around))
    second = others[0]
    found = paired_ratio(RATE.of(first), RATE.of(second))
    reasons = [f"ratio {ratio(found)}"] if found else []
    rates = rate(_rate(first)), rate(_rate(second))
    text = (
        f"{first.lock} has the highest throughput, {rates[0]}; next is {second.lock}, {rates[1]}."
    )
    if found is None or not found.shows_difference:
        text = (
            f"{first.lock} and {second.lock} have the highest throughput, "
            f"{rates[0]} and {rates[1]}."
        )
    return Sentence(text, setting.names([first, second]), (*around, *reasons))


def _over_cells(
    cells: Sequence[CellSummary], setting: Setting, against: Against
) -> Iterable[Sentence]:
    """Yields the best of our locks by the geometric mean over all cells."""
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
    name = against.name.replace("-", " ")
    yield Sentence(
        f"Best of ours over {counted(len(settings), 'cell')}: {lock}, {best.median:.2f} times the "
        f"throughput of the {name}.",
        setting.names(cell for cell in cells if cell.lock == lock),
        (
            f"geometric mean {ratio(best)}",
            *(["the reference is chosen in each cell"] if against.chooses else []),
        ),
    )
