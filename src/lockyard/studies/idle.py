# SPDX-License-Identifier: Apache-2.0
"""The table of the study idle."""

from __future__ import annotations

from lockyard.report.columns import (
    MEAN_RUN,
    RATE,
    RUN,
    RUNS,
    TEAM,
    Layout,
    maximum,
    percentiles,
    share,
    team_columns,
)
from lockyard.studies import Shown

LAYOUT = Layout(
    title="idle (free but wanted), past 1 µs: from the end of a release to the next "
    "acquisition, while a thread waited",
    columns=[
        RUNS,
        MEAN_RUN,
        share("of the time", "idle_wanted_share", 9),
        *percentiles("idle_wanted"),
        maximum("idle_wanted_max_ns"),
        share("in release:\nof the time", "idle_in_release_share", 5),
        maximum("idle_in_release_max_ns", "in release:\nmax", 2),
        maximum("idle_published_max_ns", "as published:\nmax", 2),
        *TEAM,
    ],
    maxima="idle_wanted_max_ns",
    compared=RATE,
)
AS_PUBLISHED = Layout(
    title="idle as published: from just before a release to the next acquisition, whether "
    "wanted or not",
    columns=team_columns("idle_published"),
    maxima="idle_published_max_ns",
    compared=RUN,
)
SHOWN = Shown(LAYOUT, AS_PUBLISHED)
