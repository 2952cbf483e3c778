# SPDX-License-Identifier: Apache-2.0
"""Fake cells of a report, and a fake machine that a design measures."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from lockyard.advice.design import Design
from lockyard.catalog import Catalog, Lock
from lockyard.machine.conditions import Conditions
from lockyard.measure.cell import Cell
from lockyard.measure.work import Work
from lockyard.report.summary import CellSummary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WAITING = {
    "ttas_spinlock": ("spin", "none"),
    "ticket_spinlock": ("yield", "fifo"),
    "mutex": ("park", "none"),
    "std::mutex": ("park", "none"),
    "null_lock": ("spin", "none"),
}
KINDS = {"std::mutex": "peer", "null_lock": "control"}
CATALOG = Catalog(
    "0",
    tuple(
        Lock(name, "", KINDS.get(name, "ours"), "", *how, 1, False, False, False, False, True, "")
        for name, how in WAITING.items()
    ),
    (),
    (),
)


def values_of(aim: str, value: float) -> dict[str, Any]:
    """Returns the values of a run whose figure is this: operations per second, or nanoseconds."""
    if aim == "rate":
        return {"complete": True, "operations": value, "run_ns": 1e9, "wait_max_ns": 1e6}
    key = {"tail": "wait_max_ns", "idle": "idle_wanted_max_ns", "cost": "pair_after_threads_ns"}
    return {"complete": True, "operations": 100, "run_ns": 1e9, key[aim]: value}


def a_run(block: int, values: dict[str, Any]) -> dict[str, Any]:
    return {
        "block": block,
        "status": "ok",
        "spent_s": 0.01,
        "values": values,
        "checks": {"counter": True},
        "histograms": {},
    }


STUDIES = {"rate": "wait", "tail": "wait", "idle": "idle", "cost": "uncontended"}


def an_aim_cell(
    lock: str, values: Sequence[float], aim: str = "rate", threads: int = 16, hold_ns: int = 200
) -> CellSummary:
    runs = [a_run(block, values_of(aim, value)) for block, value in enumerate(values)]
    threads = 1 if aim == "cost" else threads
    conditions = {"threads": threads, "as_published": False, "hold_ns": hold_ns, "gap_ns": 1000}
    return CellSummary(STUDIES[aim], lock, threads, conditions, runs)


def a_wait_cell(
    lock: str, rates: Sequence[float], tails_ns: Sequence[float], **others: Any
) -> CellSummary:
    """A cell with both figures of the study wait."""
    cell = an_aim_cell(lock, rates, **others)
    for run, tail_ns in zip(cell.runs, tails_ns, strict=True):
        run["values"]["wait_max_ns"] = tail_ns
    return cell


def planned(lock: str | None, study: str = "wait", threads: int = 16) -> Cell:
    return Cell(
        study=study,
        lock=lock,
        threads=threads,
        pinning="none",
        conditions=Conditions(),
        loops=None,
        run_s=0.01,
        runs=1000,
        budget_s=100.0,
        as_published=False,
        work=Work(hold_ns=200, gap_ns=1000),
    )


def measured_blocks(
    cells: Sequence[Cell], rates: Mapping[str, float], sigma: float, most: int
) -> tuple[Design, list[set[int]]]:
    """Lets a design choose the places of up to `most` blocks on a machine whose locks have these
    rates, times noise. Returns the places of each block."""
    chance = random.Random(5)
    design = Design(cells, budget_s=1e6)
    blocks: list[set[int]] = []
    while len(blocks) < most and (places := design.places(len(blocks))):
        for place in places:
            rate = rates[str(cells[place].lock)] * chance.lognormvariate(0, sigma)
            values = {**values_of("rate", rate), "wait_max_ns": 1e9 / rate}
            design.count(place, a_run(len(blocks), values))
        blocks.append(places)
    return design, blocks
