# SPDX-License-Identifier: Apache-2.0
"""The table of the study torture."""

from __future__ import annotations

from lockyard.report.columns import Column, rate_layout
from lockyard.studies import Shown

LAYOUT = rate_layout(
    "torture: operations per second of writers that work as locktorture's",
    Column("long holds\nper run", lambda cell: f"{cell.mean('long_holds') or 0:.1f}", 6),
)
SHOWN = Shown(LAYOUT)
