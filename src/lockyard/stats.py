# SPDX-License-Identifier: Apache-2.0
"""Ratios paired by block, with confidence intervals that assume no distribution."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Ratio:
    """The median of paired ratios; without enough blocks, the bounds are None."""

    median: float
    low: float | None
    high: float | None
    blocks: int

    @property
    def inverse(self) -> Ratio:
        """Returns the ratio the other way round."""
        low, high = (None if bound is None else 1 / bound for bound in (self.high, self.low))
        return Ratio(1 / self.median, low, high, self.blocks)

    @property
    def shows_difference(self) -> bool:
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


def paired_ratio(values: Mapping[int, float], baseline: Mapping[int, float]) -> Ratio | None:
    """Returns the ratio over the blocks that both have, or None if they share none."""
    return mean_ratio([(values, baseline)])


def mean_ratio(pairs: Sequence[tuple[Mapping[int, float], Mapping[int, float]]]) -> Ratio | None:
    """Takes, in each block that has all pairs, the geometric mean of their ratios. Returns None if
    there is no such block."""
    by_pair = [
        {b: values[b] / baseline[b] for b in values.keys() & baseline.keys() if baseline[b]}
        for values, baseline in pairs
    ]
    blocks = set.intersection(*map(set, by_pair)) if by_pair else set()
    return ratio_of([_geometric_mean([of_pair[b] for of_pair in by_pair]) for b in blocks])


def ratio_of(ratios: Sequence[float]) -> Ratio | None:
    """Returns the median and its interval of ratios, one for each block."""
    if not ratios:
        return None
    ordered = sorted(ratios)
    low, high = median_interval(ordered)
    return Ratio(statistics.median(ordered), low, high, len(ordered))


def _geometric_mean(values: Sequence[float]) -> float:
    """Returns a single value unchanged, to the last digit; a factor of 0 makes the mean 0."""
    if len(values) == 1 or 0 in values:
        return min(values)
    return statistics.geometric_mean(values)


def median_interval(ordered: Sequence[float]) -> tuple[float | None, float | None]:
    """Returns the order statistics that enclose the median with 95 % confidence (sign test)."""
    rank = _rank(len(ordered))
    if rank == 0:
        return None, None
    return ordered[rank - 1], ordered[len(ordered) - rank]


@cache
def _rank(n: int) -> int:
    """Returns the rank, from either end, of the statistics that bound the interval; 0: too few."""
    outside, ways, rank = 0, 1, 0  # ways: the number of ways to choose `rank` of n
    while rank < n // 2:
        outside += ways
        if 2 * outside / (1 << n) > 1 - CONFIDENCE:
            break
        ways = ways * (n - rank) // (rank + 1)
        rank += 1
    return rank


# The weight of shares near one half in the mixture that anytime_ratio bets with; with 3, intervals
# are at most a sixth wider than the best for any single number of blocks from 20 to 200.
MIXTURE = 3


def anytime_ratio(ratios: Sequence[float], blocks: int | None = None) -> Ratio | None:
    """Returns the median and an interval that may be looked at after every block: with 95 %
    confidence, the intervals of all numbers of blocks enclose the median (confidence sequence).
    With `blocks`, the interval that so many blocks like these would have."""
    if not ratios:
        return None
    ordered = sorted(ratios)
    median, blocks = statistics.median(ordered), blocks or len(ordered)
    rank = _anytime_rank(blocks)
    if rank == 0:
        return Ratio(median, None, None, blocks)
    place = -(-rank * len(ordered) // blocks)
    return Ratio(median, ordered[place - 1], ordered[len(ordered) - place], blocks)


@cache
def _anytime_rank(n: int) -> int:
    """Returns the rank, from either end, of the statistics that bound the interval; 0: too few.

    If the median is m, each block lies above m with probability 1/2, whatever came before. The
    wealth of a gambler who bets on other shares, mixed by Beta(MIXTURE, MIXTURE), then ever reaches
    1 / (1 - CONFIDENCE) with a probability of at most 1 - CONFIDENCE (Ville's inequality).
    """
    limit = -math.log(1 - CONFIDENCE)
    rank = 0
    while rank < n // 2 and _log_wealth(rank, n) >= limit:
        rank += 1
    return rank


def _log_wealth(above: int, n: int) -> float:
    of_blocks = _log_beta(above + MIXTURE, n - above + MIXTURE)
    return n * math.log(2) + of_blocks - _log_beta(MIXTURE, MIXTURE)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def sign_test(beyond: int, n: int) -> float:
    """Returns the probability that so many or more of n values lie on one side of the median."""
    few = n - beyond
    outside, ways = 0, 1
    for k in range(few + 1):
        outside += ways
        ways = ways * (n - k) // (k + 1)
    return outside / (1 << n)


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns, for each value, the smallest total error at which it is significant (Holm 1979)."""
    corrected = [1.0] * len(p_values)
    least = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        least = max(least, min(1.0, p_values[index] * (len(p_values) - place)))
        corrected[index] = least
    return corrected


def block_ratios(values: Mapping[int, float], baseline: Mapping[int, float]) -> list[float]:
    """Returns the ratios of the blocks that both have. If they share none, the first block of one
    is paired with the first of the other, and so on. 0 to 0 is 1; anything to 0 is infinite."""
    shared = sorted(values.keys() & baseline.keys())
    pairs = [(values[b], baseline[b]) for b in shared] or list(
        zip(_in_order(values), _in_order(baseline), strict=False)
    )
    return [_ratio(value, to) for value, to in pairs]


def _in_order(values: Mapping[int, float]) -> list[float]:
    return [values[block] for block in sorted(values)]


def _ratio(value: float, to: float) -> float:
    if to:
        return value / to
    return math.inf if value else 1.0
