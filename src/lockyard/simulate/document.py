# SPDX-License-Identifier: Apache-2.0
"""The output of `lockyard simulate --json`. schema/simulation.schema.json is generated from these
types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from lockyard.simulate.published import Agreement, Figure
from lockyard.simulate.spread import Spread

if TYPE_CHECKING:
    from lockyard.simulate.spread import Simulated


class SimulatedCell(Struct):
    lock: str
    scheduler: str
    threads: int
    figures: Mapping[str, Spread]
    counted: Mapping[str, float]
    virtual_ns: float

    @classmethod
    def of(cls, found: Simulated) -> Self:
        cell = found.cell
        return cls(
            cell.lock, cell.scheduler, cell.threads, found.figures, found.counted, found.virtual_ns
        )


class SimulationDocument(Struct):
    """The cells that were named."""

    study: str
    machine: str
    seed: int
    cells: list[SimulatedCell]


class SweptCell(Struct):
    """`at` has the value of each swept parameter, as it was given."""

    at: Mapping[str, str]
    cell: SimulatedCell


class SweepDocument(Struct):
    """The cells of --sweep. There are fewer than wanted if the sweep was interrupted or if cells
    failed."""

    study: str
    seed: int
    swept: Mapping[str, list[str]]
    wanted: int
    points: list[SweptCell]
    failed: list[str]


class AgreementDocument(Struct):
    """Figures that were published or measured, and simulated: --against-published, --like."""

    figures: list[Figure]
    agreement: list[Agreement]
    notes: list[str]
