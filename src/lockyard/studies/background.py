# SPDX-License-Identifier: Apache-2.0
"""The table of the study background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.report.columns import (
    RUNS,
    Column,
    Layout,
    by_value,
    median_rate,
    ratio_of_values,
    share,
)
from lockyard.report.units import MISSING, percent
from lockyard.studies import Shown

if TYPE_CHECKING:
    from lockyard.report.summary import CellSummary


def gaps(cell: CellSummary) -> str:
    """Returns the share of the processors that the foreground leaves unused when it runs alone."""
    used = cell.mean("cpu_share")
    return MISSING if used is None else percent(max(1 - used, 0.0))


LAYOUT = Layout(
    title="background: low-priority work next to threads that want the lock",
    columns=[
        RUNS,
        Column("gaps", gaps, 8),
        Column("work done\n[95 % interval]", ratio_of_values("beside_units_per_s", "units_per_s")),
        median_rate("foreground\nalone", "operations_per_s", 6),
        median_rate("foreground\nwith work", "beside_operations_per_s", 5),
        Column(
            "with work / alone\n[95 % interval]",
            ratio_of_values("beside_operations_per_s", "operations_per_s"),
        ),
        share("processor time\nof the work", "background_cpu_share", 4),
    ],
    compared=by_value("work done", "background_share", more_is_better=True),
    also_compared=(
        by_value("foreground", "beside_operations_per_s", more_is_better=True),
        by_value("foreground kept", "foreground_kept", more_is_better=True),
    ),
)
SHOWN = Shown(LAYOUT)
