# SPDX-License-Identifier: Apache-2.0
"""The longest stalls of the published tables, under every scheduler, next to this machine's."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lockyard.report.columns import Column
from lockyard.report.tables import fitting
from lockyard.report.units import MISSING, duration
from lockyard.report.verdict.published import KEYS, MACHINE, TITLES, published_table
from lockyard.report.verdict.setting import groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Group
    from rich.table import Table

    from lockyard.report.summary import CellSummary
    from lockyard.studies import Setting


def published_stalls(cells: Sequence[CellSummary], setting: Setting) -> Iterable[Table | Group]:
    """Yields a table for each study that was measured with several threads, with the most of
    them."""
    seed_names = {lock.name: lock.seed_name for lock in setting.catalog.locks}
    for study, key in KEYS.items():
        found = [
            group
            for group in groups(cell for cell in cells if cell.study == study and cell.threads > 1)
            if any(_in_table(study, seed_names.get(cell.lock, "")) for cell in group)
        ]
        if not found:
            continue
        group = max(found, key=lambda each: (each[0].as_published, each[0].threads, len(each)))
        rows = [cell for cell in group if _in_table(study, seed_names.get(cell.lock, ""))]
        columns = [
            Column(f"here,\n{rows[0].threads} threads", partial(_here, key)),
            *(
                Column(
                    title.replace("Linux CFS", "Linux CFS\n", 1).replace("\n, ", ",\n").strip(),
                    partial(_there, seed_names, scheduler),
                    5,
                )
                for scheduler, title in TITLES.items()
                if any(each[:2] == (scheduler, study) for each in published_table())
            ),
        ]
        title = f"{study}: longest, here and published on a {MACHINE}"
        yield fitting(title, columns, rows, setting.console, "lock")


def _in_table(study: str, seed_name: str) -> bool:
    return any(each[1:] == (study, seed_name) for each in published_table())


def _here(key: str, cell: CellSummary) -> str:
    return duration(cell.maximum(key))


def _there(seed_names: dict[str, str], scheduler: str, cell: CellSummary) -> str:
    row = published_table().get((scheduler, cell.study, seed_names[cell.lock]))
    return duration(max(row.longest_ns)) if row else MISSING
