# SPDX-License-Identifier: Apache-2.0
"""The table of the study workers."""

from __future__ import annotations

from lockyard.report.columns import (
    RUNS,
    Compared,
    Layout,
    maximum,
    median,
    median_rate,
    percentile,
    percentiles,
    share,
)
from lockyard.studies import Shown

LAYOUT = Layout(
    title="workers: from submitting a task to its start, in bursts with pauses",
    columns=[
        RUNS,
        *percentiles("start"),
        maximum("start_max_ns"),
        percentile("submit\np50", "submit", 0.5, 6),
        percentile("submit\np99", "submit", 0.99, 2),
        median_rate("rate in\nbursts", "tasks_per_s_in_bursts", 7),
        share("processor time\nin pauses", "gap_cpu_share", 9),
        median("processor time\nper task", "workers_cpu_per_task_ns", 5),
    ],
    maxima="start_max_ns",
    compared=Compared("p50", lambda cell: cell.percentile_by_block("start", 0.5)),
    also_compared=(Compared("p99", lambda cell: cell.percentile_by_block("start", 0.99)),),
    of="pool",
)
SHOWN = Shown(LAYOUT)
