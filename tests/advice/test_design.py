# SPDX-License-Identifier: Apache-2.0
"""The sequential design: which cells are measured on, and when the measurement ends."""

from __future__ import annotations

from fake_advice import a_run, measured_blocks, planned, values_of

from lockyard.advice.claims import CHOOSING_BLOCKS, SETTLING_BLOCKS, Decision
from lockyard.advice.design import SELDOM, Design

LOCKS = ("std::mutex", "mutex", "futex_mutex", "ttas_spinlock")
CELLS = [planned(lock) for lock in LOCKS]
ENOUGH = SETTLING_BLOCKS + CHOOSING_BLOCKS


def test_clear_answers_end_the_measurement_at_the_fewest_blocks() -> None:
    rates = {"std::mutex": 100.0, "mutex": 200.0, "futex_mutex": 150.0, "ttas_spinlock": 20.0}
    design, blocks = measured_blocks(CELLS, rates, sigma=0.02, most=500)
    assert len(blocks) == ENOUGH
    assert all(claim.is_settled for claim in design.claims())


def test_only_the_locks_of_open_answers_are_measured_on() -> None:
    rates = {"std::mutex": 100.0, "mutex": 200.0, "futex_mutex": 150.0, "ttas_spinlock": 20.0}
    _, blocks = measured_blocks(CELLS, rates, sigma=0.02, most=500)
    assert blocks[CHOOSING_BLOCKS - 1] == {0, 1, 2, 3}
    assert blocks[CHOOSING_BLOCKS] == {0, 1, 3}  # the best, the worst and the reference


def test_an_open_answer_gets_the_time_that_settled_ones_leave() -> None:
    rates = {"std::mutex": 100.0, "mutex": 104.5, "futex_mutex": 90.0, "ttas_spinlock": 20.0}
    design, blocks = measured_blocks(CELLS, rates, sigma=0.1, most=200)
    assert len(blocks) > ENOUGH
    assert 3 not in blocks[-1]  # its answer is long settled
    assert {0, 1} <= blocks[-1] or all(claim.is_settled for claim in design.claims())


def _blocks_of_two_questions(budget_s: float) -> list[set[int]]:
    """Returns the places of each block. With 16 threads `mutex` is nearly settled; with 2 threads
    its rates are one time tenfold, one time a tenth. A run takes a second."""
    now_s = 0.0
    near, far = ([planned(lock, threads=threads) for lock in LOCKS[:2]] for threads in (16, 2))
    design = Design([*near, *far], budget_s, clock=lambda: now_s)
    blocks: list[set[int]] = []
    while len(blocks) < 500 and (places := design.places(len(blocks))):
        block = len(blocks)
        rates = (100, 130 if block % 3 else 90, 100, 1000 if block % 2 else 10)
        for place in places:
            design.count(place, {**a_run(block, values_of("rate", rates[place])), "spent_s": 1.0})
            now_s += 1.0
        blocks.append(places)
    return blocks


def test_answers_within_reach_come_before_those_that_the_time_cannot_settle() -> None:
    blocks = _blocks_of_two_questions(budget_s=400.0)
    assert all(places == {0, 1, 2, 3} for places in blocks[:ENOUGH])
    later = range(ENOUGH, ENOUGH + 4 * SELDOM)
    assert [blocks[block] == {0, 1} for block in later] == [block % SELDOM > 0 for block in later]


def test_what_is_left_of_the_time_goes_to_the_answer_that_stays_open() -> None:
    blocks = _blocks_of_two_questions(budget_s=400.0)
    assert len(blocks) > ENOUGH
    assert blocks[-1] == {2, 3}


def test_locks_that_are_alike_are_decided_too() -> None:
    cells = CELLS[:2]
    design, blocks = measured_blocks(
        cells, {"std::mutex": 100.0, "mutex": 100.0}, sigma=0.02, most=500
    )
    assert len(blocks) < 500
    assert {claim.decision for claim in design.claims()} == {Decision.ALIKE}


def test_nothing_is_measured_after_the_time() -> None:
    design = Design(CELLS, budget_s=0.0)
    assert design.is_over
    assert design.places(0) == set()


def test_fixed_cells_are_measured_in_every_block_and_the_noise_in_some() -> None:
    noise = planned(None, "noise", 2)
    cells = [noise, *CELLS[:2], planned("mutex", "idle")]
    design = Design(cells, budget_s=1e6, always=[3])
    for block in range(ENOUGH):
        for place, rate in ((1, 100.0), (2, 300.0)):
            assert {place, 3} <= design.places(block)
            assert (0 in design.places(block)) is (block < CHOOSING_BLOCKS or block % SELDOM == 0)
            design.count(place, a_run(block, values_of("rate", rate)))
    assert design.places(ENOUGH) == {3}


def test_a_run_that_failed_counts_for_nothing() -> None:
    design = Design(CELLS[:2], budget_s=1e6)
    failed = {**a_run(0, values_of("rate", 100.0)), "status": "crashed"}
    short = a_run(0, {**values_of("rate", 100.0), "complete": False})
    for record in (failed, short):
        design.count(0, record)
        design.count(1, record)
    assert design.claims() == []


def test_a_lock_that_fails_its_checks_is_compared_with_none() -> None:
    design = Design(CELLS[:2], budget_s=1e6)
    for block in range(ENOUGH):
        broken = {**a_run(block, values_of("rate", 300.0)), "checks": {"counter": False}}
        design.count(0, a_run(block, values_of("rate", 100.0)))
        design.count(1, broken)
    assert design.claims() == []
