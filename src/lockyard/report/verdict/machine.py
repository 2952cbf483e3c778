# SPDX-License-Identifier: Apache-2.0
"""Sentences about what the machine does without any lock, and its share in stalls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.measure.work import WORK_CONDITIONS
from lockyard.report.naming import NAMED_APART, counted
from lockyard.report.units import duration
from lockyard.report.verdict.setting import Sentence
from lockyard.report.watch import listed, together, watches_of
from lockyard.studies.noise import NOISE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.report.summary import CellSummary
    from lockyard.report.watch import Watch


@dataclass(frozen=True)
class Machine:
    watched: Sequence[CellSummary]  # the cells of the study noise, one for each set of conditions

    @classmethod
    def of(cls, cells: Iterable[CellSummary]) -> Machine:
        return cls([cell for cell in cells if cell.study == NOISE and watches_of(cell)])

    def sentences(self, stalls_shown: bool) -> Iterable[Sentence]:
        if self.watched:
            worst = max(self.watched, key=_longest_ns)
            names = (f"{NOISE} · {counted(_processors(worst), 'processor')}",)
            yield Sentence(_headline(worst), names, tuple(_evidence(worst)))
        elif stalls_shown:
            yield Sentence(
                "Measure noise too: without it, these stalls may be the machine's or the lock's.",
                (),
            )

    def comparison(self, cell: CellSummary, stall_ns: float) -> list[str]:
        """Compares a stall with the machine's longest gap under the same conditions; empty if the
        machine was not watched under them."""
        alike = [other for other in self.watched if _agree(cell, other)]
        if not alike:
            return []
        gap_ns = max(_longest_ns(other) for other in alike)
        if stall_ns <= gap_ns:
            return ["the machine alone explains stalls of this length"]
        if not any(_seen(other) for other in alike):
            return []
        if gap_ns == 0:
            return ["the machine itself showed no gap"]
        return [f"the longest is {stall_ns / gap_ns:.3g} times the machine's longest gap"]


def _agree(cell: CellSummary, other: CellSummary) -> bool:
    """Tells whether two cells agree in every condition that both have, except the number, placement
    and work of the threads, which belong to the study."""
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
    """Returns the watches that ran long enough to mean something."""
    return [watch for watch in watches_of(cell).values() if not watch.shortfall]


def _headline(cell: CellSummary) -> str:
    seen = _seen(cell)
    if not seen:
        return "Measure again on a quieter machine: its own share of the time is unavailable."
    took = f"the machine itself took {together(seen).lost} of the time"
    longest_ns = _longest_ns(cell)
    if longest_ns == 0:
        return f"{took[0].upper()}{took[1:]}, without a single gap."
    return f"Stalls of up to {duration(longest_ns)} need no lock to explain them: {took}."


def _evidence(cell: CellSummary) -> Iterable[str]:
    missed: dict[str, list[int]] = {}
    for cpu, watch in watches_of(cell).items():
        if watch.shortfall:
            missed.setdefault(watch.shortfall, []).append(cpu)
    why = "; ".join(f"{listed(cpus)} {shortfall}" for shortfall, cpus in missed.items())
    seen, longest = _seen(cell), duration(_longest_ns(cell))
    if seen:
        each = together(seen)
        where = f"on each of {counted(len(seen), 'processor')}"
        if missed:
            where = f"on {len(seen)} of {counted(_processors(cell), 'processor')} ({why})"
        yield f"{duration(each.watched_ns / len(seen))} watched {where}"
        if each.lost.reason:
            yield f"lost time {each.lost.explained}"
        yield f"longest gap {longest}"
    else:
        yield why
        if _longest_ns(cell):
            yield f"a stall of up to {longest} needs no lock to explain it"
    every = together(watches_of(cell).values())
    yield f"steal {every.steal.explained}"
    yield f"waiting behind other processes {every.run_delay.explained}"
