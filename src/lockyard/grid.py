# SPDX-License-Identifier: Apache-2.0
"""Cells as the product of what sets them apart."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lockyard.conditions import completed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.cell import Cell, Parameters
    from lockyard.conditions import Conditions
    from lockyard.work import Work


@dataclass(frozen=True)
class Grid:
    """Cells with as many threads and with runs of the same length. They are counted without being
    made."""

    first: Cell  # of which the others have all but what follows
    conditions: Sequence[Conditions]
    works: Sequence[Work]
    names: Sequence[str] | Sequence[None]  # of locks, or of what is measured in their place
    bursts: Sequence[int | None] = (None,)
    writers: Sequence[int | None] = (None,)
    parameters: Sequence[Parameters] = ((),)

    def __len__(self) -> int:
        return math.prod(len(each) for each in self._dimensions)

    def __iter__(self) -> Iterator[Cell]:
        """Those under the same conditions, one after the other."""
        for conditions, work, burst, writers, parameters, name in itertools.product(
            *self._dimensions
        ):
            yield replace(
                self.first,
                conditions=completed(conditions, self.first.threads),
                work=work,
                burst=burst,
                writers=writers,
                parameters=parameters,
                lock=name,
            )

    @property
    def _dimensions(self) -> tuple[Sequence[Any], ...]:
        return (
            self.conditions,
            self.works,
            self.bursts,
            self.writers,
            self.parameters,
            self.names,
        )
