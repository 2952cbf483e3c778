# SPDX-License-Identifier: Apache-2.0
"""Claims: a lock's figure is better or worse than the reference's, or makes no difference.

The first blocks choose the locks that a claim compares, and the later blocks compare them. The
interval holds after every block, so a measurement may stop as soon as it decides
(docs/decisions/0045-sequential-report.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from lockyard.report.columns import Compared, by_value
from lockyard.report.units import duration, rate
from lockyard.stats import anytime_ratio, block_ratios

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lockyard.report.summary import CellSummary
    from lockyard.stats import Ratio

CHOOSING_BLOCKS = 8
# The fewest compared blocks that settle a claim.
SETTLING_BLOCKS = 30
# A claim that needs more blocks than this will not be settled.
MOST_BLOCKS = 4000


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
    ratios: Sequence[float]  # one for each compared block
    factor: float = 1.0  # above 1: the claim is that the lock is worse by more than this

    @classmethod
    def of(cls, aim: Aim, cell: CellSummary, reference: CellSummary, factor: float = 1.0) -> Claim:
        ours, theirs = (_some(aim, each, compared=True) for each in (cell, reference))
        shared = ours.keys() & theirs.keys()
        return cls(aim, cell, reference, block_ratios(ours, theirs) if shared else (), factor)

    @cached_property
    def ratio(self) -> Ratio | None:
        """Returns the ratio over the compared blocks; None if there are none."""
        return anytime_ratio(self.ratios)

    @property
    def decision(self) -> Decision:
        return self._decision(self.ratio)

    def _decision(self, ratio: Ratio | None) -> Decision:
        if ratio is None or ratio.low is None or ratio.high is None:
            return Decision.OPEN
        if ratio.shows_difference:
            return Decision.BETTER if self.aim.is_better(ratio.low) else Decision.WORSE
        if 1 / self.aim.alike <= ratio.low and ratio.high <= self.aim.alike:
            return Decision.ALIKE
        return Decision.OPEN

    @property
    def blocks(self) -> int:
        return len(self.ratios)

    @property
    def is_settled(self) -> bool:
        return self._settles(self.ratio)

    def _settles(self, ratio: Ratio | None) -> bool:
        if ratio is None or ratio.blocks < SETTLING_BLOCKS:
            return False
        if self.factor > 1:
            least, most = self._badness(ratio)
            return not least <= self.factor <= most
        return self._decision(ratio) is not Decision.OPEN

    def blocks_left(self) -> float:
        """Returns how many more blocks like the compared ones would settle the claim."""
        blocks = self.blocks
        while blocks <= MOST_BLOCKS:
            blocks = max(SETTLING_BLOCKS, blocks + 1 + blocks // 8)
            if self._settles(anytime_ratio(self.ratios, blocks)):
                return blocks - self.blocks
        return math.inf

    @property
    def holds(self) -> bool:
        """Tells whether the lock is shown to be worse by more than the claim's factor."""
        return self._badness(self.ratio)[0] > self.factor

    def _badness(self, ratio: Ratio | None) -> tuple[float, float]:
        """Returns the bounds of how many times as bad as the reference the lock is."""
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
    return {
        block: value for block, value in values.items() if (block >= CHOOSING_BLOCKS) is compared
    }
