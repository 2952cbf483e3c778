# SPDX-License-Identifier: Apache-2.0
"""Sentences of the verdict, and what they have in common: locks, processors, names of cells."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.report.naming import Naming, counted
from lockyard.stats import median_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lockyard.catalog import Catalog, Lock
    from lockyard.report.summary import CellSummary

# The fewest runs that can show a difference: an interval of 95 % needs six blocks.
ENOUGH_RUNS = 6


@dataclass(frozen=True)
class Sentence:
    """A finding on one line, the evidence for it, and the cells that hold it in the tables."""

    text: str
    cells: tuple[str, ...]
    evidence: tuple[str, ...] = ()

    @property
    def details(self) -> str:
        """Returns the evidence, followed by the names of the cells."""
        cells = [f"[{'; '.join(self.cells)}]"] if self.cells else []
        evidence = [f"{'; '.join(self.evidence)}."] if self.evidence else []
        return " ".join([*evidence, *cells])

    def __str__(self) -> str:
        return f"{self.text} {self.details}".rstrip()


@dataclass(frozen=True)
class Setting:
    locks: Mapping[str, Lock]
    processors: int | None
    naming: Naming

    @classmethod
    def of(cls, cells: Sequence[CellSummary], catalog: Catalog, processors: int | None) -> Setting:
        return cls({lock.name: lock for lock in catalog.measured}, processors, Naming.of(cells))

    def is_sound(self, cell: CellSummary) -> bool:
        """Tells whether the cell's figures count: the lock is sound, and no control or variant."""
        unfit = self._kind(cell) in ("control", "variant")
        return bool(cell.runs) and cell.checks_hold and not unfit

    def is_ours(self, cell: CellSummary) -> bool:
        return self._kind(cell) == "ours"

    def _kind(self, cell: CellSummary) -> str:
        lock = self.locks.get(cell.lock)
        return lock.kind if lock else ""

    def seed_name(self, cell: CellSummary) -> str:
        lock = self.locks.get(cell.lock)
        return lock.seed_name if lock else ""

    def circumstances(self, cell: CellSummary) -> list[str]:
        """Names the threads, the processors that they share, and the conditions."""
        place = ""
        if self.processors is not None:
            place = f" on {counted(self.processors, 'processor')}"
            if cell.threads > self.processors:
                place += " (oversubscribed)"
        return [f"{counted(cell.threads, 'thread')}{place}", *self.naming.conditions(cell)]

    def names(self, cells: Iterable[CellSummary]) -> tuple[str, ...]:
        """Returns one name for all cells that differ only in the lock."""
        return tuple(
            " · ".join(
                [
                    f"{group[0].study} as published" if group[0].as_published else group[0].study,
                    ", ".join(dict.fromkeys(cell.lock for cell in group)),
                    self.naming.setting(group[0]),
                ]
            )
            for group in groups(cells)
        )


def groups(cells: Iterable[CellSummary]) -> list[list[CellSummary]]:
    """Groups the cells of one study that differ only in the lock."""
    found: dict[str, list[CellSummary]] = {}
    for cell in cells:
        key = json.dumps([cell.study, cell.threads, cell.conditions], sort_keys=True)
        found.setdefault(key, []).append(cell)
    return list(found.values())


def longest_of_equal_runs(cells: Sequence[CellSummary], key: str) -> list[float]:
    """Returns each cell's maximum over equally many runs, since maxima grow with their number."""
    runs = min(len(cell.runs) for cell in cells)
    return [max(cell.longest(key, runs), default=0.0) for cell in cells]


def shown_longer(longer: CellSummary, shorter: CellSummary, key: str, factor: float = 1.0) -> bool:
    """Tells whether one cell's values, paired by block, are shown to be above `factor` times the
    other's. The test takes differences, since the shorter values may be 0."""
    ours, theirs = longer.by_block(key), shorter.by_block(key)
    beyond = sorted(ours[block] - factor * theirs[block] for block in ours.keys() & theirs.keys())
    low, _ = median_interval(beyond)
    return low is not None and low > 0
