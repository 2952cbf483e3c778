# SPDX-License-Identifier: Apache-2.0
"""Sentences of the verdict: advice, the machine's share, and broken locks."""

from __future__ import annotations

import pytest
from fake_verdict import CATALOG, LONG, MS, SHORT, a_cell, noise, said, the_one

from lockyard.report.summary import CellSummary
from lockyard.report.text import VERDICT_COLUMNS
from lockyard.report.verdict import verdict


def test_without_cells_there_is_no_sentence() -> None:
    assert said() == []
    assert said(a_cell("wait", "null_lock", LONG)) == []


def test_advises_against_the_lock_with_the_worst_stall() -> None:
    first = said(a_cell("wait", "tas_spinlock", LONG), a_cell("wait", "ticket_spinlock", SHORT))[0]
    assert first == (
        "Do not use tas_spinlock: waits of up to 200 ms, with ticket_spinlock at most 2.00 ms. "
        "16 threads on 2 processors (oversubscribed); at least half of that in 5 of 6 runs; "
        "ticket_spinlock in 6 runs. [wait · tas_spinlock, ticket_spinlock · 16 threads]"
    )


def test_a_finding_fits_on_one_line() -> None:
    cells = [
        a_cell("wait", "tas_spinlock", LONG),
        a_cell("wait", "ticket_spinlock", SHORT),
        a_cell("idle", "tas_spinlock", LONG),
        a_cell("idle", "ticket_spinlock", SHORT),
        a_cell("uncontended", "ticket_spinlock", [8.0] * 6, threads=1),
        a_cell("uncontended", "std::mutex", [20.0] * 6, threads=1),
        noise(30 * MS),
    ]
    findings = [f"- {sentence.text}" for sentence in verdict(cells, CATALOG, 2)]
    assert len(findings) == 5
    assert max(map(len, findings)) <= VERDICT_COLUMNS


def test_names_other_bad_locks_and_the_best_of_ours() -> None:
    first = said(
        a_cell("wait", "tas_spinlock", LONG),
        a_cell("wait", "ticket_spinlock", [120 * MS] * 6),
        a_cell("wait", "futex_mutex", [90 * MS] * 6),
        a_cell("wait", "std::mutex", SHORT),
    )[0]
    assert first.startswith(
        "Do not use tas_spinlock: waits of up to 200 ms, with std::mutex at most 2.00 ms. "
    )
    assert "; do not use ticket_spinlock (120 ms) either; " in first
    assert "; best of ours: futex_mutex, at most 90.0 ms. " in first


@pytest.mark.parametrize(("shortest", "advised"), [(2.0, True), (75.0, False), (74.9, False)])
def test_advises_only_where_twice_as_bad_is_shown_by_blocks(shortest: float, advised: bool) -> None:
    first = said(
        a_cell("wait", "tas_spinlock", LONG),
        a_cell("wait", "ticket_spinlock", [shortest * MS] * 6),
    )[0]
    assert first.startswith("Do not use tas_spinlock: ") is advised
    assert first.startswith("No lock stands out: ") is not advised
    assert ("paired by block, the first is not shown to be 2 times as bad" in first) is not advised


def test_the_bound_of_twice_as_bad_is_exclusive() -> None:
    def advised(worst_ns: float) -> bool:
        worst = a_cell("wait", "tas_spinlock", [worst_ns] * 6)
        return "Do not use" in said(worst, a_cell("wait", "std::mutex", SHORT))[0]

    assert not advised(4 * MS)
    assert advised(4.01 * MS)


def test_gives_no_advice_from_few_runs() -> None:
    first = said(
        a_cell("wait", "tas_spinlock", LONG[:5]), a_cell("wait", "ticket_spinlock", SHORT[:5])
    )[0]
    assert first.startswith(
        "Measure at least 6 runs: waits of up to 200 ms with tas_spinlock, at most 2.00 ms with "
        "ticket_spinlock. "
    )
    assert "only 5 runs; 5 runs are too few to compare them" in first


def test_a_lock_with_enough_runs_is_preferred_as_the_best() -> None:
    first = said(
        a_cell("wait", "tas_spinlock", LONG),
        a_cell("wait", "ticket_spinlock", SHORT[:5]),
        a_cell("wait", "std::mutex", [3 * MS] * 6),
    )[0]
    assert "with std::mutex at most 3.00 ms." in first


def test_compares_maxima_of_equally_many_runs() -> None:
    first = said(
        a_cell("wait", "tas_spinlock", LONG),
        a_cell("wait", "ticket_spinlock", [1 * MS] * 6 + [9 * MS] * 6),
        a_cell("wait", "std::mutex", SHORT),
    )[0]
    assert "with ticket_spinlock at most 9.00 ms." in first
    assert "; ticket_spinlock in 12 runs." in first


def test_says_little_about_one_lock() -> None:
    sentences = said(a_cell("wait", "futex_mutex", [4 * MS], threads=2))
    assert sentences == [
        "futex_mutex: waits of up to 4.00 ms. 2 threads on 2 processors; only 1 run. "
        "[wait · futex_mutex · 2 threads]",
        "Measure noise too: without it, these stalls may be the machine's or the lock's.",
    ]


def test_does_not_blame_a_lock_that_only_one_thread_wanted() -> None:
    cells = [a_cell("wait", name, LONG, threads=1) for name in ("tas_spinlock", "std::mutex")]
    assert said(a_cell("idle", "tas_spinlock", [0] * 6, threads=1)) == []
    first = said(*cells)[0]
    assert first.startswith(
        "tas_spinlock: waits of up to 200 ms. 1 thread on 2 processors; no other thread wanted the "
        "lock; "
    )


def test_uses_the_largest_team_and_the_studies_own_form() -> None:
    sentences = said(
        a_cell("wait", "tas_spinlock", [900 * MS] * 6, threads=8),
        a_cell("wait", "tas_spinlock", [800 * MS] * 6, as_published=True),
        a_cell("wait", "tas_spinlock", LONG),
    )
    assert sum("waits of" in sentence for sentence in sentences) == 1
    assert "200 ms" in sentences[0]


def test_has_the_worst_first_and_each_study_once_before_a_second() -> None:
    sentences = said(
        *(
            a_cell("wait", "futex_mutex", [ms * MS] * 6, policy=policy)
            for ms, policy in ((9, "other"), (8, "fifo"), (7, "rr"))
        ),
        a_cell("idle", "futex_mutex", [5 * MS] * 6, policy="other"),
    )
    assert "futex_mutex: waits of up to 9.00 ms" in sentences[0] and "policy other" in sentences[0]
    assert "futex_mutex: waits of up to 8.00 ms" in sentences[1] and "policy fifo" in sentences[1]
    assert "futex_mutex: free but wanted for up to 5.00 ms" in sentences[2]
    assert not any("7.00 ms" in sentence for sentence in sentences)


def test_says_so_when_no_lock_was_free_but_wanted() -> None:
    first = said(a_cell("idle", "tas_spinlock", [0] * 6), a_cell("idle", "std::mutex", [0] * 6))[0]
    assert first.startswith("No lock was free but wanted for longer than the threshold. 16 threads")


def test_a_lock_that_was_never_free_but_wanted_is_the_best() -> None:
    first = said(a_cell("idle", "tas_spinlock", LONG), a_cell("idle", "std::mutex", [0] * 6))[0]
    assert first.startswith(
        "Do not use tas_spinlock: free but wanted for up to 200 ms, with std::mutex at most 0."
    )


def test_names_the_conditions_that_vary_and_compares_nothing_across_them() -> None:
    sentences = said(
        a_cell("wait", "tas_spinlock", LONG, policy="other", load=0),
        a_cell("wait", "std::mutex", SHORT, policy="fifo", load=0),
    )
    assert not any("Do not use" in sentence for sentence in sentences)
    assert "[wait · tas_spinlock · 16 threads · policy other]" in sentences[0]
    assert not any("load" in sentence for sentence in sentences)


def test_names_an_unusual_condition() -> None:
    first = said(a_cell("wait", "tas_spinlock", LONG, pinning=[0, 1], slice_ns=3 * MS))[0]
    assert "pinning 0,1" in first
    assert "slice 3.00 ms" in first


def test_names_the_machines_own_share() -> None:
    machine = the_one(said(noise(30 * MS, runs=2)), "the machine itself")
    assert machine == (
        "Stalls of up to 30.0 ms need no lock to explain them: the machine itself took 1.5 % of "
        "the time. 2.00 s watched on each of 2 processors; longest gap 30.0 ms; steal 1.0 %; "
        "waiting behind other processes 1.0 %. [noise · 2 processors]"
    )


def test_a_machine_without_gaps_explains_no_stall() -> None:
    machine = the_one(said(noise(0)), "machine itself")
    assert machine.startswith("The machine itself took 1.5 % of the time, without a single gap. ")


def test_names_shares_of_the_machine_that_are_unavailable() -> None:
    cell = noise(30 * MS)
    for core in cell.runs[0]["values"]["cores"]:
        core["steal_ns"] = None
    assert "steal unavailable (the kernel does not report it)" in said(cell)[0]


def starved(cell: CellSummary, *cpus: int) -> CellSummary:
    """Changes the cell so that watchers of these processors ran for 23 ns of a second."""
    for run in cell.runs:
        run["conditions"] = {"duration_s": 1.0}
        for cpu in cpus:
            core = run["values"]["cores"][cpu]
            core |= {"watched_ns": 23.0, "lost_ns": 0.0, "longest_ns": 0.0, "run_delay_ns": 24 * MS}
    longest_ns = max(core["longest_ns"] for core in cell.runs[0]["values"]["cores"])
    cell.runs[0]["values"]["longest_ns"] = longest_ns
    return cell


def test_leaves_out_a_processor_whose_watcher_hardly_ran() -> None:
    machine = the_one(said(starved(noise(30 * MS), 1)), "the machine itself")
    assert machine.startswith(
        "Stalls of up to 30.0 ms need no lock to explain them: the machine itself took 3.0 % of "
        "the time. 1.00 s watched on 1 of 2 processors (cpu1 watched 23.0 ns of the 1.00 s "
        "requested); longest gap 30.0 ms; "
    )


def test_the_share_is_of_the_processors_that_were_watched_long_enough() -> None:
    cell = starved(noise(30 * MS), 1)
    cell.runs[0]["values"]["cores"][1] |= {"watched_ns": 400 * MS, "lost_ns": 400 * MS}
    machine = the_one(said(cell), "the machine itself")
    assert "took 3.0 % of the time. 1.00 s watched on 1 of 2 processors (cpu1 " in machine


def test_claims_nothing_about_a_machine_that_was_not_watched() -> None:
    stalled = a_cell("wait", "tas_spinlock", LONG)
    sentences = said(stalled, starved(noise(30 * MS), 0, 1))
    machine = the_one(sentences, "machine")
    assert machine.startswith(
        "Measure again on a quieter machine: its own share of the time is unavailable. cpu0, cpu1 "
        "watched 23.0 ns of the 1.00 s requested; "
    )
    assert "needs no lock" not in machine
    assert "waiting behind other processes unavailable (" in machine
    assert "machine" not in the_one(sentences, "tas_spinlock: waits")


def test_a_gap_of_a_short_watch_still_explains_a_stall() -> None:
    brief = starved(noise(30 * MS), 0, 1)
    brief.runs[0]["values"]["longest_ns"] = 300 * MS
    stall = the_one(said(a_cell("wait", "tas_spinlock", LONG), brief), "tas_spinlock: waits")
    assert "the machine alone explains stalls of this length" in stall


@pytest.mark.parametrize(
    ("gap_ms", "expected"),
    [
        (100, "; the longest is 2 times the machine's longest gap. ["),
        (199.9, "; the longest is 1 times the machine's longest gap. ["),
        (200, "; the machine alone explains stalls of this length. ["),
        (0, "; the machine itself showed no gap. ["),
    ],
)
def test_sets_a_stall_against_the_machines_longest_gap(gap_ms: float, expected: str) -> None:
    sentences = said(a_cell("wait", "tas_spinlock", LONG), noise(gap_ms * MS))
    assert expected in the_one(sentences, "tas_spinlock: waits")
    assert not any("Measure noise too" in sentence for sentence in sentences)


def test_sets_no_stall_against_a_machine_under_other_conditions() -> None:
    stall = said(a_cell("wait", "tas_spinlock", LONG, policy="fifo"), noise(1, policy="other"))[0]
    assert "longest gap" not in stall
    stall = said(a_cell("wait", "tas_spinlock", LONG, policy="fifo"), noise(1, policy="fifo"))[0]
    assert "longest gap" in stall


def test_broken_locks_come_first_and_their_figures_are_left_out() -> None:
    broken = a_cell("wait", "tas_spinlock", LONG)
    broken.runs[3]["checks"]["counter"] = False
    crashed = CellSummary("wait", "std::mutex", 16, {"threads": 16}, failure="crashed: signal 11")
    hung = a_cell("idle", "ticket_spinlock", SHORT)
    hung.failure = "overrun: no answer"
    refused = CellSummary("wait", "futex_mutex", 16, {"threads": 16}, failure="unavailable: no")
    sentences = said(broken, crashed, hung, refused, a_cell("idle", "tas_spinlock", LONG))
    assert sentences[0].startswith(
        "Do not use tas_spinlock: BROKEN, failed the checks of mutual exclusion. "
    )
    assert sentences[0].endswith("[wait · tas_spinlock · 16 threads]")
    assert sentences[1].startswith("Do not use std::mutex until the cause is found: crashed")
    assert sentences[2].startswith(
        "Do not rely on the figures of ticket_spinlock: missed its deadline"
    )
    assert not any("waits of" in sentence for sentence in sentences)
    assert "at most" not in sentences[3]
