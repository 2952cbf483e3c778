# SPDX-License-Identifier: Apache-2.0
"""Summaries: all runs of a cell together."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lockyard.measure.work import WORK_CONDITIONS
from lockyard.records.histogram import Histogram, percentile_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lockyard.catalog import Catalog
    from lockyard.harness import Record


@dataclass
class CellSummary:
    """All runs of one lock, or of the machine, in one study under one set of conditions."""

    study: str
    lock: str  # empty for the machine itself
    threads: int
    conditions: dict[str, Any]
    runs: list[Record] = field(default_factory=list)  # valid runs, in block order
    cut_short: int = 0  # runs whose time limit came before their loops were done
    failure: str = ""  # why there are no runs, or no more
    recovers_spinning: bool = False  # a lock that resolves deadlocks and whose waiters spin

    @property
    def as_published(self) -> bool:
        return bool(self.conditions.get("as_published"))

    @property
    def of_machine(self) -> bool:
        return not self.lock

    @property
    def work(self) -> str:
        """Identifies the threads' work besides locking; empty if they do none."""
        if not any((self.conditions.get("hold_ns"), self.conditions.get("gap_ns"), self.workload)):
            return ""
        return json.dumps([self.workload, *(self.conditions.get(key) for key in WORK_CONDITIONS)])

    @property
    def workload(self) -> str:
        """Returns the workload, or an empty name if the study has only one."""
        return str(self.parameters.get("workload", ""))

    @property
    def parameters(self) -> dict[str, Any]:
        """Returns the study's parameters, empty if it has none."""
        return self.conditions.get("parameters") or {}

    @property
    def checks_hold(self) -> bool:
        return not any(value is False for run in self.runs for value in run["checks"].values())

    def values(self, key: str) -> list[float]:
        found = (run["values"].get(key) for run in self.runs)
        return [value for value in found if value is not None]

    def mean(self, key: str) -> float | None:
        values = self.values(key)
        return statistics.fmean(values) if values else None

    def median(self, key: str) -> float | None:
        values = self.values(key)
        return statistics.median(values) if values else None

    def maximum(self, key: str) -> float | None:
        return max(self.values(key), default=None)

    def by_block(self, key: str) -> dict[int, float]:
        found = {run["block"]: run["values"].get(key) for run in self.runs}
        return {block: value for block, value in found.items() if value is not None}

    def percentile_by_block(self, name: str, share: float) -> dict[int, float]:
        """Returns the percentile of each run that has enough samples."""
        found = {
            run["block"]: percentile_of(run["histograms"][name], share)
            for run in self.runs
            if name in run["histograms"]
        }
        return {block: value for block, value in found.items() if value is not None}

    def histogram(self, name: str) -> Histogram:
        merged = Histogram()
        for run in self.runs:
            if name in run["histograms"]:
                merged.add(run["histograms"][name])
        return merged

    def longest(self, key: str, runs: int) -> list[float]:
        """Returns the four largest per-run maxima of the first so many runs."""
        values = self.values(key)[:runs]
        return sorted(values, reverse=True)[:4]


def summary_of(study: str, lock: str | None, conditions: Mapping[str, Any]) -> CellSummary:
    """Returns a summary without runs; a condition that older versions lacked counts as absent."""
    return CellSummary(
        study,
        lock or "",
        conditions["threads"],
        {key: conditions.get(key) for key in CELL_CONDITIONS},
    )


def summarise(records: Iterable[Record], catalog: Catalog) -> list[CellSummary]:
    """Returns one summary for each cell, in the catalogue's order; unknown names come last."""
    cells: dict[str, CellSummary] = {}
    recovering = {lock.name for lock in catalog.locks if lock.recovering and lock.family != "park"}
    planned: dict[str, int] = {}  # the first place of each set of conditions in the plan
    for record in records:
        summary = summary_of(record["study"], record["lock"], record["conditions"])
        summary.recovers_spinning = summary.lock in recovering
        setting = json.dumps(summary.conditions)
        place = record.get("cell", 0)
        planned[setting] = min(planned.get(setting, place), place)
        cell = cells.setdefault(json.dumps([summary.study, summary.lock, setting]), summary)
        if record["status"] == "ok":
            cell.runs.append(record)
        else:
            cell.failure = f"{record['status']}: {record['reason']}"
    for cell in cells.values():
        _count_complete(cell)
    studies = [study.name for study in catalog.studies]
    locks = [*(lock.name for lock in catalog.measured), *catalog.ways]
    return sorted(
        cells.values(),
        key=lambda cell: (
            _place(studies, cell.study),
            cell.threads,
            planned[json.dumps(cell.conditions)],
            _place(locks, cell.lock),
        ),
    )


def _place(names: list[str], name: str) -> int:
    return names.index(name) if name in names else len(names)


# The conditions that tell cells of a study apart; all others may vary between runs.
CELL_CONDITIONS = (
    "threads",
    "pinning",
    "as_published",
    "policy",
    "priority",
    "nice",
    "slice_ns",
    "deadline",
    "load",
    "load_kind",
    "load_nice",
    "timer_slack_ns",
    "autogroup",
    "quota_cpus",
    "rest_s",
    "machine",
    *WORK_CONDITIONS,
    "parameters",
)


def _count_complete(cell: CellSummary) -> None:
    """Drops runs that were cut short, unless the cell has no others."""
    complete = [run for run in cell.runs if run["values"]["complete"]]
    cell.cut_short = len(cell.runs) - len(complete)
    cell.runs = sorted(complete or cell.runs, key=lambda run: int(run["block"]))
