# SPDX-License-Identifier: Apache-2.0
"""The test for a trend: its exact chances, ties, long series, and many series together."""

from __future__ import annotations

import itertools
import random

import pytest

from lockyard.history.drift import LEAST_FILES, MOST_POINTS, Trend, drifting, trend_of


@pytest.mark.parametrize("size", [3, 5, 6])
def test_the_chance_is_the_share_of_orders_that_are_as_extreme(size: int) -> None:
    """Compares with an enumeration of all orders."""

    def falls(order: tuple[int, ...]) -> int:
        return sum(a > b for a, b in itertools.combinations(order, 2))

    orders = list(itertools.permutations(range(size)))
    pairs = size * (size - 1) // 2
    for order in orders[:: max(1, len(orders) // 40)]:
        extreme = min(falls(order), pairs - falls(order))
        share = sum(min(falls(each), pairs - falls(each)) <= extreme for each in orders)
        assert trend_of(order).p == pytest.approx(min(1.0, share / len(orders)), abs=1e-9)


def test_the_fewest_files_can_show_a_drift_and_fewer_cannot() -> None:
    enough = list(range(1, LEAST_FILES + 1))
    assert drifting([trend_of(enough)]) == [True]
    assert drifting([trend_of(enough[:-1])]) == [False]


def test_equal_values_are_no_trend() -> None:
    assert trend_of([5.0] * 20).p == 1.0
    assert trend_of([0.0] * 6).ratio == 1.0


def test_a_long_series_is_judged_by_medians_of_neighbours() -> None:
    rising = trend_of([float(place) for place in range(10 * MOST_POINTS)])
    assert rising.p < 1e-6
    assert rising.files == 10 * MOST_POINTS


def test_many_series_without_a_trend_rarely_show_one() -> None:
    chance = random.Random(3)
    alarms = 0
    for _ in range(100):
        trends = [trend_of([chance.random() for _ in range(12)]) for _ in range(30)]
        alarms += any(drifting(trends))
    assert alarms <= 10


def test_a_trend_is_judged_together_with_the_others() -> None:
    weak = Trend(6, 1.0, 2.0, 0.03)
    assert drifting([weak]) == [True]
    assert drifting([weak, *[Trend(6, 1.0, 1.0, 0.9)] * 9]) == [False] * 10
