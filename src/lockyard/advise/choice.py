# SPDX-License-Identifier: Apache-2.0
"""The choice among the locks: the best one, the runner-up, and the price of the best one."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.advise.evidence import RATE, RUNS, STUDIES, WAIT
from lockyard.errors import UsageError
from lockyard.report.columns import RATE as RATE_COMPARED
from lockyard.stats import Ratio, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lockyard.advise.evidence import Cells
    from lockyard.advise.use import Use
    from lockyard.catalog import Lock
    from lockyard.report.summary import CellSummary

# Locks are compared by the highest of these percentiles for which all of them have enough waits.
TAILS = (0.999, 0.99, 0.9)


@dataclass(frozen=True)
class Tails:
    """A percentile of the waits of each run, by lock and block: the same one for all locks. A lock
    has a figure if `enough` of its runs have the percentile."""

    share: float
    by_block: Mapping[str, Mapping[int, float]]
    enough: Mapping[str, int]

    @classmethod
    def common(cls, waits: Iterable[CellSummary]) -> Tails:
        """Takes the highest percentile that all locks have in enough runs. If there is none, locks
        with too few waits have no figure at the lowest one."""
        waits = list(waits)
        for share in TAILS:
            found = cls.at(share, waits)
            if all(found.has_enough(each.lock) for each in waits):
                break
        return found

    @classmethod
    def at(cls, share: float, waits: Iterable[CellSummary]) -> Tails:
        waits = list(waits)
        return cls(
            share,
            {each.lock: each.percentile_by_block("wait", share) for each in waits},
            {each.lock: max(1, min(RUNS, len(each.runs))) for each in waits},
        )

    def has_enough(self, lock: str) -> bool:
        return len(self.by_block[lock]) >= self.enough[lock]

    def of(self, lock: str) -> float:
        """Returns the median of the runs' percentiles; infinite if too few runs have one."""
        return (
            statistics.median(self.by_block[lock].values()) if self.has_enough(lock) else math.inf
        )


@dataclass(frozen=True)
class Candidate:
    """A lock with its figures for the use."""

    lock: Lock
    rate: CellSummary
    wait: CellSummary
    tail_ns: float  # infinite if it has too few waits

    @property
    def rate_per_s(self) -> float:
        return self.rate.median("operations_per_s") or 0.0

    @property
    def longest_ns(self) -> float:
        return self.wait.maximum("wait_max_ns") or float("inf")

    @property
    def cpu_share(self) -> float | None:
        return self.rate.mean("cpu_share")

    @property
    def fairness(self) -> float | None:
        return self.rate.mean("fairness_jain")


@dataclass(frozen=True)
class Advice:
    use: Use
    by_tail: bool
    ranked: Sequence[Candidate]  # the best first
    tails: Tails
    source: str  # where the figures are from
    is_interrupted: bool = False  # Ctrl-C ended the measurement

    @property
    def best(self) -> Candidate:
        return self.ranked[0]

    @property
    def runner_up(self) -> Candidate | None:
        return self.ranked[1] if len(self.ranked) > 1 else None

    def compared(self, other: Candidate, by_tail: bool | None = None) -> Ratio | None:
        """Returns another lock's figure over the best one's, paired by block."""
        if self.by_tail if by_tail is None else by_tail:
            return paired_ratio(
                *(self.tails.by_block[each.lock.name] for each in (other, self.best))
            )
        return paired_ratio(RATE_COMPARED.of(other.rate), RATE_COMPARED.of(self.best.rate))

    @property
    def fastest(self) -> Candidate:
        return max(self.ranked, key=lambda each: each.rate_per_s)

    @property
    def steadiest(self) -> Candidate:
        return min(self.ranked, key=lambda each: each.tail_ns)


def advised(use: Use, cells: Cells, locks: Sequence[Lock], by_tail: bool, source: str) -> Advice:
    """Ranks the locks. Of locks whose difference is not shown, the one with the shorter tail is
    better (or, with --tail, the faster one)."""
    sound = [
        (lock, cells[RATE][lock.name], cells[WAIT][lock.name])
        for lock in locks
        if all(
            lock.name in cells[study] and cells[study][lock.name].checks_hold for study in STUDIES
        )
    ]
    tails = Tails.common(wait for _, _, wait in sound)
    candidates = [Candidate(*each, tails.of(each[0].name)) for each in sound]
    if not candidates:
        raise UsageError(
            "none of these locks could be measured, so there is nothing to advise; name others "
            "with --locks"
        )
    ranked = sorted(candidates, key=(_tail_first if by_tail else _rate_first))
    advice = Advice(use, by_tail, ranked, tails, source)
    equal = [each for each in ranked[1:] if _is_as_good(advice, each)]
    first = min([ranked[0], *equal], key=(_rate_first if by_tail else _tail_first))
    order = [first, *(each for each in ranked if each is not first)]
    return Advice(use, by_tail, order, tails, source)


def _is_as_good(advice: Advice, other: Candidate) -> bool:
    """Tells whether no difference to the first lock is shown, and it is not far either."""
    ratio = advice.compared(other)
    far = 1.1 if advice.by_tail else 1 / 1.1
    if ratio is None or ratio.shows_difference:
        return False
    return ratio.median <= far if advice.by_tail else ratio.median >= far


def _rate_first(of: Candidate) -> float:
    return -of.rate_per_s


def _tail_first(of: Candidate) -> tuple[float, float]:
    return of.tail_ns, of.longest_ns
