# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import random

import pytest

from lockyard.records.histogram import Histogram, middle_of_bucket
from lockyard.report.units import duration, ratio
from lockyard.stats import (
    Ratio,
    block_ratios,
    holm,
    median_interval,
    paired_ratio,
    sign_test,
)


def test_an_interval_encloses_the_true_median_as_often_as_it_says() -> None:
    chance = random.Random(1)
    enclosed = 0
    for _ in range(2000):
        low, high = median_interval(sorted(chance.expovariate(1) for _ in range(30)))
        assert low is not None
        assert high is not None
        enclosed += low <= 0.6931 <= high
    assert enclosed / 2000 >= 0.94


@pytest.mark.parametrize(("n", "ranks"), [(6, (1, 6)), (10, (2, 9)), (30, (10, 21))])
def test_intervals_agree_with_the_sign_test(n: int, ranks: tuple[int, int]) -> None:
    assert median_interval([float(value) for value in range(1, n + 1)]) == ranks


def test_five_blocks_are_too_few_for_an_interval() -> None:
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) == (None, None)


def test_ratios_are_paired_by_block() -> None:
    drifting = {block: 10.0 * (block + 1) for block in range(8)}
    faster = {block: 5.0 * (block + 1) for block in range(1, 9)}
    found = paired_ratio(faster, drifting)
    assert found is not None
    assert (found.median, found.low, found.high, found.blocks) == (0.5, 0.5, 0.5, 7)
    assert found.shows_difference


def test_there_is_no_ratio_without_a_common_block() -> None:
    assert paired_ratio({0: 1.0}, {1: 1.0}) is None


def test_buckets_decode_to_within_one_percent() -> None:
    bits = 7
    for value in [0, 1, 255, 256, 1000, 123456789, 2**60 + 12345]:
        shift = max(value.bit_length() - 1 - bits, 0)
        index = (shift << bits) + (value >> shift)
        assert middle_of_bucket(index, bits) == pytest.approx(value, rel=0.01)


def test_percentiles_need_samples_beyond_them() -> None:
    histogram = Histogram()
    histogram.add({"sub_bucket_bits": 7, "scale": 0.5, "counts": [[10, 900], [20, 99], [30, 1]]})
    assert histogram.percentile(0.5) == 5.0
    assert histogram.percentile(0.99) == 10.0
    assert histogram.percentile(0.999) is None
    assert Histogram().percentile(0.5) is None


def test_the_mean_counts_each_sample_and_the_least_is_no_percentile() -> None:
    histogram = Histogram()
    histogram.add({"sub_bucket_bits": 6, "scale": 2.0, "counts": [[10, 3], [30, 1]]})
    assert histogram.mean == 2.0 * (3 * 10 + 30) / 4
    assert histogram.least == 20.0
    assert Histogram().mean is None
    assert Histogram().least is None


def test_numbers_have_three_digits_and_a_unit() -> None:
    assert duration(8.724) == "8.72 ns"
    assert duration(999.9) == "1.00 µs"
    assert duration(62.3e6) == "62.3 ms"
    assert duration(2.5e9) == "2.50 s"
    assert duration(None) == "–"
    assert duration(0) == "0"


def test_ratios_say_what_they_show() -> None:
    assert ratio(Ratio(1.0, None, None, 5)) == "1.00 [too few blocks]"
    assert ratio(Ratio(1.234, 1.2, 12.3, 30)) == "1.23 [1.20, 12.3]"
    assert ratio(Ratio(1.01, 0.99, 1.02, 30)) == "1.01 [0.99, 1.02] no difference shown"


@pytest.mark.parametrize("n", [6, 7, 8, 9, 12, 15, 20, 31, 45])
def test_the_interval_is_that_of_the_bootstrap_or_one_rank_wider(n: int) -> None:
    """Resamples medians; of two values in the middle, takes either at random."""
    chance = random.Random(n)
    ranks = range(1, n + 1)
    medians = sorted(
        sorted(chance.choices(ranks, k=n))[(n - 1 + chance.randrange(2) * (n % 2 == 0)) // 2]
        for _ in range(20_000)
    )
    bootstrap = medians[int(0.025 * len(medians))]
    exact, _ = median_interval([float(rank) for rank in ranks])
    assert exact is not None
    assert bootstrap - 1 <= exact <= bootstrap


def test_a_sign_test_counts_throws_of_a_coin() -> None:
    assert sign_test(6, 6) == 1 / 64
    assert sign_test(5, 6) == 7 / 64
    assert sign_test(0, 6) == 1
    assert sign_test(20_000, 20_000) < 1e-300


def test_an_interval_excludes_what_the_sign_test_refuses() -> None:
    for n in range(1, 80):
        for below in range(n + 1):
            values = [0.5] * below + [1.5] * (n - below)
            low, high = median_interval(values)
            excluded = low is not None and high is not None and not low <= 1 <= high
            assert excluded == (2 * sign_test(max(below, n - below), n) <= 0.05)


def test_many_blocks_have_an_interval_too() -> None:
    low, high = median_interval([float(rank) for rank in range(1, 20_001)])
    assert low == pytest.approx(10_000 - 1.96 * math.sqrt(20_000) / 2, abs=1)
    assert high == pytest.approx(10_001 + 1.96 * math.sqrt(20_000) / 2, abs=1)


def test_the_correction_is_holms() -> None:
    """His procedure by hand, and no p is less than the one before it."""
    assert holm([0.03, 0.01, 0.5, 0.02]) == [0.06, 0.04, 0.5, 0.06]
    assert holm([0.9, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_ratios_of_nothing() -> None:
    assert block_ratios({0: 0.0, 1: 3.0, 2: 0.0}, {0: 0.0, 1: 0.0, 2: 4.0}) == [1.0, math.inf, 0.0]


def test_ratios_without_a_common_block_go_in_order() -> None:
    assert block_ratios({5: 6.0, 3: 2.0, 9: 1.0}, {0: 1.0, 1: 2.0}) == [2.0, 3.0]
    assert block_ratios({}, {0: 1.0}) == []
