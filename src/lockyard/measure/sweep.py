# SPDX-License-Identifier: Apache-2.0
"""Expands sweeps into cells, and counts and times the cells before any is measured."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockyard.errors import UsageError
from lockyard.measure.timing import Expected, expected, total

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.measure.cell import Cell
    from lockyard.measure.grid import Grid

# Larger sweeps need --yes.
MOST_CELLS = 2000


@dataclass(frozen=True)
class Expansion:
    cells: Sequence[Cell]  # only the first cells if there are too many
    number: int
    expected: Expected

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Expansion:
        return cls(cells, len(cells), total(cells))

    @property
    def left_out(self) -> int:
        return self.number - len(self.cells)


def expand(grids: Iterable[Grid], most: int | None = MOST_CELLS) -> Expansion:
    """Makes each cell once, even if several sweeps contain it. Of more than `most` cells only the
    first `most` are made, and cells that occur twice count twice."""
    grids = [grid for grid in grids if len(grid)]
    number = sum(map(len, grids))
    if number == 0:
        raise UsageError(
            "this sweep has 0 cells, so there is nothing to measure; give each option at least "
            "one value, and name at least one lock"
        )
    if most is not None and number > most:
        first = itertools.islice(itertools.chain.from_iterable(grids), most)
        all_of_them = (expected(next(iter(grid))) * len(grid) for grid in grids)
        return Expansion(list(first), number, sum(all_of_them, Expected()))
    return Expansion.of(_each_once(itertools.chain.from_iterable(grids)))


def check_size(of: Expansion) -> None:
    """Refuses sweeps that are too large to be intended, unless --yes was given."""
    if of.number > MOST_CELLS:
        raise UsageError(
            f"this sweep has {of.number:,} cells in {runs_in_words(of.expected)}, which take "
            f"{time_in_words(of.expected)}, so nothing was measured; give fewer values, list the "
            f"cells with --dry-run, or measure more than {MOST_CELLS:,} with --yes"
        )


def _each_once(cells: Iterable[Cell]) -> list[Cell]:
    found: dict[Cell, Cell] = {}
    for cell in cells:
        what = replace(cell, loops=None, run_s=0.0, runs=0, budget_s=0.0)
        if found.setdefault(what, cell) != cell:
            raise UsageError(
                f"two sweeps measure {cell.label} under the same conditions, but with runs of "
                "different length or number (--for, --runs, --loops), which no table could tell "
                "apart; use the same values in both, or drop one of the two"
            )
    return list(found.values())


def runs_in_words(of: Expected) -> str:
    return f"{'at most ' if of.has_loops else ''}{of.runs:,} runs"


def time_in_words(of: Expected) -> str:
    """Formats the time; the duration of loops is unknown in advance, so only a limit is given."""
    most = f"at most {in_words(of.at_most_s)}"
    return most if of.has_loops else f"about {in_words(of.total_s)}, {most}"


def in_words(seconds: float) -> str:
    """Formats a duration for a person who decides whether to wait."""
    for limit_s, unit_s, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit_s:
            return f"{seconds / unit_s:.{1 if seconds < 10 * unit_s else 0}f} {unit}"
    return f"{seconds / 86400:,.0f} days"
