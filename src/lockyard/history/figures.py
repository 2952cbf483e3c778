# SPDX-License-Identifier: Apache-2.0
"""Reduces a record file to the figures of its runs, a row for each figure of a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from lockyard.compare.figures import default_figures, number
from lockyard.compare.pairing import key_of
from lockyard.records import read_records
from lockyard.report.naming import Naming, counted
from lockyard.report.summary import summary_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lockyard.harness import Record
    from lockyard.records.rows import Row

NO_MACHINE = "unknown machine"


class Reduction:
    """Turns each run into rows as it is read, so that a file of any size fits into memory."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._cells: dict[bytes, Row] = {}  # by conditions, which many runs share

    def __call__(self, run: Record) -> Record:
        if run["status"] == "ok" and run["values"].get("complete"):
            numbers = [key for key, value in run["values"].items() if number(value) is not None]
            as_published = bool(run["conditions"].get("as_published"))
            for figure in default_figures(run["study"], as_published, numbers):
                value = figure.of(run)
                if value is not None:
                    more = figure.more_is_better
                    self.rows.append(
                        {
                            **self._cell(run),
                            "environment": run.get("environment"),
                            "block": int(run["block"]),
                            "figure": figure.name,
                            "unit": figure.unit,
                            "better": {True: "more", False: "less", None: ""}[more],
                            "value": float(value),
                        }
                    )
        return {"environment": run.get("environment")}

    def _cell(self, run: Record) -> Row:
        what = [run["study"], run["lock"], run["conditions"]]
        encoded = msgspec.json.encode(what)
        if encoded not in self._cells:
            cell = summary_of(run["study"], run["lock"], run["conditions"])
            setting = " · ".join(Naming(frozenset()).conditions(cell))
            as_published = "as published · " if cell.as_published else ""
            self._cells[encoded] = {
                "study": cell.study,
                "lock": cell.lock,
                "threads": cell.threads,
                "setting": f"{as_published}{setting}",
                "cell": key_of(cell),
            }
        return self._cells[encoded]


def reduced(path: Path) -> tuple[list[Row], list[str]]:
    """Returns the rows of a file and the warnings about it. Raises UsageError if it is damaged."""
    reduction = Reduction()
    content = read_records(path, reduction)
    environment = content.environment
    hashes = {run["environment"] for run in content.runs} | {environment.get("environment")}
    warnings = list(content.warnings)
    if len(hashes - {None}) > 1:
        warnings.append(
            f"{path}: holds runs from {len(hashes - {None})} environments; runs of other "
            "environments than its first record's are left out"
        )
    of_file: Row = {"file": str(path), **_origin(environment, path)}
    own = environment.get("environment")
    return [
        {**of_file, **row}
        for row in reduction.rows
        if own is None or row["environment"] in (own, None)
    ], warnings


def _origin(environment: Mapping[str, Any], path: Path) -> Row:
    """Returns machine, kernel and start; a file without an environment has its own date."""
    started = environment.get("started_unix_s")
    moment = datetime.fromtimestamp(float(started or path.stat().st_mtime), UTC)
    return {
        "machine": machine_of(environment),
        "kernel": str(environment.get("system", {}).get("kernel", "")),
        "started": moment.isoformat(timespec="seconds"),
    }


def machine_of(environment: Mapping[str, Any]) -> str:
    """Returns a name that tells machines apart, but not the states of one machine."""
    if not environment:
        return NO_MACHINE
    model = environment.get("cpu", {}).get("model", NO_MACHINE)
    topology = environment.get("harness", {}).get("topology", {})
    processors = len(topology.get("usable", ())) or topology.get("processors", 0)
    return f"{model}, {counted(processors, 'processor')}" if processors else str(model)


def as_text(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False)
