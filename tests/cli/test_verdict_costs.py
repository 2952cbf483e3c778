# SPDX-License-Identifier: Apache-2.0
"""The sentences of a verdict on what a lock costs that nobody else wants."""

from __future__ import annotations

from made_up_verdict import a_cell, said


def test_names_the_cheapest_lock_and_ours_against_the_reference() -> None:
    (sentence,) = said(
        a_cell("uncontended", "tas_spinlock", [8.0] * 6, threads=1),
        a_cell("uncontended", "ticket_spinlock", [7.9, 8.1] * 3, threads=1),
        a_cell("uncontended", "futex_mutex", [20.0, 19.0] * 3, threads=1),
        a_cell("uncontended", "std::mutex", [20.0] * 6, threads=1),
        a_cell("uncontended", "null_lock", [1.0] * 6, threads=1),
    )
    assert sentence == (
        "Uncontended, lock and unlock cost 8.00 ns with tas_spinlock, the cheapest (0.40 "
        "[0.40, 0.40] against std::mutex); 19.5 ns with futex_mutex, the cheapest of ours that "
        "sleeps (0.97 [0.95, 1.00] no difference shown against std::mutex); "
        "20.0 ns with std::mutex; no difference shown between the cheapest and "
        "ticket_spinlock. [uncontended · tas_spinlock, futex_mutex, std::mutex · 1 thread]"
    )


def test_names_the_cost_of_one_lock_without_a_rank() -> None:
    (sentence,) = said(a_cell("uncontended", "futex_mutex", [20.0], threads=1))
    assert sentence == (
        "Uncontended, lock and unlock cost 20.0 ns with futex_mutex. "
        "[uncontended · futex_mutex · 1 thread]"
    )


def test_does_not_call_a_lock_the_cheapest_that_is_dearer_than_the_reference() -> None:
    (sentence,) = said(
        a_cell("uncontended", "futex_mutex", [20.0] * 6, threads=1),
        a_cell("uncontended", "std::mutex", [10.0] * 6, threads=1),
    )
    assert "10.0 ns with std::mutex, the cheapest; " in sentence
    assert "20.0 ns with futex_mutex, the cheapest of ours (2.00 [2.00, 2.00] against" in sentence


def test_names_the_cheapest_of_ours_wherever_it_stands() -> None:
    (sentence,) = said(
        a_cell("uncontended", "std::mutex", [10.0] * 6, threads=1),
        a_cell("uncontended", "tas_spinlock", [30.0] * 6, threads=1),
        a_cell("uncontended", "ticket_spinlock", [20.0] * 6, threads=1),
    )
    assert "20.0 ns with ticket_spinlock, the cheapest of ours" in sentence


def test_names_three_locks_that_cost_no_less_and_counts_the_rest() -> None:
    (sentence,) = said(
        *(a_cell("uncontended", f"lock{n}", [8.0] * 6, threads=1) for n in range(6)),
    )
    assert "between the cheapest and lock1, lock2, lock3 and 2 more. " in sentence
