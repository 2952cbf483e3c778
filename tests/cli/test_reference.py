# SPDX-License-Identifier: Apache-2.0
"""The reference of comparisons: one lock, or in each cell the best of several."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from fake_records import CATALOG, a_lock, a_record, shown, summed_up
from rich.console import Console

from lockyard.catalog import BEST_SLEEPING_PEER, Catalog
from lockyard.report.columns import RATE, by_value
from lockyard.report.reference import Against
from lockyard.report.summary import CellSummary, summarise
from lockyard.report.tables import tables
from lockyard.report.verdict import verdict
from lockyard.stats import mean_ratio

BLOCKS = range(12)


def a_peer(name: str, waiting: str = "park") -> Any:
    return replace(a_lock(name), kind="peer", waiting=waiting)


PEERS = Catalog(
    "0",
    (*CATALOG.locks, a_peer("even"), a_peer("odd"), a_peer("spinner", "spin")),
    CATALOG.libraries,
    CATALOG.studies,
)
BEST = Against.of(BEST_SLEEPING_PEER, PEERS)


def runs(lock: str, odd: float, even: float, cell: int = 0, **others: Any) -> list[dict[str, Any]]:
    return [
        a_record(
            "throughput",
            lock,
            block,
            cell,
            {"operations_per_s": odd if block % 2 else even, "operations": 1},
            **others,
        )
        for block in BLOCKS
    ]


def cells_of(*records: list[dict[str, Any]]) -> list[CellSummary]:
    return summarise([run for of_lock in records for run in of_lock], PEERS)


def test_the_best_of_several_sleeps_and_is_a_peer() -> None:
    assert BEST is not None
    assert BEST.candidates == ["even", "odd"]
    one = Against.of("spinner", PEERS)
    assert one is not None
    assert (one.candidates, one.chooses) == (["spinner"], False)


def test_it_is_chosen_on_odd_blocks_and_compared_on_even_ones() -> None:
    assert BEST is not None
    cells = cells_of(
        runs("even", odd=1, even=100),
        runs("odd", odd=2, even=10),
        runs("spinner", odd=1000, even=1000),
        runs("futex_mutex", odd=1, even=30),
    )
    reference = BEST.among(cells, RATE)
    assert reference is not None
    assert reference.cell.lock == "odd"
    found = reference.ratio(RATE, next(cell for cell in cells if cell.lock == "futex_mutex"))
    assert found is not None
    assert (found.median, found.low, found.high, found.blocks) == (3, 3, 3, 6)
    less = BEST.among(cells, by_value("pair", "operations_per_s"))
    assert less is not None
    assert less.cell.lock == "even"


def test_what_fails_its_checks_or_has_no_odd_block_is_not_chosen() -> None:
    assert BEST is not None
    broken = [{**run, "checks": {"counter": False}} for run in runs("odd", odd=9, even=9)]
    reference = BEST.among(cells_of(broken, runs("even", odd=1, even=1)), RATE)
    assert reference is not None
    assert reference.cell.lock == "even"
    assert BEST.among(cells_of(broken, runs("even", 1, 1)[:1]), RATE) is None


def test_means_are_geometric_and_of_blocks_that_every_cell_has() -> None:
    ones = dict.fromkeys(range(8), 1.0)
    found = mean_ratio([(dict.fromkeys(range(8), 4.0), ones), (dict.fromkeys(range(7), 9.0), ones)])
    assert found is not None
    assert found.median == pytest.approx(6.0)
    assert found.blocks == 7
    assert mean_ratio([]) is None
    zero = mean_ratio([({0: 0.0}, ones), (ones, ones)])
    assert zero is not None
    assert zero.median == 0


def test_a_table_and_a_sentence_tell_the_mean_over_the_cells() -> None:
    cells = cells_of(
        runs("odd", 2, 10),
        runs("even", 1, 100),
        runs("futex_mutex", 1, 20),
        runs("odd", 1, 7, cell=1, hold_ns=200),
        runs("even", 2, 10, cell=1, hold_ns=200),
        runs("futex_mutex", 1, 80, cell=1, hold_ns=200),
    )
    *_, mean = tables(cells, BEST, Console(width=300))
    rows = shown(mean)
    assert "throughput: geometric mean over the cells" in rows
    ratio = f"{math.sqrt(2 * 8):.2f}"
    assert f"futex_mutex 2 {ratio} [{ratio}, {ratio}]" in rows
    sentences = [str(each) for each in verdict(cells, PEERS, 2, BEST)]
    assert any(
        f"Best of ours over 2 cells: futex_mutex, {ratio} times the throughput of the best "
        f"sleeping peer. geometric mean {ratio} [{ratio}, {ratio}]; the reference is "
        "chosen in each cell." in each
        for each in sentences
    )
    first = shown(next(iter(tables(cells, BEST, Console(width=300)))))
    assert "(odd)" in first
    assert "2.00 [2.00, 2.00]" in first


def test_the_verdict_names_the_fastest_with_the_most_threads_and_the_next() -> None:
    cells = cells_of(
        runs("futex_mutex", 10, 10),
        runs("even", 3e6, 3e6, cell=1, threads=16),
        runs("futex_mutex", 4.5e6, 4.5e6, cell=1, threads=16),
    )
    (sentence,) = [
        str(each) for each in verdict(cells, PEERS, 2) if "highest throughput" in each.text
    ]
    assert sentence == (
        "futex_mutex has the highest throughput, 4.50 M/s; next is even, 3.00 M/s. "
        "16 threads on 2 processors (oversubscribed); ratio 1.50 [1.50, 1.50]. "
        "[throughput · futex_mutex, even · 16 threads]"
    )


def test_a_percentile_of_a_run_needs_samples_enough() -> None:
    histogram = {"sub_bucket_bits": 7, "scale": 1.0, "counts": [[10, 100_000]]}
    records = [a_record(block=block) for block in range(2)]
    records[0]["histograms"] = {"wait": histogram}
    records[1]["histograms"] = {"wait": {**histogram, "counts": [[10, 100]]}}
    (cell,) = summed_up(*records)
    assert cell.percentile_by_block("wait", 0.999) == {0: 10.0}
