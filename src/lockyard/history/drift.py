# SPDX-License-Identifier: Apache-2.0
"""Decides whether a figure drifts over the files of a machine (docs/decisions/0046-history.md).

Every file counts once, by its median, since the state of the machine during a file affects all of
its runs. The test is Mann and Kendall's for a trend, exact, and corrected by Holm for all figures
that are tested together.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lockyard.stats import CONFIDENCE, holm

if TYPE_CHECKING:
    from collections.abc import Sequence

# The fewest files in which an ordered sequence is rarer than 5 in 100 in both directions.
LEAST_FILES = 5
# A longer series is reduced to this many medians of neighbouring files.
MOST_POINTS = 120


@dataclass(frozen=True)
class Trend:
    files: int
    first: float  # median of the first third
    last: float
    p: float

    @property
    def ratio(self) -> float:
        return self.last / self.first if self.first else math.inf if self.last else 1.0


def trend_of(values: Sequence[float]) -> Trend:
    """Returns the trend of values in the order of time."""
    third = max(1, len(values) // 3)
    first, last = statistics.median(values[:third]), statistics.median(values[-third:])
    points = _thinned(values)
    return Trend(len(values), first, last, _p_value(_inversions(points), len(points)))


def drifting(trends: Sequence[Trend]) -> list[bool]:
    """Tells for each trend whether it is shown; the chance that any is shown by mistake is at most
    5 %."""
    enough = [place for place, each in enumerate(trends) if each.files >= LEAST_FILES]
    corrected = holm([trends[place].p for place in enough])
    shown = [False] * len(trends)
    for place, p in zip(enough, corrected, strict=True):
        shown[place] = p <= 1 - CONFIDENCE
    return shown


def _thinned(values: Sequence[float]) -> Sequence[float]:
    if len(values) <= MOST_POINTS:
        return values
    size = math.ceil(len(values) / MOST_POINTS)
    return [statistics.median(values[i : i + size]) for i in range(0, len(values), size)]


def _inversions(values: Sequence[float]) -> int:
    """Returns Kendall's S: the pairs that rise minus the pairs that fall; ties count as neither,
    which makes the test careful."""
    pairs = ((a, b) for i, a in enumerate(values) for b in values[i + 1 :])
    return sum((b > a) - (b < a) for a, b in pairs)


def _p_value(s: int, n: int) -> float:
    """Returns the chance of an S at least this far from 0 if all orders are equally likely."""
    pairs = n * (n - 1) // 2
    shares = _shares(n)
    falls = (pairs - abs(s)) // 2  # an order with so many falls, or fewer, is as extreme
    return min(1.0, 2 * sum(shares[: falls + 1]))


@cache
def _shares(n: int) -> tuple[float, ...]:
    """Returns the share of the orders of n values that have 0, 1, 2 … falling pairs."""
    shares = [1.0]
    for size in range(2, n + 1):
        total, longer = 0.0, []
        for falls in range(len(shares) + size - 1):
            total += shares[falls] if falls < len(shares) else 0.0
            total -= shares[falls - size] if falls >= size else 0.0
            longer.append(total / size)
        shares = longer
    return tuple(max(share, 0.0) for share in shares)
