# SPDX-License-Identifier: Apache-2.0
"""What the machine does without any lock, and how a stall compares with that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.report.machine import NOISE, cores_of, known, part
from lockyard.report.naming import NAMED_APART, counted
from lockyard.report.units import duration, percent
from lockyard.report.verdict.setting import Sentence
from lockyard.work import WORK_CONDITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.report.summary import CellSummary


@dataclass(frozen=True)
class Machine:
    watched: Sequence[CellSummary]  # the cells of the study, one for each set of conditions

    @classmethod
    def of(cls, cells: Iterable[CellSummary]) -> Machine:
        return cls([cell for cell in cells if cell.study == NOISE and cores_of(cell)])

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
    return len({core["cpu"] for core in cores_of(cell)})


def _share(cell: CellSummary) -> str:
    cores = cores_of(cell)
    watched_ns = sum(core["watched_ns"] for core in cores) / _processors(cell)
    parts = [
        f"The machine itself took {percent(part(cores, 'lost_ns'))} of the time, of "
        f"{duration(watched_ns)} watched on each of "
        f"{counted(_processors(cell), 'processor')}: longest gap {duration(_longest_ns(cell))}",
        f"steal {known(cores, 'steal_ns')}",
        f"waiting behind other processes {known(cores, 'run_delay_ns')}",
        f"a stall of up to about {duration(_longest_ns(cell))} needs no lock to explain it",
    ]
    return "; ".join(parts) + "."
