# SPDX-License-Identifier: Apache-2.0
"""Sentences that compare this machine's stalls with the published table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from lockyard.report.naming import counted
from lockyard.report.publications import printed_rows
from lockyard.report.units import duration
from lockyard.report.verdict.setting import (
    ENOUGH_RUNS,
    Sentence,
    Setting,
    groups,
    longest_of_equal_runs,
    shown_longer,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lockyard.report.summary import CellSummary

THREADS = 16
PROCESSORS = 16
MACHINE = "Ryzen 7 1700, 16 threads on 16 processors"
# A run's longest stall by the table's definitions, in both forms of the studies.
KEYS = {"wait": "wait_max_ns", "idle": "idle_published_max_ns"}
RUNS = {"wait": 100, "idle": 1000}
# Stalls that differ by less than this factor are of the same order of magnitude.
FAR = 10
OTHER_LOOP = "another loop (runs bounded by time), so only orders and magnitudes are comparable"
# The table's names of our scheduling policies, and the titles to print for them.
SCHEDULERS = {None: "linux-cfs", "other": "linux-cfs", "rr": "linux-rr"}
# The readers' variants of the table of idle times: pinned threads, and short slices.
PINNED = "linux-cfs pinned"
SHORT_SLICES = "linux-cfs latency=0.1ms,granularity=0.1ms"
SHORT_SLICE_NS = 100_000
TITLES = {
    "linux-cfs": "Linux CFS",
    "linux-rr": "Linux SCHED_RR",
    PINNED: "Linux CFS, pinned threads",
    SHORT_SLICES: "Linux CFS with slices of 0.1 ms",
    "linux-cfs console": "Linux CFS, console",
    "muqss": "MuQSS",
    "windows": "Windows",
}


@dataclass(frozen=True)
class Row:
    mean_run_ns: float
    longest_ns: tuple[float, ...]

    def shown_longer(self, other: Row) -> bool:
        """Tells whether all four of its maxima are above all four of the other's."""
        return min(self.longest_ns) > max(other.longest_ns)


@cache
def published_table() -> dict[tuple[str, str, str], Row]:
    """Returns the tables' rows by scheduler, study and seed name."""
    return {
        (row["scheduler"], row["study"], row["lock"]): Row(
            float(row["mean_run_ms"]) * 1e6,
            tuple(float(row[f"longest{place}_ms"]) * 1e6 for place in range(1, 5)),
        )
        for name in ("stalls_ryzen1700.csv", "stalls_ryzen1700_variants.csv")
        for row in printed_rows(name)
    }


@dataclass(frozen=True)
class Pair:
    """A lock in the table and on this machine."""

    cell: CellSummary
    row: Row
    name: str


def against_published(cells: Sequence[CellSummary], setting: Setting) -> Iterable[Sentence]:
    """Yields a sentence for each study, about the published form if it was measured."""
    for study, key in KEYS.items():
        candidates = [
            (group[0].as_published, len(pairs), pairs)
            for group in groups(cell for cell in cells if _can_compare(cell, study))
            if (pairs := _pairs(group, key, setting))
        ]
        if candidates:
            *_, pairs = max(candidates, key=lambda candidate: candidate[:2])
            yield _compared(pairs, key, setting)


def _can_compare(cell: CellSummary, study: str) -> bool:
    return (
        cell.study == study
        and cell.threads == THREADS
        and not cell.work
        and cell.conditions.get("policy") in SCHEDULERS
    )


def _pairs(group: Iterable[CellSummary], key: str, setting: Setting) -> list[Pair]:
    pairs = []
    for cell in group:
        seed_name = setting.seed_name(cell)
        row = published_table().get((_scheduler(cell), cell.study, seed_name))
        if row is not None and cell.maximum(key) is not None:
            alias = "" if seed_name == cell.lock else f" ({seed_name})"
            pairs.append(Pair(cell, row, f"{cell.lock}{alias}"))
    return pairs


def _scheduler(cell: CellSummary) -> str:
    """Returns the table's name of the cell's setting: a variant if the readers measured one."""
    found = SCHEDULERS[cell.conditions.get("policy")]
    if found != "linux-cfs" or cell.study != "idle":
        return found
    if cell.conditions.get("pinning") not in (None, "none"):
        return PINNED
    return SHORT_SLICES if cell.conditions.get("slice_ns") == SHORT_SLICE_NS else found


def _compared(pairs: Sequence[Pair], key: str, setting: Setting) -> Sentence:
    first = pairs[0].cell
    here = setting.naming.conditions(first)
    if setting.processors is not None and setting.processors != PROCESSORS:
        here.append(f"here {counted(setting.processors, 'processor')}")
    runs = sorted({len(pair.cell.runs) for pair in pairs})
    counts = f"{runs[0]} to {runs[-1]} runs" if len(runs) > 1 else counted(runs[0], "run")
    what = "waits" if first.study == "wait" else "idle times, wanted or not,"
    orders, far = _orders(pairs, key), _magnitudes(pairs, key)
    found = orders.counts or ("other magnitudes" if far else f"all within a factor of {FAR}")
    evidence = [
        ", ".join([MACHINE, TITLES[_scheduler(first)], *here]),
        *orders.details,
        far or f"all within a factor of {FAR} of the table",
        f"longest {what} there → here: {', '.join(_there_and_here(pair, key) for pair in pairs)}",
        "the same loop" if first.as_published else OTHER_LOOP,
        f"{counts} here, {RUNS[first.study]} there",
    ]
    return Sentence(
        f"Against the published {first.study} table: {found}.",
        setting.names(pair.cell for pair in pairs),
        tuple(evidence),
    )


def _there_and_here(pair: Pair, key: str) -> str:
    there, here = max(pair.row.longest_ns), pair.cell.maximum(key)
    text = f"{pair.name} {duration(there)} → {duration(here)}"
    if not pair.cell.as_published:
        return text
    if not all(run["values"]["complete"] for run in pair.cell.runs):
        return f"{text} (runs cut short)"
    return (
        f"{text} (mean run {duration(pair.row.mean_run_ns)} → {duration(pair.cell.mean('run_ns'))})"
    )


def _magnitudes(pairs: Iterable[Pair], key: str) -> str:
    """Names locks whose longest stalls differ from the table's by an order of magnitude."""
    factors = {
        pair.cell.lock: (pair.cell.maximum(key) or 0.0) / max(pair.row.longest_ns) for pair in pairs
    }
    far = {lock: factor for lock, factor in factors.items() if not 1 / FAR < factor < FAR}
    names = ", ".join(f"{lock} {factor:.2g} times as long here" for lock, factor in far.items())
    return f"of another order of magnitude: {names}" if far else ""


@dataclass(frozen=True)
class Orders:
    """The order of the locks here compared with the table's: the counts of pairs, and details."""

    counts: str  # empty if the table orders none of the pairs
    details: list[str]


def _orders(pairs: Sequence[Pair], key: str) -> Orders:
    ordered = [
        (longer, shorter)
        for one, other in combinations(pairs, 2)
        for longer, shorter in ((one, other), (other, one))
        if longer.row.shown_longer(shorter.row)
    ]
    same = [each for each in ordered if shown_longer(each[0].cell, each[1].cell, key)]
    opposite = [each for each in ordered if shown_longer(each[1].cell, each[0].cell, key)]
    counts = (
        f"{counted(len(same), 'pair')} in its order, {len(opposite)} in the opposite, "
        f"{len(ordered) - len(same) - len(opposite)} undecided"
    )
    names = ", ".join(f"{one.cell.lock} and {other.cell.lock}" for one, other in opposite)
    details = [*_longest(pairs, key)]
    if opposite:
        details.append(
            f"opposite: {names} (the first stalls longer in the table, the second stalls longer "
            "here)"
        )
    return Orders(counts if ordered else "", details)


def _longest(pairs: Sequence[Pair], key: str) -> Iterable[str]:
    """Names the lock that stalls longest in the table, and the lock that does here."""
    runs = {len(pair.cell.runs) for pair in pairs}
    if len(pairs) < 2 or min(runs) < ENOUGH_RUNS:
        return
    longest = longest_of_equal_runs([pair.cell for pair in pairs], key)
    here = pairs[longest.index(max(longest))]
    there = max(pairs, key=lambda pair: max(pair.row.longest_ns))
    equal = f" in the first {min(runs)} runs of each" if len(runs) > 1 else ""
    yield (
        f"{there.cell.lock} stalls longest there and here{equal}"
        if here is there
        else f"{there.cell.lock} stalls longest there, {here.cell.lock} here{equal}"
    )
