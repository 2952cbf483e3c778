# SPDX-License-Identifier: Apache-2.0
"""Ratios paired by block, with intervals that assume nothing about the distribution."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Ratio:
    """The median of paired ratios; the bounds are missing where there are too few blocks."""

    median: float
    low: float | None
    high: float | None
    blocks: int

    @property
    def shows_difference(self) -> bool:
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


def paired_ratio(values: Mapping[int, float], baseline: Mapping[int, float]) -> Ratio | None:
    """Of the blocks that both have; nothing if there is none."""
    return mean_ratio([(values, baseline)])


def mean_ratio(pairs: Sequence[tuple[Mapping[int, float], Mapping[int, float]]]) -> Ratio | None:
    """Of each block the geometric mean of the pairs' ratios, if the block has all of them; nothing
    if there is no such block."""
    by_pair = [
        {b: values[b] / baseline[b] for b in values.keys() & baseline.keys() if baseline[b]}
        for values, baseline in pairs
    ]
    blocks = set.intersection(*map(set, by_pair)) if by_pair else set()
    ratios = sorted(_geometric_mean([of_pair[b] for of_pair in by_pair]) for b in blocks)
    if not ratios:
        return None
    low, high = median_interval(ratios)
    return Ratio(statistics.median(ratios), low, high, len(ratios))


def _geometric_mean(values: Sequence[float]) -> float:
    """One value is itself, to the last digit; a factor of 0 makes all 0."""
    if len(values) == 1 or 0 in values:
        return min(values)
    return statistics.geometric_mean(values)


def median_interval(ordered: Sequence[float]) -> tuple[float | None, float | None]:
    """Order statistics that enclose the median with at least 95 % confidence (sign test)."""
    n = len(ordered)
    outside = 0.0
    rank = 0
    while rank < n // 2:
        outside += math.comb(n, rank) / 2**n
        if 2 * outside > 1 - CONFIDENCE:
            break
        rank += 1
    if rank == 0:
        return None, None
    return ordered[rank - 1], ordered[n - rank]
