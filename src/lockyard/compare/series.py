# SPDX-License-Identifier: Apache-2.0
"""Reads a folder of files: repetitions of a measurement, alternating with the other side's."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from lockyard.compare.measurement import Measurement, Names, read
from lockyard.compare.pairing import key_of
from lockyard.errors import UsageError
from lockyard.records.histogram import Histogram
from lockyard.report.summary import CellSummary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockyard.catalog import Catalog
    from lockyard.compare.gates import Gate
    from lockyard.compare.measurement import Distributions
    from lockyard.harness import Record


def read_folder(
    path: Path, gates: Sequence[Gate], catalog: Catalog, wanted: Distributions | None = None
) -> Measurement:
    """Reads each file as one block, in the order of their starts: the state of the machine during a
    file affects all of its runs, which therefore count once."""
    files = sorted(path.glob("*.jsonl"))
    if not files:
        raise UsageError(
            f"{path} is a folder without record files (*.jsonl), so there is nothing to compare; "
            "name a file, or measure into the folder with --out"
        )
    found = [read(file, gates, catalog, wanted) for file in files]
    found.sort(key=lambda each: float(each.environment.get("started_unix_s") or 0))
    hashes = {str(each.environment.get("environment")) for each in found}
    if len(hashes) > 1:
        raise UsageError(
            f"{path} holds files from {len(hashes)} environments ({', '.join(sorted(hashes))}), so "
            "figures over all of them mean nothing (several machines, or one that was changed); "
            "keep the files of one environment in a folder"
        )
    seeds = {each.seed for each in found}
    return Measurement(
        path=path,
        environment=found[0].environment,
        seed=seeds.pop() if len(seeds) == 1 else None,
        cells=_joined(found),
        names=_names(found),
        warnings=[warning for each in found for warning in each.warnings],
        runs=sum(each.runs for each in found),
        files=len(found),
        distributions=_added_up(found),
    )


def _added_up(found: Sequence[Measurement]) -> dict[str, Histogram]:
    joined: dict[str, Histogram] = {}
    for measuring in found:
        for cell, histogram in measuring.distributions.items():
            joined.setdefault(cell, Histogram()).counts.update(histogram.counts)
    return joined


def _joined(found: Sequence[Measurement]) -> list[CellSummary]:
    cells: dict[str, CellSummary] = {}
    for block, measuring in enumerate(found):
        for cell in measuring.cells:
            joined = cells.setdefault(
                key_of(cell), CellSummary(cell.study, cell.lock, cell.threads, cell.conditions)
            )
            joined.failure = joined.failure or cell.failure
            if cell.runs:
                joined.runs.append(_as_one(cell, block))
    return list(cells.values())


def _as_one(cell: CellSummary, block: int) -> Record:
    values: dict[str, list[float]] = {}
    for run in cell.runs:
        for name, value in run["figures"].items():
            if value is not None:
                values.setdefault(name, []).append(value)
    figures: dict[str, Any] = {name: statistics.median(some) for name, some in values.items()}
    checks = {"all": cell.checks_hold}
    return {**cell.runs[0], "block": block, "figures": figures, "checks": checks}


def _names(found: Sequence[Measurement]) -> dict[str, Names]:
    joined: dict[str, Names] = {}
    for measuring in found:
        for study, names in measuring.names.items():
            of_study = joined.setdefault(study, Names())
            of_study.values |= names.values
            of_study.histograms |= names.histograms
    return joined
