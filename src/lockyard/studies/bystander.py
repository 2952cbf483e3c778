# SPDX-License-Identifier: Apache-2.0
"""The table of the study bystander, with the published slowdown."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from lockyard.report.columns import (
    RUNS,
    Column,
    Layout,
    by_value,
    median,
    median_rate,
    percentile,
    ratio_of_values,
    share,
)
from lockyard.report.publications import printed_rows
from lockyard.report.units import MISSING
from lockyard.studies import Shown

if TYPE_CHECKING:
    from lockyard.report.summary import CellSummary

# The published text's names of our locks.
PUBLISHED_NAMES = {"tas_spinlock": "terrible_spinlock"}


@cache
def published_slowdowns() -> dict[str, tuple[int, float]]:
    """Returns the published slowdown of a bystander and its thread count, by the text's lock
    name."""
    return {
        row["lock"]: (int(row["threads"]), float(row["slowdown"]))
        for row in printed_rows("bystander_ryzen1700.csv")
    }


def published_slowdown(cell: CellSummary) -> str:
    """Returns the published slowdown, with its thread count where that differs from ours."""
    found = published_slowdowns().get(PUBLISHED_NAMES.get(cell.lock, ""))
    if found is None:
        return MISSING
    threads, slowdown = found
    return f"{slowdown:g}" if threads == cell.threads else f"{slowdown:g} ({threads} threads)"


LAYOUT = Layout(
    title="bystander: matrix multiplications next to threads that contend for the lock",
    columns=[
        RUNS,
        Column("slow-down\n[95 % interval]", ratio_of_values("banging_ns", "alone_ns")),
        Column("published:\nslow-down", published_slowdown, 8),
        Column("with busy threads\n[95 % interval]", ratio_of_values("busy_ns", "alone_ns"), 7),
        Column(
            "slow-down in CPU time\n[95 % interval]",
            ratio_of_values("banging_cpu_ns", "alone_cpu_ns"),
            6,
        ),
        median("alone", "alone_ns", 5),
        percentile("p99\nalone", "alone", 0.99, 2),
        percentile("p99 with\nthe lock", "banging", 0.99, 3),
        median_rate("the lock's\nrate", "operations_per_s", 4),
        share("processor time\nof the others", "cpu_share", 3),
    ],
    compared=by_value("slow-down", "slowdown"),
)
SHOWN = Shown(LAYOUT)
