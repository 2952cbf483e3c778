# SPDX-License-Identifier: Apache-2.0
"""The output of `lockyard simulate --json`. schema/simulation.schema.json is generated from these
types."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from lockyard.simulate.published import Agreement, Figure
from lockyard.simulate.spread import Spread


class SimulatedCell(Struct):
    lock: str
    scheduler: str
    threads: int
    figures: Mapping[str, Spread]
    counted: Mapping[str, float]
    virtual_ns: float


class SimulationDocument(Struct):
    """The cells that were named."""

    study: str
    machine: str
    seed: int
    cells: list[SimulatedCell]


class AgreementDocument(Struct):
    """Figures that were published or measured, and simulated: --against-published, --like."""

    figures: list[Figure]
    agreement: list[Agreement]
    notes: list[str]
