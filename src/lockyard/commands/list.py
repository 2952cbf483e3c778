# SPDX-License-Identifier: Apache-2.0
"""lockyard list: the locks and the studies."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from lockyard import harness
from lockyard.report.console import stdout_console, titled_table
from lockyard.report.units import MISSING

if TYPE_CHECKING:
    from lockyard.catalog import Catalog


def run(peers: bool, as_json: bool) -> None:
    found = harness.catalog()
    if peers:
        _run_peers(found, as_json)
        return
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


def _run_peers(found: Catalog, as_json: bool) -> None:
    """With the library of each, and what to do about those that are missing."""
    peers = [(lock, found.library(lock)) for lock in found.select_locks(["peers"])]
    if as_json:
        document = {
            "peers": [
                {
                    "name": lock.name,
                    "library": lock.origin,
                    "version": library.version if library else None,
                    "missing": library.missing if library else None,
                }
                for lock, library in peers
            ]
        }
        print(json.dumps(document))  # noqa: T201
        return
    table = titled_table("peers")
    for title in ("name", "library", "version"):
        table.add_column(title)
    for lock, library in peers:
        state = library.version or Text("missing", style="red") if library else "the system's"
        table.add_row(Text(lock.name), lock.origin, state)
    console = stdout_console()
    console.print(table)
    for each in found.libraries:
        if each.missing:
            console.print(f"- {each.missing}", markup=False, highlight=False, soft_wrap=True)


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
            MISSING if lock.size_bytes is None else str(lock.size_bytes),
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
