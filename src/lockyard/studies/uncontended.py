# SPDX-License-Identifier: Apache-2.0
"""The table of the study uncontended."""

from __future__ import annotations

from lockyard.report.columns import RUNS, Column, Layout, by_value, median, ratio_of_values
from lockyard.report.publications import printed_costs_ns
from lockyard.report.units import duration
from lockyard.studies import Shown

LAYOUT = Layout(
    title="uncontended: lock and unlock by the only thread",
    columns=[
        RUNS,
        median("never a\n2nd thread", "pair_before_threads_ns"),
        median("after a\n2nd thread", "pair_after_threads_ns"),
        Column(
            "published,\nRyzen 1700", lambda cell: duration(printed_costs_ns().get(cell.lock)), 4
        ),
        median("in turn over\n64 locks", "pair_of_64_ns", 8),
        median("with\nsleepers", "pair_beside_sleepers_ns", 8),
        Column(
            "with sleepers / after\n[95 % interval]",
            ratio_of_values("pair_beside_sleepers_ns", "pair_after_threads_ns"),
            5,
        ),
    ],
    compared=by_value("after", "pair_after_threads_ns"),
    also_compared=(by_value("of 64", "pair_of_64_ns"),),
)
SHOWN = Shown(LAYOUT)
