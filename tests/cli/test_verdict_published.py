# SPDX-License-Identifier: Apache-2.0
"""Sentences of the verdict that compare with the published table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_verdict import MS, a_cell, said, the_one

from lockyard.report.verdict.published import published_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.report.summary import CellSummary


def test_carries_the_published_table() -> None:
    row = published_table()["linux-cfs", "wait", "terrible_spinlock"]
    assert row.mean_run_ns == 825 * MS
    assert row.longest_ns == (103.5 * MS, 90.6 * MS, 77.1 * MS, 75.7 * MS)


def published(values: dict[str, Sequence[float]], **conditions: Any) -> list[CellSummary]:
    conditions.setdefault("as_published", True)
    return [
        a_cell("wait", lock, [ms * MS for ms in each], **conditions)
        for lock, each in values.items()
    ]


def test_compares_with_the_published_table_as_published() -> None:
    sentence = the_one(
        said(
            *published({"tas_spinlock": [2] * 6, "ticket_spinlock": [20] * 6, "futex_mutex": [1]})
        ),
        "published wait table",
    )
    assert sentence == (
        "Against the published wait table: 0 pairs in its order, 1 in the opposite, 0 undecided. "
        "Ryzen 7 1700, 16 threads on 16 processors, Linux CFS, here 2 "
        "processors; tas_spinlock stalls longest there, ticket_spinlock here; opposite: "
        "tas_spinlock and ticket_spinlock (the first stalls longer in the table, the second stalls "
        "longer here); of another order of magnitude: tas_spinlock 0.019 times as long here, "
        "ticket_spinlock 13 times as long here; longest waits there → here: tas_spinlock "
        "(terrible_spinlock) 104 ms → 2.00 ms (mean run 825 ms → 50.0 ms), ticket_spinlock 1.50 ms "
        "→ 20.0 ms (mean run 93.0 ms → 50.0 ms); the same loop; 6 runs here, 100 there. "
        "[wait as published · tas_spinlock, ticket_spinlock · 16 threads]"
    )


def test_compares_another_loop_by_order_and_magnitude_only() -> None:
    cells = published({"tas_spinlock": [90] * 6, "std::mutex": [3] * 6}, as_published=False)
    sentence = the_one(said(*cells, processors=16), "published wait table")
    assert "tas_spinlock stalls longest there and here" in sentence
    assert "table: 1 pair in its order, 0 in the opposite, 0 undecided." in sentence
    assert "all within a factor of 10 of the table" in sentence
    assert "another loop (runs bounded by time)" in sentence
    assert "mean run" not in sentence
    assert "here 16 processors" not in sentence


def test_orders_no_locks_by_few_runs() -> None:
    cells = published({"tas_spinlock": [90] * 5, "std::mutex": [3] * 5})
    sentence = the_one(said(*cells), "published wait table")
    assert "stalls longest" not in sentence
    assert "1 undecided." in sentence


def test_locks_that_the_table_does_not_order_are_not_ordered() -> None:
    cells = published({"ticket_spinlock": [90] * 6, "std::mutex": [3] * 6})
    assert published_table()["linux-cfs", "wait", "std::mutex"].longest_ns[3] < 1.5 * MS
    sentence = the_one(said(*cells), "published wait table")
    assert "order," not in sentence and "wait table: other magnitudes. " in sentence


def test_gives_no_mean_of_runs_that_were_cut_short() -> None:
    (cell,) = published({"tas_spinlock": [90] * 6})
    cell.runs[0]["values"]["complete"] = False
    sentence = the_one(said(cell), "published wait table")
    assert "(runs cut short)" in sentence
    assert "mean run" not in sentence


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(None, "Linux CFS"), ("other", "Linux CFS"), ("rr", "Linux SCHED_RR"), ("fifo", "")],
)
def test_compares_under_the_same_scheduler_only(policy: str | None, expected: str) -> None:
    sentences = said(*published({"tas_spinlock": [90] * 6}, policy=policy))
    compared = [sentence for sentence in sentences if "published wait table" in sentence]
    assert [expected in sentence for sentence in compared] == ([True] if expected else [])


def test_compares_sixteen_threads_only() -> None:
    assert not any("table" in each for each in said(*published({"tas_spinlock": [9]}, threads=8)))


@pytest.mark.parametrize(
    ("conditions", "title", "longest"),
    [
        ({}, "Linux CFS,", "135 ms"),
        ({"pinning": "spread"}, "Linux CFS, pinned threads,", "144 ms"),
        ({"slice_ns": 100_000}, "Linux CFS with slices of 0.1 ms,", "76.0 ms"),
    ],
)
def test_idle_times_are_compared_with_the_variant_of_their_setting(
    conditions: dict[str, Any], title: str, longest: str
) -> None:
    cells = [
        a_cell("idle", lock, [5 * MS] * 6, as_published=True, **conditions)
        for lock in ("tas_spinlock", "ticket_spinlock")
    ]
    sentence = the_one(said(*cells), "published idle table")
    assert title in sentence
    assert f"(terrible_spinlock) {longest} → 5.00 ms" in sentence
