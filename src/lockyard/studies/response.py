# SPDX-License-Identifier: Apache-2.0
"""The table of the study response."""

from __future__ import annotations

from lockyard.report.columns import RUNS, Compared, Layout, maximum, median_rate, percentile, share
from lockyard.studies import Shown

LAYOUT = Layout(
    title="response: time to the acquisition, from the call (wait) and from when it was due "
    "(response)",
    columns=[
        RUNS,
        median_rate("arrivals", "scheduled_per_s", 8),
        median_rate("capacity", "capacity_per_s", 6),
        *(
            percentile(f"{histogram}\n{name}", histogram, share, 9)
            for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
            for histogram in ("wait", "response")
        ),
        maximum("wait_max_ns", "wait\nmax"),
        maximum("response_max_ns", "response\nmax"),
        percentile("until done\np99", "completion", 0.99, 4),
        share("unserved", "unserved_share", 7),
        percentile("calls\nlate: p99", "lateness", 0.99, 5),
        share("processor\ntime", "cpu_share", 3),
    ],
    maxima="response_max_ns",
    compared=Compared("p99", lambda cell: cell.percentile_by_block("response", 0.99)),
    also_compared=(Compared("p50", lambda cell: cell.percentile_by_block("response", 0.5)),),
)
SHOWN = Shown(LAYOUT)
