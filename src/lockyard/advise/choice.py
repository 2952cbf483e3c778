# SPDX-License-Identifier: Apache-2.0
"""The choice among the locks: the best one, the runner-up, and the price of the best one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.advise.evidence import RATE, WAIT
from lockyard.errors import UsageError
from lockyard.report.columns import RATE as RATE_COMPARED
from lockyard.stats import Ratio, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.advise.evidence import Cells
    from lockyard.advise.use import Use
    from lockyard.catalog import Lock
    from lockyard.report.summary import CellSummary


TAILS = (0.999, 0.99)


@dataclass(frozen=True)
class Candidate:
    """A lock with its figures for the use."""

    lock: Lock
    rate: CellSummary
    wait: CellSummary

    @property
    def rate_per_s(self) -> float:
        return self.rate.median("operations_per_s") or 0.0

    @property
    def p999_ns(self) -> float:
        return self.wait.histogram("wait").percentile(0.999) or float("inf")

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
    source: str  # where the figures are from

    @property
    def best(self) -> Candidate:
        return self.ranked[0]

    @property
    def runner_up(self) -> Candidate | None:
        return self.ranked[1] if len(self.ranked) > 1 else None

    def compared(self, other: Candidate, by_tail: bool | None = None) -> Ratio | None:
        """Returns another lock's figure over the best one's, paired by block."""
        if self.by_tail if by_tail is None else by_tail:
            return _tail_ratio(other, self.best)
        return paired_ratio(RATE_COMPARED.of(other.rate), RATE_COMPARED.of(self.best.rate))

    @property
    def fastest(self) -> Candidate:
        return max(self.ranked, key=lambda each: each.rate_per_s)

    @property
    def steadiest(self) -> Candidate:
        return min(self.ranked, key=lambda each: each.p999_ns)


def advised(use: Use, cells: Cells, locks: Sequence[Lock], by_tail: bool, source: str) -> Advice:
    """Ranks the locks. Of locks whose difference is not shown, the one with the shorter tail is
    better (or, with --tail, the faster one)."""
    candidates = [
        Candidate(lock, cells[RATE][lock.name], cells[WAIT][lock.name])
        for lock in locks
        if lock.name in cells[RATE]
        and lock.name in cells[WAIT]
        and cells[RATE][lock.name].checks_hold
        and cells[WAIT][lock.name].checks_hold
    ]
    if not candidates:
        raise UsageError(
            "none of these locks could be measured, so there is nothing to advise; name others "
            "with --locks"
        )
    ranked = sorted(candidates, key=(_tail_first if by_tail else _rate_first))
    advice = Advice(use, by_tail, ranked, source)
    equal = [each for each in ranked[1:] if _is_as_good(advice, each)]
    first = min([ranked[0], *equal], key=(_rate_first if by_tail else _tail_first))
    return Advice(use, by_tail, [first, *(each for each in ranked if each is not first)], source)


def _is_as_good(advice: Advice, other: Candidate) -> bool:
    """Tells whether no difference to the first lock is shown, and it is not far either."""
    ratio = advice.compared(other)
    far = 1.1 if advice.by_tail else 1 / 1.1
    if ratio is None or ratio.shows_difference:
        return False
    return ratio.median <= far if advice.by_tail else ratio.median >= far


def _tail_ratio(other: Candidate, best: Candidate) -> Ratio | None:
    """Returns the ratio of the waits' 99.9th percentiles, or, where the runs have too few waits for
    these, of the 99th ones."""
    for share in TAILS:
        found = paired_ratio(
            *(each.wait.percentile_by_block("wait", share) for each in (other, best))
        )
        if found is not None and found.low is not None:
            return found
    return None


def _rate_first(of: Candidate) -> float:
    return -of.rate_per_s


def _tail_first(of: Candidate) -> tuple[float, float]:
    return of.p999_ns, of.longest_ns
