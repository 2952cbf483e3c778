# SPDX-License-Identifier: Apache-2.0
"""Claims: their intervals, which blocks choose and which compare, and when a claim is settled."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from fake_advice import an_aim_cell

from lockyard.advice.claims import (
    CHOOSING_BLOCKS,
    RATE,
    SETTLING_BLOCKS,
    TAIL,
    Claim,
    Decision,
    chosen_by,
)
from lockyard.stats import anytime_ratio, ratio_of

COMPARED = SETTLING_BLOCKS + CHOOSING_BLOCKS


def _first_false_alarm(chance: random.Random, looks: int, anytime: bool) -> bool:
    """Tells whether any look at ratios whose median is 1 shows a difference."""
    interval = anytime_ratio if anytime else ratio_of
    seen: list[float] = []
    for _ in range(looks):
        seen.append(math.exp(chance.gauss(0, 0.2)))
        found = interval(seen)
        if found is not None and found.shows_difference:
            return True
    return False


def test_an_interval_holds_however_often_it_is_looked_at() -> None:
    chance = random.Random(1)
    alarms = sum(_first_false_alarm(chance, 120, anytime=True) for _ in range(400))
    assert alarms / 400 <= 0.05


def test_an_interval_for_one_look_does_not_hold_for_many() -> None:
    """The reason for the wider interval."""
    chance = random.Random(1)
    alarms = sum(_first_false_alarm(chance, 120, anytime=False) for _ in range(200))
    assert alarms / 200 > 0.1


def test_an_interval_narrows_as_blocks_come() -> None:
    chance = random.Random(2)
    values = [math.exp(chance.gauss(0, 0.2)) for _ in range(400)]
    widths = []
    for number in (30, 100, 400):
        found = anytime_ratio(values[:number])
        assert found is not None and found.low is not None and found.high is not None
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)


def test_few_blocks_have_no_interval() -> None:
    found = anytime_ratio([2.0] * 8)
    assert found is not None
    assert (found.median, found.low, found.high) == (2.0, None, None)
    assert anytime_ratio([]) is None


def _claim(ratios: list[float], aim: str = "rate") -> Claim:
    chosen = RATE if aim == "rate" else TAIL
    ours = an_aim_cell("mutex", [100 * ratio for ratio in ratios], aim)
    return Claim.of(chosen, ours, an_aim_cell("std::mutex", [100.0] * len(ratios), aim))


@pytest.mark.parametrize(
    ("aim", "ratio", "decision"),
    [
        ("rate", 2.0, Decision.BETTER),
        ("rate", 0.5, Decision.WORSE),
        ("rate", 1.0, Decision.ALIKE),
        ("tail", 2.0, Decision.WORSE),
        ("tail", 0.5, Decision.BETTER),
    ],
)
def test_decides_by_what_is_better_for_the_aim(aim: str, ratio: float, decision: Decision) -> None:
    claim = _claim([ratio] * COMPARED, aim)
    assert claim.decision is decision
    assert claim.is_settled


def test_a_claim_with_fewer_blocks_is_not_settled() -> None:
    assert not _claim([2.0] * (COMPARED - 1)).is_settled


def test_a_ratio_around_one_that_varies_too_much_stays_open() -> None:
    claim = _claim([0.8, 0.8, 1.25, 1.25] * (COMPARED // 4 + 1))
    assert claim.decision is Decision.OPEN
    assert not claim.is_settled


def test_the_first_blocks_choose_and_the_others_compare() -> None:
    ratios = [3.0] * CHOOSING_BLOCKS + [2.0] * 20
    ours = an_aim_cell("mutex", [100 * ratio for ratio in ratios])
    reference = an_aim_cell("std::mutex", [100.0] * len(ratios))
    assert chosen_by(RATE, ours, reference) == 3.0
    claim = Claim.of(RATE, ours, reference)
    assert claim.ratio is not None
    assert (claim.ratio.median, claim.ratio.high) == (2.0, 2.0)
    assert claim.blocks == 20


def test_foresees_how_many_blocks_settle_a_claim() -> None:
    assert _claim([2.0] * (CHOOSING_BLOCKS + 10)).blocks_left() == SETTLING_BLOCKS - 10
    assert math.isinf(_claim([0.5, 2.0] * 20).blocks_left())
    chance = random.Random(3)
    ratios = [math.exp(chance.gauss(0.05, 0.15)) for _ in range(400)]
    early = _claim(ratios[: CHOOSING_BLOCKS + 30])
    needed = next(
        blocks for blocks in range(400) if _claim(ratios[: CHOOSING_BLOCKS + blocks]).is_settled
    )
    assert needed / 3 < early.blocks + early.blocks_left() < needed * 3


def test_cells_without_a_common_block_say_nothing() -> None:
    other = an_aim_cell("std::mutex", [100.0])
    other.runs[0]["block"] = 7
    claim = Claim.of(RATE, an_aim_cell("mutex", [100.0]), other)
    assert claim.ratio is None
    assert claim.decision is Decision.OPEN


@pytest.mark.parametrize(
    ("aim", "ratio", "holds"),
    [("tail", 3.0, True), ("tail", 1.5, False), ("rate", 0.3, True), ("rate", 0.6, False)],
)
def test_worse_by_a_factor_needs_the_whole_interval_beyond_it(
    aim: str, ratio: float, holds: bool
) -> None:
    claim = replace(_claim([ratio] * COMPARED, aim), factor=2.0)
    assert claim.is_settled
    assert claim.holds is holds


def test_a_factor_within_the_interval_leaves_the_claim_open() -> None:
    claim = replace(_claim([1.8, 1.8, 2.2, 2.2] * 12, "tail"), factor=2.0)
    assert not claim.is_settled
    assert not claim.holds
