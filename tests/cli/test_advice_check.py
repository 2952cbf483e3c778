# SPDX-License-Identifier: Apache-2.0
"""The tool that checks advice against measuring all locks: order, pairs, and what is worse."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fake_records import a_record

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import advice_check

from lockyard.stats import Ratio, paired_ratio

RATES = {"slow": 100.0, "fast": 200.0, "close": 196.0}


def records(blocks: int = 12) -> list[dict[str, object]]:
    return [
        a_record("throughput", lock, block, values={"operations_per_s": rate * (1 + block / 1000)})
        for lock, rate in RATES.items()
        for block in range(blocks)
    ]


def test_orders_locks_by_their_rates_and_leaves_out_failed_runs() -> None:
    failed = {**a_record("throughput", "broken", values={"operations_per_s": 1e9}), "status": "x"}
    found = advice_check.figures([*records(), failed])
    assert advice_check.ordered(found, is_tail=False) == ["fast", "close", "slow"]
    assert advice_check.ordered(found, is_tail=True) == ["slow", "close", "fast"]


def waits(lock: str, block: int, length_ns: int, count: int) -> dict[str, object]:
    record = a_record("wait", lock, block)
    record["histograms"] = {
        "wait": {"unit": "ns", "scale": 1, "sub_bucket_bits": 7, "counts": [[length_ns, count]]}
    }
    return record


def test_compares_by_the_percentile_of_the_advice_and_leaves_out_locks_without_it() -> None:
    records = [
        waits(lock, block, length_ns, count)
        for block in range(6)
        for lock, length_ns, count in (("often", 100, 20_000), ("seldom", 200, 2_000))
    ]
    assert list(advice_check.figures(records, 0.999)) == ["often"]
    found = advice_check.figures(records, 0.99)
    assert advice_check.ordered(found, is_tail=True) == ["often", "seldom"]
    assert all(len(each) == 6 for each in found.values())


@pytest.mark.parametrize(("advised", "worse"), [("slow", True), ("close", False)])
def test_only_a_loss_of_more_than_a_tenth_is_worse(advised: str, worse: bool) -> None:
    found = advice_check.figures(records())
    ratio = paired_ratio(found[advised], found["fast"])
    assert advice_check.is_worse(ratio, is_tail=False) is worse


def test_an_interval_that_contains_little_loss_is_not_worse() -> None:
    wide = Ratio(median=0.5, low=0.2, high=0.95, blocks=12)
    assert not advice_check.is_worse(wide, is_tail=False)
    assert advice_check.is_worse(Ratio(median=2, low=1.2, high=3, blocks=12), is_tail=True)
    assert not advice_check.is_worse(Ratio(median=2, low=1.05, high=3, blocks=12), is_tail=True)
