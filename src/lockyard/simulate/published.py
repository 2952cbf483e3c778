# SPDX-License-Identifier: Apache-2.0
"""Simulated figures next to published ones, and how well they agree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median
from typing import TYPE_CHECKING

from lockyard.report.publications import printed_rows
from lockyard.simulate import machines, simulator
from lockyard.simulate.request import Cell, Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.simulate.simulator import Abilities

STALLS = "stalls_ryzen1700.csv"
SCALING = "rqspinlock_scaling.csv"
SCHEDULERS = {"linux-cfs": "cfs", "linux-rr": "rr", "muqss": "muqss", "windows": "windows"}
KERNEL_LOCKS = {"qspinlock": "queued_spinlock", "rqspinlock": "resilient_spinlock"}
SCALING_TABLE = "operations per s"
CLIFF_FROM = 16
LOOPS = 16384
# The published runs are 100 or 1000. Fewer runs with as many more bursts of the background meet as
# many bursts, as long as bursts seldom overlap.
RUNS = 5
BURST_FACTOR = 10.0


@dataclass(frozen=True)
class Figure:
    """One figure of a table, published or measured, and simulated."""

    table: str
    row: str
    reference: float
    simulated: float


@dataclass(frozen=True)
class Agreement:
    table: str
    figures: int
    rank_correlation: float
    median_factor: float
    within_factor_2: float


def compared(of: Abilities) -> list[Figure]:
    return [*_stalls(of), *_scaling(of)]


def agreements(figures: Sequence[Figure]) -> list[Agreement]:
    """Judges each table, and all tables of scaling together."""
    found = []
    tables = {
        table: [each for each in figures if each.table == table]
        for table in dict.fromkeys(each.table for each in figures)
    }
    scaling = [each for each in figures if each.table.endswith(SCALING_TABLE)]
    if scaling:
        tables[f"all {SCALING_TABLE}"] = scaling
    for table, rows in tables.items():
        logs = [abs(math.log(each.simulated / each.reference)) for each in rows]
        found.append(
            Agreement(
                table=table,
                figures=len(rows),
                rank_correlation=rank_correlation(
                    [each.simulated for each in rows], [each.reference for each in rows]
                ),
                median_factor=math.exp(median(logs)),
                within_factor_2=mean(log <= math.log(2) for log in logs),
            )
        )
    return found


def cliffs(figures: Sequence[Figure]) -> list[str]:
    """Says for each curve between which numbers of threads it falls most, published and
    simulated, from 16 threads on: below, each new thread has a large share."""
    found = []
    for table in dict.fromkeys(each.table for each in figures):
        if not table.endswith(SCALING_TABLE):
            continue
        rows = [(int(each.row.split()[0]), each) for each in figures if each.table == table]
        curve = [each for each in sorted(rows, key=lambda row: row[0]) if each[0] >= CLIFF_FROM]
        steps = list(pairwise(curve))
        published = min(steps, key=lambda step: step[1][1].reference / step[0][1].reference)
        simulated = min(steps, key=lambda step: step[1][1].simulated / step[0][1].simulated)
        found.append(
            f"{table}: falls most from {published[0][0]} to {published[1][0]} threads, simulated "
            f"from {simulated[0][0]} to {simulated[1][0]}"
        )
    return found


def rank_correlation(some: Sequence[float], others: Sequence[float]) -> float:
    """Returns Spearman's coefficient; equal values share their mean rank."""
    a, b = _ranks(some), _ranks(others)
    mean_rank = mean(a)
    covariance = sum((x - mean_rank) * (y - mean_rank) for x, y in zip(a, b, strict=True))
    spread = math.sqrt(
        sum((x - mean_rank) ** 2 for x in a) * sum((y - mean_rank) ** 2 for y in b)
    )  # fmt: skip
    return covariance / spread if spread else math.nan


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(each) + (ordered.count(each) - 1) / 2 for each in values]


def _stalls(of: Abilities) -> Iterator[Figure]:
    machine = machines.load("ryzen1700", of)
    by_seed_name = {seed: name for name, seed in of.locks.items() if seed}
    by_seed_name["std::mutex"] = "futex_mutex"  # the same algorithm
    rows = [row for row in printed_rows(STALLS) if SCHEDULERS[row["scheduler"]] in of.schedulers]
    work = Work(loops=LOOPS, runs=RUNS)
    cells = [
        Cell(
            study=row["study"],
            lock=by_seed_name[row["lock"]],
            machine=machine,
            scheduler=SCHEDULERS[row["scheduler"]],
            threads=int(row["threads"]),
            work=work,
            background="desktop",
            burst_factor=BURST_FACTOR,
        )
        for row in rows
    ]
    for row, found in zip(rows, simulator.answers(each.to_job() for each in cells), strict=True):
        name = f"{row['scheduler']}, {row['study']}, {row['lock']}"
        values = found["values"]
        yield Figure("mean run, ms", name, float(row["mean_run_ms"]), values["run_mean_ns"] / 1e6)
        longest = values[f"{row['study']}_max_ns"] / 1e6
        table = f"longest {row['study']}, ms"
        yield Figure(table, name, float(row["longest1_ms"]), max(longest, 1e-6))


def _scaling(of: Abilities) -> Iterator[Figure]:
    machine = machines.load("xeon8468", of)
    wanted = [
        (row, column, lock)
        for row in printed_rows(SCALING)
        if row["workload"] in of.workloads and row["arch"] == "x86_64"
        for column, lock in KERNEL_LOCKS.items()
    ]
    cells = [
        Cell(
            study="scale",
            lock=lock,
            machine=machine,
            scheduler="eevdf",
            threads=int(row["threads"]),
            work=Work(workload=row["workload"], pinned=True, duration_ns=10e6),
        )
        for row, _, lock in wanted
    ]
    answers = simulator.answers(each.to_job() for each in cells)
    for (row, column, _), found in zip(wanted, answers, strict=True):
        yield Figure(
            f"{row['workload']}, {column}, {SCALING_TABLE}",
            f"{row['threads']} threads",
            float(row[column]),
            found["values"]["operations_per_s"],
        )
