# SPDX-License-Identifier: Apache-2.0
"""The sentence of the verdict about the cost of an uncontended lock."""

from __future__ import annotations

from fake_verdict import a_cell, said


def test_names_the_cheapest_lock_and_ours_against_the_reference() -> None:
    (sentence,) = said(
        a_cell("uncontended", "tas_spinlock", [8.0] * 6, threads=1),
        a_cell("uncontended", "ticket_spinlock", [7.9, 8.1] * 3, threads=1),
        a_cell("uncontended", "futex_mutex", [20.0, 19.0] * 3, threads=1),
        a_cell("uncontended", "std::mutex", [20.0] * 6, threads=1),
        a_cell("uncontended", "null_lock", [1.0] * 6, threads=1),
    )
    assert sentence == (
        "Cheapest uncontended lock and unlock: tas_spinlock, 8.00 ns; std::mutex 20.0 ns. "
        "tas_spinlock 8.00 ns (0.40 [0.40, 0.40] against std::mutex); futex_mutex 19.5 ns, the "
        "cheapest of ours that sleeps (0.97 [0.95, 1.00] no difference shown against std::mutex); "
        "std::mutex 20.0 ns; no difference shown between the cheapest and ticket_spinlock. "
        "[uncontended · tas_spinlock, futex_mutex, std::mutex · 1 thread]"
    )


def test_names_the_cost_of_one_lock_without_a_rank() -> None:
    (sentence,) = said(a_cell("uncontended", "futex_mutex", [20.0], threads=1))
    assert sentence == (
        "futex_mutex takes 20.0 ns for an uncontended lock and unlock. "
        "[uncontended · futex_mutex · 1 thread]"
    )


def test_a_lock_that_costs_more_than_the_reference_is_not_the_cheapest() -> None:
    (sentence,) = said(
        a_cell("uncontended", "futex_mutex", [20.0] * 6, threads=1),
        a_cell("uncontended", "std::mutex", [10.0] * 6, threads=1),
    )
    assert sentence.startswith("Cheapest uncontended lock and unlock: std::mutex, 10.0 ns. ")
    assert " futex_mutex 20.0 ns, the cheapest of ours (2.00 [2.00, 2.00] against" in sentence


def test_names_the_cheapest_of_ours_even_if_peers_are_cheaper() -> None:
    (sentence,) = said(
        a_cell("uncontended", "std::mutex", [10.0] * 6, threads=1),
        a_cell("uncontended", "tas_spinlock", [30.0] * 6, threads=1),
        a_cell("uncontended", "ticket_spinlock", [20.0] * 6, threads=1),
    )
    assert " ticket_spinlock 20.0 ns, the cheapest of ours (2.00 " in sentence


def test_names_three_locks_as_cheap_as_the_cheapest_and_counts_the_rest() -> None:
    (sentence,) = said(
        *(a_cell("uncontended", f"lock{n}", [8.0] * 6, threads=1) for n in range(6)),
    )
    assert "between the cheapest and lock1, lock2, lock3 and 2 more. " in sentence
