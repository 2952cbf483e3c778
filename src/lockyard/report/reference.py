# SPDX-License-Identifier: Apache-2.0
"""The reference that locks are compared with: one lock, or in each cell the best of several."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.stats import mean_ratio, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lockyard.catalog import Catalog
    from lockyard.report.columns import Compared
    from lockyard.report.summary import CellSummary
    from lockyard.stats import Ratio


@dataclass(frozen=True)
class Reference:
    """The reference among cells that differ only in the lock."""

    cell: CellSummary
    chosen: bool  # on odd blocks, so that only even blocks are compared

    def counted(self, values: Mapping[int, float]) -> dict[int, float]:
        """Returns the values of the blocks that are compared."""
        return {b: value for b, value in values.items() if not self.chosen or b % 2 == 0}

    def pair(
        self, compared: Compared, cell: CellSummary
    ) -> tuple[dict[int, float], dict[int, float]]:
        return self.counted(compared.of(cell)), self.counted(compared.of(self.cell))

    def ratio(self, compared: Compared, cell: CellSummary) -> Ratio | None:
        return paired_ratio(*self.pair(compared, cell))


@dataclass(frozen=True)
class Against:
    """The reference as the command line names it."""

    name: str
    candidates: Sequence[str]  # locks

    @classmethod
    def of(cls, name: str | None, catalog: Catalog) -> Against | None:
        if name is None:
            return None
        if name in catalog.ways:
            return cls(name, [name])
        names = [lock.name for lock in catalog.references(name)]
        return cls(name, names)

    @property
    def chooses(self) -> bool:
        return [self.name] != list(self.candidates)

    def among(self, cells: Iterable[CellSummary], compared: Compared) -> Reference | None:
        """Returns the reference among cells that differ only in the lock, or None if there is none
        that can be compared. A cell that fails its checks is never a reference."""
        found = [each for each in cells if each.lock in self.candidates and each.runs]
        if not self.chooses:
            return Reference(found[0], chosen=False) if found else None
        odd = [
            (statistics.median(values), -place)  # equal cells: the first
            for place, cell in enumerate(found)
            if cell.checks_hold
            and (values := [v for block, v in compared.of(cell).items() if block % 2 == 1])
        ]
        if not odd:
            return None
        best = max(odd) if compared.more_is_better else min((v, -p) for v, p in odd)
        return Reference(found[abs(best[1])], chosen=True)


# Groups of cells that differ only in the lock, each group with its reference.
Groups = Sequence[tuple[Reference, Sequence["CellSummary"]]]


def mean_over_cells(compared: Compared, lock: str, groups: Groups) -> tuple[Ratio | None, int]:
    """Returns the geometric mean of a lock's ratios over the cells in which it has runs, and the
    number of these cells."""
    pairs = [
        reference.pair(compared, cell)
        for reference, cells in groups
        for cell in cells
        if cell.lock == lock and cell.runs
    ]
    return mean_ratio(pairs), len(pairs)
