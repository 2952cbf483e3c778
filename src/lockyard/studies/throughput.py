# SPDX-License-Identifier: Apache-2.0
"""The table of the study throughput."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.report.columns import Column, rate_layout, share
from lockyard.report.ideal import serial_bound_per_s
from lockyard.report.units import MISSING, energy, percent
from lockyard.studies import Shown

if TYPE_CHECKING:
    from lockyard.report.summary import CellSummary


def futex_calls(cell: CellSummary) -> str:
    found = cell.mean("futex_calls_per_operation")
    return MISSING if found is None else f"{found:.3f}"


def energy_per_operation(cell: CellSummary) -> str:
    found = cell.median("energy_per_operation_j")
    return MISSING if found is None else energy(found)


def of_serial_bound(cell: CellSummary) -> str:
    """Returns the rate as a share of the bound that no lock can exceed: one hold at a time, and no
    thread faster than its own hold and gap."""
    rate, bound = cell.median("operations_per_s"), serial_bound_per_s(cell)
    return MISSING if rate is None or bound is None else percent(rate / bound)


LAYOUT = rate_layout(
    "throughput: operations per second, no clock read around the lock",
    Column("of the\nserial bound", of_serial_bound, 6),
    share("of the waiting\non a processor", "spin_share", 6),
    Column("futex calls\nper operation", futex_calls, 6),
    Column("energy per\noperation", energy_per_operation, 5),
)
SHOWN = Shown(LAYOUT)
