# SPDX-License-Identifier: Apache-2.0
"""A grid of cells: the product of everything that sets them apart."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lockyard.machine.conditions import completed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.machine.conditions import Conditions
    from lockyard.measure.cell import Cell, Parameters
    from lockyard.measure.work import Work


@dataclass(frozen=True)
class Grid:
    """Cells with the same number of threads and the same length of runs. They can be counted
    without being made."""

    first: Cell  # a cell with everything that all cells share
    conditions: Sequence[Conditions]
    works: Sequence[Work]
    names: Sequence[str] | Sequence[None]  # names of locks, or of whatever is measured instead
    parameters: Sequence[Parameters] = ((),)

    def __len__(self) -> int:
        return math.prod(len(each) for each in self._dimensions)

    def __iter__(self) -> Iterator[Cell]:
        """Yields the cells; cells under the same conditions follow each other."""
        for conditions, work, parameters, name in itertools.product(*self._dimensions):
            yield replace(
                self.first,
                conditions=completed(conditions, self.first.threads),
                work=work,
                parameters=parameters,
                lock=name,
            )

    @property
    def _dimensions(self) -> tuple[Sequence[Any], ...]:
        return (self.conditions, self.works, self.parameters, self.names)
