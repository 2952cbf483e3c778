# SPDX-License-Identifier: Apache-2.0
"""The table of the study stalls."""

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
from lockyard.report.units import percent
from lockyard.studies import Shown

if TYPE_CHECKING:
    from lockyard.report.summary import CellSummary


def kept(cell: CellSummary) -> str:
    """Returns the share of stamps kept in the worst run; later stamps overwrote the others."""
    shares = [
        1 - run["values"]["trace_lost_stamps"] / max(run["values"]["trace_stamps"], 1)
        for run in cell.runs
    ]
    return percent(min(shares, default=None))


LAYOUT = Layout(
    title="stalls: the cost of writing a trace (lockyard explain shows why waits are long)",
    columns=[
        RUNS,
        median_rate("plain", "plain_operations_per_s"),
        median_rate("traced", "traced_operations_per_s"),
        Column(
            "traced / plain\n[95 % interval]",
            ratio_of_values("traced_operations_per_s", "plain_operations_per_s"),
        ),
        median_rate("switches:\ntraced", "switches_per_s", 8),
        median_rate("plain", "plain_switches_per_s", 7),
        Column("stamps kept", kept, 5),
        Column("switches\nlost", lambda cell: f"{sum(cell.values('trace_lost_switches')):g}", 4),
        Column("traces", lambda cell: str(len(cell.values("trace"))), 6),
        share("overlap", "overlap", 1),
    ],
    compared=by_value("traced", "traced_operations_per_s", more_is_better=True),
    also_compared=(by_value("plain", "plain_operations_per_s", more_is_better=True),),
)
SHOWN = Shown(LAYOUT)
