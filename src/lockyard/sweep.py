# SPDX-License-Identifier: Apache-2.0
"""Sweeps: expanded into cells, which are counted and timed before any is measured."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockyard.errors import UsageError
from lockyard.timing import Expected, expected, total

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.cell import Cell
    from lockyard.grid import Grid

# Whoever wants more says so.
MOST_CELLS = 2000


@dataclass(frozen=True)
class Expansion:
    cells: Sequence[Cell]  # the first ones, if there are too many
    number: int
    expected: Expected

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Expansion:
        return cls(cells, len(cells), total(cells))

    @property
    def left_out(self) -> int:
        return self.number - len(self.cells)


def expand(grids: Iterable[Grid], most: int | None = MOST_CELLS) -> Expansion:
    """Each cell once, whichever sweeps have it. Of more than `most` no more are made than that, and
    cells that come twice count twice."""
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
    """Refuses what nobody can have meant; to be asked where nobody said yes."""
    if of.number > MOST_CELLS:
        raise UsageError(
            f"this sweep has {of.number:,} cells in {runs_in_words(of.expected)}, which take "
            f"{time_in_words(of.expected)}; nothing was measured; give fewer values, look at "
            f"them by --dry-run, or measure more than {MOST_CELLS:,} by --yes"
        )


def _each_once(cells: Iterable[Cell]) -> list[Cell]:
    found: dict[Cell, Cell] = {}
    for cell in cells:
        what = replace(cell, loops=None, run_s=0.0, runs=0, budget_s=0.0)
        if found.setdefault(what, cell) != cell:
            raise UsageError(
                f"two sweeps have {cell.label} under the same conditions, but with runs of another "
                "length or number (--for, --runs, --loops), which no table could tell apart; give "
                "both the same, or leave one out"
            )
    return list(found.values())


def runs_in_words(of: Expected) -> str:
    return f"{'at most ' if of.has_loops else ''}{of.runs:,} runs"


def time_in_words(of: Expected) -> str:
    """Without an estimate where there is none: how long loops take is not known before."""
    most = f"at most {in_words(of.at_most_s)}"
    return most if of.has_loops else f"about {in_words(of.total_s)}, {most}"


def in_words(seconds: float) -> str:
    """For a person who decides whether to wait."""
    for limit_s, unit_s, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit_s:
            return f"{seconds / unit_s:.{1 if seconds < 10 * unit_s else 0}f} {unit}"
    return f"{seconds / 86400:,.0f} days"
