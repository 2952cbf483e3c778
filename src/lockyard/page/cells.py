# SPDX-License-Identifier: Apache-2.0
"""What the charts of records share: groups of cells, and the spread of a figure over runs."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.page.model import Series, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lockyard.catalog import Catalog
    from lockyard.report.naming import Naming
    from lockyard.report.reference import Against
    from lockyard.report.summary import CellSummary


@dataclass(frozen=True)
class Records:
    """Everything that the charts of one file of records need."""

    cells: Sequence[CellSummary]
    catalog: Catalog
    naming: Naming
    against: Against | None
    processors: int | None
    simulated: Sequence[dict[str, object]] = ()  # documents of `lockyard simulate --json`

    def of(self, study: str) -> list[CellSummary]:
        """Returns the cells of a study that have runs whose checks hold."""
        return [c for c in self.cells if c.study == study and c.runs and c.checks_hold]


def by_setting(
    cells: Iterable[CellSummary], setting: Callable[[CellSummary], str]
) -> dict[str, list[CellSummary]]:
    found: dict[str, list[CellSummary]] = {}
    for cell in cells:
        found.setdefault(setting(cell), []).append(cell)
    return found


def line_over(
    name: str,
    cells: Iterable[CellSummary],
    x: Callable[[CellSummary], float],
    key: str,
    factor: float = 1.0,
) -> Series:
    """Returns medians over runs against `x`, with the quartiles of the runs as their range."""
    points = []
    for cell in cells:
        values = sorted(value * factor for value in cell.values(key))
        if values:
            points.append((x(cell), *quartiles(values), f"{len(values)} runs"))
    points.sort()
    xs, lows, middles, highs, notes = zip(*points, strict=True) if points else ((), (), (), (), ())
    return Series(name, xs, middles, mark=name, low=lows, high=highs, notes=notes)


def quartiles(ordered: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Returns the quartiles, of which a single value is all three."""
    if len(ordered) == 1:
        return short(ordered[0]), short(ordered[0]), short(ordered[0])
    low, middle, high = statistics.quantiles(ordered, n=4, method="inclusive")
    return short(low), short(middle), short(high)


def in_words(names: Sequence[str], most: int = 6) -> str:
    """Lists the first names and counts the others."""
    rest = len(names) - most
    listed = ", ".join(names[:most])
    return f"{listed} and {rest} more" if rest > 0 else listed
