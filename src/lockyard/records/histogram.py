# SPDX-License-Identifier: Apache-2.0
"""Log-linear histograms as records contain them, merged over runs."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

Key = TypeVar("Key")

# A percentile is printed only if at least this many samples lie beyond it.
SAMPLES_BEYOND = 10


@dataclass
class Histogram:
    """Counts by value in nanoseconds; a value is the middle of its bucket."""

    counts: Counter[float] = field(default_factory=Counter)

    def add(self, document: dict[str, Any]) -> None:
        bits = document["sub_bucket_bits"]
        scale = document["scale"]
        for index, count in document["counts"]:
            self.counts[middle_of_bucket(index, bits) * scale] += count

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def least(self) -> float | None:
        return min(self.counts, default=None)

    @property
    def mean(self) -> float | None:
        """Returns the mean, each sample at the middle of its bucket."""
        if not self.total:
            return None
        return sum(value * count for value, count in self.counts.items()) / self.total

    def percentile(self, share: float) -> float | None:
        """Returns the percentile, or None if too few samples lie beyond it."""
        return _at_share(sorted(self.counts.items()), share)


def percentile_of(document: dict[str, Any], share: float) -> float | None:
    """Returns the percentile of one record's histogram, as Histogram.percentile does."""
    index = _at_share(sorted(document["counts"]), share)
    if index is None:
        return None
    return middle_of_bucket(index, document["sub_bucket_bits"]) * float(document["scale"])


def _at_share(ordered: Sequence[tuple[Key, int]], share: float) -> Key | None:
    seen = list(accumulate(count for _, count in ordered))
    total = seen[-1] if seen else 0
    if total == 0 or total * (1 - share) < SAMPLES_BEYOND:
        return None
    return ordered[bisect_left(seen, share * total)][0]


def middle_of_bucket(index: int, sub_bucket_bits: int) -> float:
    """Maps an index to a value: small values have a bucket each, every octave has 2 ** bits."""
    if index < 2 << sub_bucket_bits:
        return float(index)
    shift = (index >> sub_bucket_bits) - 1
    lowest = (index - (shift << sub_bucket_bits)) << shift
    return lowest + ((1 << shift) - 1) / 2
