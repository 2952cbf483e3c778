# SPDX-License-Identifier: Apache-2.0
"""The table of the study wait."""

from __future__ import annotations

from lockyard.report.columns import RATE, RUN, WAIT_P999, Layout, team_columns
from lockyard.studies import Shown

LAYOUT = Layout(
    title="wait: from the call to the acquisition",
    columns=team_columns("wait"),
    maxima="wait_max_ns",
    compared=RATE,
    also_compared=(WAIT_P999,),
)
AS_PUBLISHED = Layout(
    title="wait as published: from the call to the acquisition",
    columns=team_columns("wait"),
    maxima="wait_max_ns",
    compared=RUN,
)
SHOWN = Shown(LAYOUT, AS_PUBLISHED)
