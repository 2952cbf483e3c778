# SPDX-License-Identifier: Apache-2.0
"""Reads a file of records and reduces it to the compared figures."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from lockyard.compare.figures import default_figures, named, number
from lockyard.compare.pairing import key_of
from lockyard.errors import UsageError
from lockyard.records import check_one_measuring, read_records
from lockyard.records.histogram import Histogram
from lockyard.report.summary import CellSummary, summarise, summary_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lockyard.catalog import Catalog
    from lockyard.compare.gates import Gate
    from lockyard.harness import Record


# By study: the histogram to add up over all runs, and the histogram of the published form.
Distributions = dict[str, tuple[str, str]]


@dataclass
class Names:
    """The names of values and histograms in the runs of a study."""

    values: set[str] = field(default_factory=set)
    histograms: set[str] = field(default_factory=set)


@dataclass
class Measurement:
    path: Path
    environment: dict[str, Any]
    seed: int | None
    cells: list[CellSummary]
    names: dict[str, Names]  # by study
    warnings: list[str]
    runs: int  # valid runs only
    files: int = 1
    # The wanted histograms over all runs, by the key of the cell.
    distributions: dict[str, Histogram] = field(default_factory=dict)


@dataclass
class Reduction:
    """Keeps only the compared figures of a run, and adds the wanted histograms up."""

    gates: Sequence[Gate]
    wanted: Distributions = field(default_factory=dict)
    names: dict[str, Names] = field(default_factory=dict)
    distributions: dict[str, Histogram] = field(default_factory=dict)
    _conditions: dict[bytes, Record] = field(default_factory=dict)  # shared by many runs

    def __call__(self, record: Record) -> Record:
        study, conditions = record["study"], record["conditions"]
        as_published = bool(conditions.get("as_published"))
        numbers = [key for key, value in record["values"].items() if number(value) is not None]
        figures = [
            *default_figures(study, as_published, numbers),
            *(named(gate.figure, study, as_published) for gate in self.gates if gate.is_of(study)),
        ]
        of_study = self.names.setdefault(study, Names())
        of_study.values.update(numbers)
        of_study.histograms.update(record["histograms"])
        is_ok = record["status"] == "ok"
        is_complete = bool(record["values"]["complete"]) if is_ok else False
        if is_complete and study in self.wanted:
            self._add(record, self.wanted[study][as_published])
        return {
            "study": study,
            "lock": record["lock"],
            "environment": sys.intern(record["environment"]),
            "conditions": self._conditions.setdefault(msgspec.json.encode(conditions), conditions),
            "block": int(record["block"]),
            "cell": int(record.get("cell", 0)),
            "status": record["status"],
            "reason": record["reason"],
            "values": {"complete": is_complete},
            "figures": {each.name: each.of(record) for each in figures} if is_ok else {},
            "histograms": {},
            "checks": dict(record["checks"]),
        }

    def _add(self, record: Record, name: str) -> None:
        cell = key_of(summary_of(record["study"], record["lock"], record["conditions"]))
        if name in record["histograms"]:
            self.distributions.setdefault(cell, Histogram()).add(record["histograms"][name])


def read(
    path: Path, gates: Sequence[Gate], catalog: Catalog, wanted: Distributions | None = None
) -> Measurement:
    """Raises UsageError unless the file holds exactly one measurement with valid runs."""
    reduction = Reduction(gates, wanted or {})
    with _without_collector():
        content = read_records(path, reduction)
    check_one_measuring(path, content, "compare")
    cells = summarise(content.runs, catalog)
    for cell in cells:
        _check_blocks(path, cell)
    return Measurement(
        path,
        content.environment,
        content.plan.get("seed"),
        cells,
        reduction.names,
        content.warnings,
        sum(len(cell.runs) for cell in cells),
        distributions=reduction.distributions,
    )


@contextmanager
def _without_collector() -> Iterator[None]:
    """Turns the garbage collector off: records hold no cycles, and the search costs as much as the
    reading."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _check_blocks(path: Path, cell: CellSummary) -> None:
    twice = [block for block, n in Counter(run["block"] for run in cell.runs).items() if n > 1]
    if twice:
        raise UsageError(
            f"{path} holds block {twice[0]} of {cell.study} {cell.lock} more than once: several "
            "measurements were joined in it, and their blocks cannot be told apart; compare each "
            "measurement's own file"
        )
