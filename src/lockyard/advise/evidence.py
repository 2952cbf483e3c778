# SPDX-License-Identifier: Apache-2.0
"""The figures behind advice: records of this machine that fit the use, or a new measurement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lockyard import harness
from lockyard.errors import UsageError
from lockyard.machine import environment
from lockyard.machine.conditions import inherited
from lockyard.machine.procfs import KernelFiles
from lockyard.measure import session
from lockyard.measure.plan import plan_cells
from lockyard.measure.request import Request
from lockyard.records import read_records
from lockyard.report.naming import counted
from lockyard.report.summary import CellSummary, summarise
from lockyard.report.units import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from lockyard.advise.use import Use
    from lockyard.catalog import Catalog, Lock
    from lockyard.harness import Record
    from lockyard.measure.cell import Cell

RATE, WAIT = "throughput", "wait"
STUDIES = (RATE, WAIT)
RECORDS = (".jsonl", ".jsonl.gz")
# The fewest runs that can show a difference.
RUNS = 6
RUN_S = 0.1
USES_NAMED = 5
SPARE = 1.5  # for starting and ending runs
# A percentile needs more time than a mean rate: the share of the waits if the tail decides.
WAIT_SHARE, TAIL_WAIT_SHARE = 0.5, 0.75

Cells = dict[str, dict[str, CellSummary]]  # by study and lock


def recorded(paths: Sequence[Path], use: Use, catalog: Catalog) -> tuple[Cells, list[str]]:
    """Returns the nearest cells of each study, and remarks about files that were left out."""
    found: list[Record] = []
    remarks = []
    for path in _files(paths):
        try:
            content = read_records(path)
        except UsageError as error:
            if path in paths:
                raise
            remarks.append(str(error))
            continue
        if not _is_this_machine(content.environment):
            remarks.append(f"{path}: from another machine, so it says nothing about this one")
            continue
        found += [run for run in content.runs if run["study"] in STUDIES and run["lock"]]
    cells = _nearest(found, use, catalog)
    if paths and not all(cells.values()):
        remarks.append(_too_little(summarise(found, catalog)))
    return cells, remarks


def _too_little(cells: Iterable[CellSummary]) -> str:
    """Names the uses in records that are not enough, each with the fewest runs of a lock."""
    runs: dict[str, int] = {}
    for cell in cells:
        hold, gap = (duration(cell.conditions.get(key) or 0) for key in ("hold_ns", "gap_ns"))
        use = f"{counted(cell.threads, 'thread')}, hold {hold}, gap {gap}"
        runs[use] = min(runs.get(use, len(cell.runs)), len(cell.runs))
    some = [f"{use} ({counted(count, 'run')})" for use, count in [*runs.items()][:USES_NAMED]]
    return (
        f"The records of this machine have {'; '.join(some) or 'none of throughput and wait'}"
        f"{' and others' if len(runs) > USES_NAMED else ''}; advice needs {RUNS} runs of both "
        "studies near the use."
    )


def _files(paths: Iterable[Path]) -> list[Path]:
    return [file for path in paths for file in (_records_in(path) if path.is_dir() else [path])]


def _records_in(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if each.name.endswith(RECORDS))


def _is_this_machine(of: dict[str, Any]) -> bool:
    here = environment.describe(KernelFiles())
    return bool(of) and all(
        of.get(part, {}).get(key) == here[part][key]
        for part, key in (("cpu", "model"), ("limits", "processors_usable"))
    )


def _nearest(runs: Sequence[Record], use: Use, catalog: Catalog) -> Cells:
    """Takes, of each study, the conditions that are nearest to the use, with most locks first."""
    cells: Cells = {study: {} for study in STUDIES}
    summaries = summarise(runs, catalog)
    for study in STUDIES:
        groups: dict[tuple[float, ...], dict[str, CellSummary]] = {}
        for cell in summaries:
            distance = use.distance({**cell.conditions, "threads": cell.threads})
            if cell.study == study and distance is not None and len(cell.runs) >= RUNS:
                work = cell.conditions.get("hold_ns") or 0, cell.conditions.get("gap_ns") or 0
                groups.setdefault((distance, *work), {})[cell.lock] = cell
        best = sorted(groups.items(), key=lambda each: (-len(each[1]), each[0]))
        cells[study] = best[0][1] if best else {}
    return cells


def lacking(cells: Cells, locks: Sequence[Lock]) -> list[Lock]:
    """Returns the locks that a study has no cell for; locks are only compared within a study."""
    names = {lock.name for lock in locks}
    complete = all(names <= cells[study].keys() for study in STUDIES)
    return [] if complete else list(locks)


def planned(
    use: Use, locks: Sequence[Lock], budget_s: float, by_tail: bool, catalog: Catalog
) -> list[Cell]:
    """Returns the cells of both studies. If the tail decides, the runs of `wait` are longer."""
    runs = max(RUNS, int(budget_s / (RUN_S * len(STUDIES) * len(locks))))
    both_s = runs * RUN_S * SPARE * len(STUDIES)
    waits = TAIL_WAIT_SHARE if by_tail else WAIT_SHARE
    shares = {WAIT: waits, RATE: 1 - waits}
    request = Request([use.threads], conditions=[inherited()], work=[use.work], runs=runs)
    return [
        cell
        for study in STUDIES
        for cell in plan_cells(
            catalog.select_studies([study]),
            locks,
            replace(request, budget_s=both_s * shares[study]),
        )
    ]


def measured(cells: Sequence[Cell], seed: int) -> tuple[Cells, bool]:
    """Measures the use with each lock, in interleaved blocks; tells whether Ctrl-C ended it."""
    found = session.measure(
        session.Plan("advise", list(cells), seed, None),
        None,
        to_stdout=False,
        refuse_unavailable=False,
    )
    by_study: Cells = {study: {} for study in STUDIES}
    for cell in summarise(found.runs, harness.catalog()):
        if cell.runs:
            by_study[cell.study][cell.lock] = cell
    return by_study, found.interrupted
