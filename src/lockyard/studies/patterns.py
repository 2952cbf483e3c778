# SPDX-License-Identifier: Apache-2.0
"""The table of the study patterns."""

from __future__ import annotations

from lockyard.report.columns import rate_layout, share
from lockyard.studies import Shown

LAYOUT = rate_layout(
    "patterns: operations per second of common uses of locks",
    share("skipped", "skipped_share", 7),
)
SHOWN = Shown(LAYOUT)
