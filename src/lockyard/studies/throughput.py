# SPDX-License-Identifier: Apache-2.0
"""The table of the study throughput."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.report.columns import Column, rate_layout, share
from lockyard.report.units import MISSING, energy
from lockyard.studies import Shown

if TYPE_CHECKING:
    from lockyard.report.summary import CellSummary


def futex_calls(cell: CellSummary) -> str:
    found = cell.mean("futex_calls_per_operation")
    return MISSING if found is None else f"{found:.3f}"


def energy_per_operation(cell: CellSummary) -> str:
    found = cell.median("energy_per_operation_j")
    return MISSING if found is None else energy(found)


LAYOUT = rate_layout(
    "throughput: operations per second, no clock read around the lock",
    share("of the waiting\non a processor", "spin_share", 6),
    Column("futex calls\nper operation", futex_calls, 6),
    Column("energy per\noperation", energy_per_operation, 5),
)
SHOWN = Shown(LAYOUT)
