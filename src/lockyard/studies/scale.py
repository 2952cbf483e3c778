# SPDX-License-Identifier: Apache-2.0
"""The table of the study scale."""

from __future__ import annotations

from lockyard.report.columns import rate_layout
from lockyard.studies import Shown

LAYOUT = rate_layout(
    "scale: operations per second on several locks, as in will-it-scale",
)
SHOWN = Shown(LAYOUT)
