# SPDX-License-Identifier: Apache-2.0
"""The table of the study readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.report.columns import (
    READS,
    RUNS,
    Column,
    Compared,
    Layout,
    by_value,
    maximum,
    mean_of_runs,
    median,
    median_rate,
    percentile,
    share,
)
from lockyard.report.units import MISSING, rate
from lockyard.studies import Shown

if TYPE_CHECKING:
    from lockyard.report.summary import CellSummary


def writes(cell: CellSummary) -> str:
    return rate(cell.median("writes_per_s")) if cell.parameters.get("writers") else MISSING


LAYOUT = Layout(
    title="readers: reads per second, the writers' waits, and the pair of one reader alone",
    columns=[
        RUNS,
        median_rate("reads", "reads_per_s"),
        Column("writes", writes, 7),
        mean_of_runs("writer\nmean", "write_wait_mean_ns", 8),
        percentile("writer\np50", "write_wait", 0.5, 6),
        percentile("writer\np99", "write_wait", 0.99, 8),
        percentile("writer\np99.9", "write_wait", 0.999, 4),
        maximum("write_wait_max_ns", "writer\nmax", 7),
        percentile("reader\np99", "read_wait", 0.99, 5),
        median("one reader:\na pair", "pair_ns", 8),
        share("processor\ntime", "cpu_share", 6),
    ],
    compared=READS,
    also_compared=(
        by_value("writer's mean", "write_wait_mean_ns"),
        Compared("writer's p99", lambda cell: cell.percentile_by_block("write_wait", 0.99)),
        by_value("pair", "pair_ns"),
    ),
)
SHOWN = Shown(LAYOUT)
