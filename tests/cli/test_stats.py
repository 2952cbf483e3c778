# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random

import pytest

from lockyard.histogram import Histogram, middle_of_bucket
from lockyard.report.units import duration, ratio
from lockyard.stats import Ratio, median_interval, paired_ratio


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
def test_intervals_are_those_of_the_sign_test(n: int, ranks: tuple[int, int]) -> None:
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
