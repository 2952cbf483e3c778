# SPDX-License-Identifier: Apache-2.0
"""lockyard list: the locks and the studies."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from lockyard import harness
from lockyard.report.console import stdout_console

if TYPE_CHECKING:
    from lockyard.catalog import Catalog


def run(as_json: bool) -> None:
    found = harness.catalog()
    if as_json:
        document = {
            "locks": [dataclasses.asdict(lock) for lock in found.locks],
            "studies": [dataclasses.asdict(study) for study in found.studies],
        }
        print(json.dumps(document))  # noqa: T201
        return
    console = stdout_console()
    console.print(_locks(found))
    console.print(_studies(found))


def _locks(found: Catalog) -> Table:
    table = Table(title="locks", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for title in ("name", "seed name", "kind", "waits by", "fairness", "bytes", "origin"):
        table.add_column(title, justify="right" if title == "bytes" else "left")
    for lock in found.locks:
        table.add_row(
            lock.name.replace("[", "\\["),
            lock.seed_name,
            lock.kind,
            lock.waiting,
            lock.fairness,
            str(lock.size_bytes),
            lock.origin,
        )
    return table


def _studies(found: Catalog) -> Table:
    table = Table(title="studies", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("name")
    table.add_column("what it measures")
    for study in found.studies:
        table.add_row(study.name, study.summary)
    return table
