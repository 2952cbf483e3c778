# SPDX-License-Identifier: Apache-2.0
"""What all sentences have to know beside their cells, and how a cell is named."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockyard.report.units import duration
from lockyard.stats import median_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lockyard.catalog import Catalog, Lock
    from lockyard.report.summary import CellSummary

# The fewest runs that can show a difference: an interval of 95 % needs six blocks.
ENOUGH_RUNS = 6

# Conditions that are named only where they differ from this, or vary within a study.
DEFAULTS = {"pinning": "none", "policy": "other", "priority": 0, "load": 0, "hold_ns": 0}
# These have a place of their own in a cell's name.
NAMED_APART = ("threads", "as_published")


@dataclass(frozen=True)
class Sentence:
    """A finding, and the cells it rests on, named so that their rows in the tables are found."""

    text: str
    cells: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.text} [{'; '.join(self.cells)}]" if self.cells else self.text


@dataclass(frozen=True)
class Setting:
    locks: Mapping[str, Lock]
    processors: int | None
    varying: frozenset[tuple[str, str]]  # study and condition

    @classmethod
    def of(cls, cells: Iterable[CellSummary], catalog: Catalog, processors: int | None) -> Setting:
        values: dict[tuple[str, str], set[str]] = {}
        for cell in cells:
            for key, value in cell.conditions.items():
                if value is not None and key not in NAMED_APART:
                    values.setdefault((cell.study, key), set()).add(json.dumps(value))
        varying = frozenset(where for where, found in values.items() if len(found) > 1)
        return cls({lock.name: lock for lock in catalog.locks}, processors, varying)

    def is_sound(self, cell: CellSummary) -> bool:
        """Whether there are figures that mean something: a broken lock's and a control's do not."""
        return bool(cell.runs) and cell.checks_hold and self._kind(cell) != "control"

    def is_ours(self, cell: CellSummary) -> bool:
        return self._kind(cell) == "ours"

    def _kind(self, cell: CellSummary) -> str:
        lock = self.locks.get(cell.lock)
        return lock.kind if lock else ""

    def seed_name(self, cell: CellSummary) -> str:
        lock = self.locks.get(cell.lock)
        return lock.seed_name if lock else ""

    def conditions(self, cell: CellSummary) -> list[str]:
        """Those that a reader cannot take for granted."""
        return [
            _in_words(key, value)
            for key, value in cell.conditions.items()
            if value is not None
            and key not in NAMED_APART
            and ((cell.study, key) in self.varying or value != DEFAULTS.get(key, value))
        ]

    def under(self, cell: CellSummary) -> str:
        """How a sentence opens: the threads, the processors they share, the conditions."""
        place = ""
        if self.processors is not None:
            place = f" on {counted(self.processors, 'processor')}"
            if cell.threads > self.processors:
                place += " (oversubscribed)"
        return ", ".join([f"With {counted(cell.threads, 'thread')}{place}", *self.conditions(cell)])

    def names(self, cells: Iterable[CellSummary]) -> tuple[str, ...]:
        """One name for all cells that differ in the lock only."""
        return tuple(
            " · ".join(
                [
                    f"{group[0].study} as published" if group[0].as_published else group[0].study,
                    ", ".join(dict.fromkeys(cell.lock for cell in group)),
                    counted(group[0].threads, "thread"),
                    *self.conditions(group[0]),
                ]
            )
            for group in groups(cells)
        )


def groups(cells: Iterable[CellSummary]) -> list[list[CellSummary]]:
    """Cells of one study that differ in nothing but the lock, together."""
    found: dict[str, list[CellSummary]] = {}
    for cell in cells:
        key = json.dumps([cell.study, cell.threads, cell.conditions], sort_keys=True)
        found.setdefault(key, []).append(cell)
    return list(found.values())


def longest_of_equal_runs(cells: Sequence[CellSummary], key: str) -> list[float]:
    """For each cell, of as many runs as every one of them has: maxima grow with their number."""
    runs = min(len(cell.runs) for cell in cells)
    return [max(cell.longest(key, runs), default=0.0) for cell in cells]


def shown_longer(longer: CellSummary, shorter: CellSummary, key: str, factor: float = 1.0) -> bool:
    """Whether, paired by block, one is shown to be over so many times as long as the other. Taken
    from differences, for a shorter one may be 0."""
    ours, theirs = longer.by_block(key), shorter.by_block(key)
    beyond = sorted(ours[block] - factor * theirs[block] for block in ours.keys() & theirs.keys())
    low, _ = median_interval(beyond)
    return low is not None and low > 0


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _in_words(key: str, value: Any) -> str:
    if isinstance(value, list):
        value = ",".join(str(part) for part in value)
    if key == "pinning":
        return f"pinning {value}"
    if key.endswith("_ns") and isinstance(value, (int, float)):
        return f"{key.removesuffix('_ns')} {duration(value)}"
    return f"{key} {value}"
