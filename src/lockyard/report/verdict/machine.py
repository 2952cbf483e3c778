# SPDX-License-Identifier: Apache-2.0
"""What the machine does without any lock, and how a stall compares with that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.report.machine import NOISE
from lockyard.report.naming import NAMED_APART, counted
from lockyard.report.units import duration
from lockyard.report.verdict.setting import Sentence
from lockyard.report.watch import listed, together, watches_of
from lockyard.work import WORK_CONDITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.report.summary import CellSummary
    from lockyard.report.watch import Watch


@dataclass(frozen=True)
class Machine:
    watched: Sequence[CellSummary]  # the cells of the study, one for each set of conditions

    @classmethod
    def of(cls, cells: Iterable[CellSummary]) -> Machine:
        return cls([cell for cell in cells if cell.study == NOISE and watches_of(cell)])

    def sentences(self, stalls_shown: bool) -> Iterable[Sentence]:
        if self.watched:
            worst = max(self.watched, key=_longest_ns)
            yield Sentence(
                _share(worst), (f"{NOISE} · {counted(_processors(worst), 'processor')}",)
            )
        elif stalls_shown:
            yield Sentence(
                "What the machine itself takes was not measured, so how much of these stalls is "
                "the lock's doing is open.",
                (),
            )

    def beside(self, cell: CellSummary, stall_ns: float) -> str:
        """How long the stall is beside the longest gap under the same conditions; nothing where
        that was not watched."""
        alike = [other for other in self.watched if _agree(cell, other)]
        if not alike:
            return ""
        gap_ns = max(_longest_ns(other) for other in alike)
        if stall_ns <= gap_ns:
            return "; the machine alone explains stalls of this length"
        if not any(_seen(other) for other in alike):
            return ""
        if gap_ns == 0:
            return "; the machine itself showed no gap"
        return f"; the longest is {stall_ns / gap_ns:.3g} times the machine's longest gap"


def _agree(cell: CellSummary, other: CellSummary) -> bool:
    """In every condition that both have; how many threads, where they run and what they do is the
    study's own."""
    return all(
        value == other.conditions[key]
        for key, value in cell.conditions.items()
        if key not in (*NAMED_APART, "pinning", *WORK_CONDITIONS) and key in other.conditions
    )


def _longest_ns(cell: CellSummary) -> float:
    return cell.maximum("longest_ns") or 0.0


def _processors(cell: CellSummary) -> int:
    return len(watches_of(cell))


def _seen(cell: CellSummary) -> list[Watch]:
    """The watches that ran long enough to mean something."""
    return [watch for watch in watches_of(cell).values() if not watch.shortfall]


def _share(cell: CellSummary) -> str:
    parts = [_lost(cell)]
    every = together(watches_of(cell).values())
    parts.append(f"steal {every.steal.explained}")
    parts.append(f"waiting behind other processes {every.run_delay.explained}")
    if _longest_ns(cell) or _seen(cell):
        longest = duration(_longest_ns(cell))
        parts.append(f"a stall of up to about {longest} needs no lock to explain it")
    return "; ".join(parts) + "."


def _lost(cell: CellSummary) -> str:
    """The share of the processors that were watched long enough, and which ones were not."""
    missed: dict[str, list[int]] = {}
    for cpu, watch in watches_of(cell).items():
        if watch.shortfall:
            missed.setdefault(watch.shortfall, []).append(cpu)
    why = "; ".join(f"{listed(cpus)} {shortfall}" for shortfall, cpus in missed.items())
    seen = _seen(cell)
    if not seen:
        return f"What the machine itself takes is unavailable ({why})"
    each = together(seen)
    where = f"on each of {counted(len(seen), 'processor')}"
    if missed:
        where = f"on {len(seen)} of {counted(_processors(cell), 'processor')} ({why})"
    return (
        f"The machine itself took {each.lost.explained} of the time, of "
        f"{duration(each.watched_ns / len(seen))} watched {where}: "
        f"longest gap {duration(_longest_ns(cell))}"
    )
