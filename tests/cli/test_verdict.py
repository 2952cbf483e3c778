# SPDX-License-Identifier: Apache-2.0
"""The sentences of a verdict that advise, and those on the machine and on what is broken."""

from __future__ import annotations

import pytest
from made_up_verdict import LONG, MS, SHORT, a_cell, noise, said, the_one

from lockyard.report.summary import CellSummary


def test_says_nothing_about_nothing() -> None:
    assert said() == []
    assert said(a_cell("wait", "null_lock", LONG)) == []


def test_advises_against_the_lock_with_the_worst_stall() -> None:
    first = said(a_cell("wait", "tas_spinlock", LONG), a_cell("wait", "ticket_spinlock", SHORT))[0]
    assert first == (
        "With 16 threads on 2 processors (oversubscribed), do not use tas_spinlock: a thread "
        "waited up to 200 ms for tas_spinlock (over half of that in 5 of 6 runs); in 6 runs no "
        "thread waited longer than 2.00 ms for ticket_spinlock. "
        "[wait · tas_spinlock, ticket_spinlock · 16 threads]"
    )


def test_names_who_is_as_bad_and_the_best_of_ours() -> None:
    first = said(
        a_cell("wait", "tas_spinlock", LONG),
        a_cell("wait", "ticket_spinlock", [120 * MS] * 6),
        a_cell("wait", "futex_mutex", [90 * MS] * 6),
        a_cell("wait", "std::mutex", SHORT),
    )[0]
    assert "do not use tas_spinlock, nor ticket_spinlock (120 ms): " in first
    assert "2.00 ms for std::mutex, and of ours futex_mutex did best with 90.0 ms." in first


@pytest.mark.parametrize(("shortest", "advised"), [(2.0, True), (75.0, False), (74.9, False)])
def test_advises_only_where_twice_as_bad_is_shown_run_by_run(
    shortest: float, advised: bool
) -> None:
    first = said(
        a_cell("wait", "tas_spinlock", LONG),
        a_cell("wait", "ticket_spinlock", [shortest * MS] * 6),
    )[0]
    assert ("do not use" in first) is advised
    assert ("run by run the one is not shown to be 2 times as bad" in first) is not advised


def test_the_bound_of_twice_as_bad_is_exclusive() -> None:
    def advised(worst_ns: float) -> bool:
        worst = a_cell("wait", "tas_spinlock", [worst_ns] * 6)
        return "do not use" in said(worst, a_cell("wait", "std::mutex", SHORT))[0]

    assert not advised(4 * MS)
    assert advised(4.01 * MS)


def test_gives_no_advice_from_few_runs() -> None:
    first = said(
        a_cell("wait", "tas_spinlock", LONG[:5]), a_cell("wait", "ticket_spinlock", SHORT[:5])
    )[0]
    assert "do not use" not in first
    assert "5 runs are too few to tell the two apart" in first


def test_prefers_a_lock_of_enough_runs_as_the_short_one() -> None:
    first = said(
        a_cell("wait", "tas_spinlock", LONG),
        a_cell("wait", "ticket_spinlock", SHORT[:5]),
        a_cell("wait", "std::mutex", [3 * MS] * 6),
    )[0]
    assert "no thread waited longer than 3.00 ms for std::mutex" in first


def test_compares_maxima_of_equally_many_runs() -> None:
    first = said(
        a_cell("wait", "tas_spinlock", LONG),
        a_cell("wait", "ticket_spinlock", [1 * MS] * 6 + [9 * MS] * 6),
        a_cell("wait", "std::mutex", SHORT),
    )[0]
    assert "in 12 runs no thread waited longer than 9.00 ms for ticket_spinlock" in first


def test_says_little_about_one_lock() -> None:
    sentences = said(a_cell("wait", "futex_mutex", [4 * MS], threads=2))
    assert sentences == [
        "With 2 threads on 2 processors, a thread waited up to 4.00 ms for futex_mutex "
        "(only 1 run). [wait · futex_mutex · 2 threads]",
        "What the machine itself takes was not measured, so how much of these stalls is the "
        "lock's doing is open.",
    ]


def test_does_not_blame_a_lock_that_nobody_else_wanted() -> None:
    cells = [a_cell("wait", name, LONG, threads=1) for name in ("tas_spinlock", "std::mutex")]
    assert said(a_cell("idle", "tas_spinlock", [0] * 6, threads=1)) == []
    first = said(*cells)[0]
    assert first.startswith("With 1 thread on 2 processors, nobody else wanting the lock, a thread")
    assert "do not use" not in first


def test_uses_the_largest_team_and_the_honest_form() -> None:
    sentences = said(
        a_cell("wait", "tas_spinlock", [900 * MS] * 6, threads=8),
        a_cell("wait", "tas_spinlock", [800 * MS] * 6, as_published=True),
        a_cell("wait", "tas_spinlock", LONG),
    )
    assert sum("a thread waited" in sentence for sentence in sentences) == 1
    assert "200 ms" in sentences[0]


def test_has_the_worst_first_and_each_study_once_before_a_second() -> None:
    sentences = said(
        *(
            a_cell("wait", "futex_mutex", [ms * MS] * 6, policy=policy)
            for ms, policy in ((9, "other"), (8, "fifo"), (7, "rr"))
        ),
        a_cell("idle", "futex_mutex", [5 * MS] * 6, policy="other"),
    )
    assert "9.00 ms for futex_mutex" in sentences[0] and "policy other" in sentences[0]
    assert "8.00 ms for futex_mutex" in sentences[1] and "policy fifo" in sentences[1]
    assert "futex_mutex lay idle for up to 5.00 ms although a thread wanted it" in sentences[2]
    assert not any("7.00 ms" in sentence for sentence in sentences)


def test_says_so_when_no_lock_lay_idle() -> None:
    first = said(a_cell("idle", "tas_spinlock", [0] * 6), a_cell("idle", "std::mutex", [0] * 6))[0]
    assert "no lock lay idle" in first


def test_a_lock_that_never_lay_idle_is_shorter_than_one_that_did() -> None:
    first = said(a_cell("idle", "tas_spinlock", LONG), a_cell("idle", "std::mutex", [0] * 6))[0]
    assert "do not use tas_spinlock" in first


def test_names_the_conditions_that_vary_and_compares_nothing_across_them() -> None:
    sentences = said(
        a_cell("wait", "tas_spinlock", LONG, policy="other", load=0),
        a_cell("wait", "std::mutex", SHORT, policy="fifo", load=0),
    )
    assert not any("do not use" in sentence for sentence in sentences)
    assert "[wait · tas_spinlock · 16 threads · policy other]" in sentences[0]
    assert not any("load" in sentence for sentence in sentences)


def test_names_a_condition_that_nobody_expects() -> None:
    first = said(a_cell("wait", "tas_spinlock", LONG, pinning=[0, 1], slice_ns=3 * MS))[0]
    assert "pinning 0,1" in first
    assert "slice 3.00 ms" in first


def test_names_the_machines_own_share() -> None:
    machine = the_one(said(noise(30 * MS, runs=2)), "The machine itself")
    assert machine == (
        "The machine itself took 1.5 % of the time, of 2.00 s watched on each of 2 processors: "
        "longest gap 30.0 ms; steal 1.0 %; waiting behind other processes 1.0 %; a stall of up to "
        "about 30.0 ms needs no lock to explain it. [noise · 2 processors]"
    )


def test_says_what_of_the_machine_is_not_known() -> None:
    cell = noise(30 * MS)
    for core in cell.runs[0]["values"]["cores"]:
        core["steal_ns"] = None
    assert "steal unavailable (the kernel does not report it)" in said(cell)[0]


def starved(cell: CellSummary, *cpus: int) -> CellSummary:
    """The cell, in which the watchers of these processors ran for 23 ns of the second asked."""
    for run in cell.runs:
        run["conditions"] = {"duration_s": 1.0}
        for cpu in cpus:
            core = run["values"]["cores"][cpu]
            core |= {"watched_ns": 23.0, "lost_ns": 0.0, "longest_ns": 0.0, "run_delay_ns": 24 * MS}
    longest_ns = max(core["longest_ns"] for core in cell.runs[0]["values"]["cores"])
    cell.runs[0]["values"]["longest_ns"] = longest_ns
    return cell


def test_leaves_out_a_processor_whose_watcher_hardly_ran() -> None:
    machine = the_one(said(starved(noise(30 * MS), 1)), "The machine itself")
    assert machine.startswith(
        "The machine itself took 3.0 % of the time, of 1.00 s watched on 1 of 2 processors "
        "(cpu1 watched 23.0 ns of the 1.00 s asked): longest gap 30.0 ms; "
    )


def test_the_share_is_of_the_processors_that_were_watched_long_enough() -> None:
    cell = starved(noise(30 * MS), 1)
    cell.runs[0]["values"]["cores"][1] |= {"watched_ns": 400 * MS, "lost_ns": 400 * MS}
    machine = the_one(said(cell), "The machine itself")
    assert "took 3.0 % of the time, of 1.00 s watched on 1 of 2 processors (cpu1 " in machine


def test_claims_nothing_of_a_machine_that_no_watcher_saw() -> None:
    stalled = a_cell("wait", "tas_spinlock", LONG)
    sentences = said(stalled, starved(noise(30 * MS), 0, 1))
    machine = the_one(sentences, "machine itself")
    assert machine.startswith(
        "What the machine itself takes is unavailable (cpu0, cpu1 watched 23.0 ns of the 1.00 s "
        "asked); "
    )
    assert "needs no lock" not in machine
    assert "waiting behind other processes unavailable (" in machine
    assert "machine" not in the_one(sentences, "tas_spinlock (over")


def test_a_gap_of_a_short_watch_still_explains_a_stall() -> None:
    brief = starved(noise(30 * MS), 0, 1)
    brief.runs[0]["values"]["longest_ns"] = 300 * MS
    stall = the_one(said(a_cell("wait", "tas_spinlock", LONG), brief), "tas_spinlock (over")
    assert "the machine alone explains stalls of this length" in stall


@pytest.mark.parametrize(
    ("gap_ms", "expected"),
    [
        (100, "; the longest is 2 times the machine's longest gap."),
        (199.9, "; the longest is 1 times the machine's longest gap."),
        (200, "; the machine alone explains stalls of this length."),
        (0, "; the machine itself showed no gap."),
    ],
)
def test_sets_a_stall_against_the_machines_longest_gap(gap_ms: float, expected: str) -> None:
    sentences = said(a_cell("wait", "tas_spinlock", LONG), noise(gap_ms * MS))
    assert expected in the_one(sentences, "tas_spinlock (over")
    assert not any("was not measured" in sentence for sentence in sentences)


def test_sets_no_stall_against_a_machine_under_other_conditions() -> None:
    stall = said(a_cell("wait", "tas_spinlock", LONG, policy="fifo"), noise(1, policy="other"))[0]
    assert "longest gap" not in stall
    stall = said(a_cell("wait", "tas_spinlock", LONG, policy="fifo"), noise(1, policy="fifo"))[0]
    assert "longest gap" in stall


def test_opens_with_what_is_broken_and_leaves_its_figures_out() -> None:
    broken = a_cell("wait", "tas_spinlock", LONG)
    broken.runs[3]["checks"]["counter"] = False
    crashed = CellSummary("wait", "std::mutex", 16, {"threads": 16}, trouble="crashed: signal 11")
    hung = a_cell("idle", "ticket_spinlock", SHORT)
    hung.trouble = "overrun: no answer"
    refused = CellSummary("wait", "futex_mutex", 16, {"threads": 16}, trouble="unavailable: no")
    sentences = said(broken, crashed, hung, refused, a_cell("idle", "tas_spinlock", LONG))
    assert sentences[0].startswith("BROKEN: tas_spinlock failed the checks")
    assert sentences[0].endswith("[wait · tas_spinlock · 16 threads]")
    assert sentences[1].startswith("std::mutex crashed")
    assert sentences[2].startswith("ticket_spinlock did not end by its deadline")
    assert not any("a thread waited" in sentence for sentence in sentences)
    assert "never lay idle" not in sentences[3]
