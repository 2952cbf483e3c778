# SPDX-License-Identifier: Apache-2.0
"""Tables of the studies torture and scale, from made-up rates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fake_records import CATALOG, a_lock, a_record, a_study, shown, workloads
from rich.console import Console

from lockyard.catalog import Catalog
from lockyard.report.reference import Against
from lockyard.report.summary import summarise
from lockyard.report.tables import tables

RECOVERING = replace(a_lock("recovering_spinlock"), recovering=True)
SLEEPING = replace(a_lock("recovering_mutex"), recovering=True, family="park")
STUDIES = (
    a_study("torture", takes="none", parameters=(workloads("classic", "nohold"),)),
    a_study("scale", takes="none", parameters=(workloads("lock1", "lock2"),)),
)
LOCKS = Catalog("0", (*CATALOG.locks, RECOVERING, SLEEPING), (), STUDIES)


def runs(study: str, lock: str, ratio: float, cell: int, **conditions: Any) -> list[dict[str, Any]]:
    values = {"operations": 1, "operations_per_s": ratio * 1e6, "cpu_share": 1.0}
    return [a_record(study, lock, block, cell, values, **conditions) for block in range(6)]


def tables_of(study: str, *settings: tuple[str, int]) -> str:
    """Makes cells for workloads and threads: a recovering spinlock at 0.5 and a mutex at 0.25."""
    rates = {"ticket_spinlock": 1.0, RECOVERING.name: 0.5, SLEEPING.name: 0.25}
    records = [
        run
        for cell, (workload, threads) in enumerate(settings)
        for lock, rate in rates.items()
        for run in runs(study, lock, rate, cell, parameters={"workload": workload}, threads=threads)
    ]
    against = Against.of("ticket_spinlock", LOCKS)
    return shown(*tables(summarise(records, LOCKS), against, Console(width=300)))


def rows_of(text: str, lock: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(lock)]
