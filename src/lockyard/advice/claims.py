# SPDX-License-Identifier: Apache-2.0
"""Claims: a lock's figure is better or worse than the reference's, or makes no difference.

The locks that a claim compares are chosen on some blocks, and compared on the others. The interval
holds after every block, so a measurement may stop as soon as it decides
(docs/decisions/0045-sequential-report.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lockyard.report.columns import Compared, by_value
from lockyard.report.units import duration, rate
from lockyard.stats import anytime_ratio, block_ratios

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lockyard.report.summary import CellSummary
    from lockyard.stats import Ratio

# The odd ones of the first blocks choose, the even ones and all later blocks compare.
CHOOSING_BLOCKS = 16
# The fewest compared blocks that settle a claim.
SETTLING_BLOCKS = 30


class Decision(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    ALIKE = "alike"
    OPEN = "open"


@dataclass(frozen=True)
class Aim:
    """The purpose that a lock is chosen for."""

    name: str
    compared: Compared
    alike: float  # ratios within this factor of 1 make no difference
    shown: Callable[[float | None], str]

    def is_better(self, ratio: float) -> bool:
        return ratio > 1 if self.compared.more_is_better else ratio < 1


def _rates(cell: CellSummary) -> dict[int, float]:
    """Returns operations per second, which not all studies record as a value."""
    return {
        run["block"]: 1e9 * run["values"]["operations"] / run["values"]["run_ns"]
        for run in cell.runs
        if run["values"].get("run_ns") and run["values"].get("operations") is not None
    }


RATE = Aim("rate", Compared("rate", _rates, more_is_better=True), 1.1, rate)
TAIL = Aim("longest wait", by_value("longest wait", "wait_max_ns"), 2.0, duration)
IDLE = Aim("free but wanted", by_value("free but wanted", "idle_wanted_max_ns"), 2.0, duration)
PAIR = Aim("cost", by_value("lock and unlock", "pair_after_threads_ns"), 1.1, duration)


@dataclass(frozen=True)
class Claim:
    aim: Aim
    cell: CellSummary
    reference: CellSummary
    ratio: Ratio | None  # over the compared blocks; None if there are none
    factor: float = 1.0  # above 1: the claim is that the lock is worse by more than this

    @classmethod
    def of(cls, aim: Aim, cell: CellSummary, reference: CellSummary, factor: float = 1.0) -> Claim:
        ours, theirs = (_some(aim, each, compared=True) for each in (cell, reference))
        if not ours.keys() & theirs.keys():
            return cls(aim, cell, reference, None, factor)
        return cls(aim, cell, reference, anytime_ratio(block_ratios(ours, theirs)), factor)

    @property
    def decision(self) -> Decision:
        ratio = self.ratio
        if ratio is None or ratio.low is None or ratio.high is None:
            return Decision.OPEN
        if ratio.shows_difference:
            return Decision.BETTER if self.aim.is_better(ratio.low) else Decision.WORSE
        if 1 / self.aim.alike <= ratio.low and ratio.high <= self.aim.alike:
            return Decision.ALIKE
        return Decision.OPEN

    @property
    def blocks(self) -> int:
        return self.ratio.blocks if self.ratio else 0

    @property
    def is_settled(self) -> bool:
        if self.blocks < SETTLING_BLOCKS:
            return False
        if self.factor > 1:
            least, most = self._badness
            return not least <= self.factor <= most
        return self.decision is not Decision.OPEN

    @property
    def holds(self) -> bool:
        """Tells whether the lock is shown to be worse by more than the claim's factor."""
        return self._badness[0] > self.factor

    @property
    def _badness(self) -> tuple[float, float]:
        """Returns the bounds of how many times as bad as the reference the lock is."""
        ratio = self.ratio
        if ratio is None or ratio.low is None or ratio.high is None:
            return 0.0, math.inf
        if not self.aim.compared.more_is_better:
            return ratio.low, ratio.high
        return 1 / ratio.high if ratio.high else math.inf, 1 / ratio.low if ratio.low else math.inf


def chosen_by(aim: Aim, cell: CellSummary, reference: CellSummary) -> float | None:
    """Returns the median ratio over the choosing blocks, or None if the cells share none."""
    ours, theirs = (_some(aim, each, compared=False) for each in (cell, reference))
    if not ours.keys() & theirs.keys():
        return None
    found = anytime_ratio(block_ratios(ours, theirs))
    return found.median if found else None


def _some(aim: Aim, cell: CellSummary, compared: bool) -> Mapping[int, float]:
    values = aim.compared.of(cell)
    return {block: value for block, value in values.items() if _compares(block) is compared}


def _compares(block: int) -> bool:
    return block >= CHOOSING_BLOCKS or block % 2 == 0
