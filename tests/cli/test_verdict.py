# SPDX-License-Identifier: Apache-2.0
"""The sentences of a verdict, from made-up runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lockyard.catalog import Catalog, Lock
from lockyard.report.summary import CellSummary
from lockyard.report.verdict import verdict
from lockyard.report.verdict.published import published_table

if TYPE_CHECKING:
    from collections.abc import Sequence

MS = 1e6


def a_lock(name: str, kind: str, seed_name: str = "", waiting: str = "spin") -> Lock:
    return Lock(name, seed_name, kind, "", waiting, "", 1, False, False, False, False, True, "")


CATALOG = Catalog(
    "0",
    (
        a_lock("tas_spinlock", "ours", "terrible_spinlock"),
        a_lock("ticket_spinlock", "ours", "ticket_spinlock"),
        a_lock("futex_mutex", "ours", waiting="park"),
        a_lock("std::mutex", "peer", "std::mutex", "park"),
        a_lock("null_lock", "control"),
    ),
    (),
    (),
)
KEYS = {
    ("wait", False): "wait_max_ns",
    ("wait", True): "wait_max_ns",
    ("idle", False): "idle_wanted_max_ns",
    ("idle", True): "idle_published_max_ns",
    ("uncontended", False): "pair_after_threads_ns",
}


def a_run(block: int, values: dict[str, Any], holds: bool = True) -> dict[str, Any]:
    return {
        "block": block,
        "values": {"complete": True, "run_ns": 50 * MS, **values},
        "checks": {"counter": holds},
        "histograms": {},
    }


def a_cell(
    study: str,
    lock: str,
    values: Sequence[float],
    threads: int = 16,
    **conditions: Any,
) -> CellSummary:
    """One whose runs have these values of the study's key."""
    published = conditions.setdefault("as_published", False)
    key = KEYS[study, published]
    runs = [a_run(block, {key: value}) for block, value in enumerate(values)]
    return CellSummary(study, lock, threads, {"threads": threads, **conditions}, runs)


def noise(longest_ns: float, runs: int = 1, **conditions: Any) -> CellSummary:
    """Two processors watched for a second each, the second one lossless."""
    core = {
        "watched_ns": 1000 * MS,
        "lost_ns": 30 * MS,
        "longest_ns": longest_ns,
        "steal_ns": 10 * MS,
        "run_delay_ns": 20 * MS,
    }
    still = {**core, "lost_ns": 0, "longest_ns": 0, "steal_ns": None, "run_delay_ns": 0}
    values = {"longest_ns": longest_ns, "cores": [{"cpu": 0, **core}, {"cpu": 1, **still}]}
    made = [a_run(block, values) for block in range(runs)]
    return CellSummary("noise", "", 2, {"threads": 2, **conditions}, made)


def said(*cells: CellSummary, processors: int | None = 2) -> list[str]:
    return [str(sentence) for sentence in verdict(cells, CATALOG, processors)]


def the_one(sentences: list[str], part: str) -> str:
    (found,) = [sentence for sentence in sentences if part in sentence]
    return found


LONG = [200 * MS, 150 * MS, 150 * MS, 90 * MS, 150 * MS, 150 * MS]
SHORT = [2 * MS] * 6


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
    assert "steal not known" in said(cell)[0]


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


def test_carries_the_published_table() -> None:
    row = published_table()["linux-cfs", "wait", "terrible_spinlock"]
    assert row.mean_run_ns == 825 * MS
    assert row.longest_ns == (103.5 * MS, 90.6 * MS, 77.1 * MS, 75.7 * MS)


def published(values: dict[str, Sequence[float]], **conditions: Any) -> list[CellSummary]:
    conditions.setdefault("as_published", True)
    return [
        a_cell("wait", lock, [ms * MS for ms in each], **conditions)
        for lock, each in values.items()
    ]


def test_compares_with_the_published_table_as_published() -> None:
    sentence = the_one(
        said(
            *published({"tas_spinlock": [2] * 6, "ticket_spinlock": [20] * 6, "futex_mutex": [1]})
        ),
        "published wait table",
    )
    assert sentence == (
        "Against the published wait table (Ryzen 7 1700, 16 threads on 16 processors, Linux CFS, "
        "here 2 processors): tas_spinlock stalls longest there, ticket_spinlock here; of 1 pair "
        "that the table orders, 0 stand the same way here, 1 the opposite way, 0 show no "
        "difference; opposite: tas_spinlock and ticket_spinlock, of which the first stalls longer "
        "there and the second here; of another order of magnitude: tas_spinlock 0.019 times as "
        "long here, ticket_spinlock 13 times as long here; longest waits there → here: "
        "tas_spinlock (terrible_spinlock) 104 ms → 2.00 ms (mean run 825 ms → 50.0 ms), "
        "ticket_spinlock 1.50 ms → 20.0 ms (mean run 93.0 ms → 50.0 ms); the same loop; 6 runs "
        "here, 100 there. [wait as published · tas_spinlock, ticket_spinlock · 16 threads]"
    )


def test_compares_another_loop_by_order_and_magnitude_only() -> None:
    cells = published({"tas_spinlock": [90] * 6, "std::mutex": [3] * 6}, as_published=False)
    sentence = the_one(said(*cells, processors=16), "published wait table")
    assert "tas_spinlock stalls longest there and here" in sentence
    assert "1 stand the same way here, 0 the opposite way" in sentence
    assert "all within a factor of 10" in sentence
    assert "other loop: time-bounded runs" in sentence
    assert "mean run" not in sentence
    assert "processors)" not in sentence


def test_orders_no_locks_by_few_runs() -> None:
    cells = published({"tas_spinlock": [90] * 5, "std::mutex": [3] * 5})
    sentence = the_one(said(*cells), "published wait table")
    assert "stalls longest" not in sentence
    assert "1 show no difference" in sentence


def test_does_not_order_what_the_table_does_not() -> None:
    cells = published({"ticket_spinlock": [90] * 6, "std::mutex": [3] * 6})
    assert published_table()["linux-cfs", "wait", "std::mutex"].longest_ns[3] < 1.5 * MS
    assert "that the table orders" not in the_one(said(*cells), "published wait table")


def test_gives_no_mean_of_runs_that_were_cut_short() -> None:
    (cell,) = published({"tas_spinlock": [90] * 6})
    cell.runs[0]["values"]["complete"] = False
    sentence = the_one(said(cell), "published wait table")
    assert "(runs cut short)" in sentence
    assert "mean run" not in sentence


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(None, "Linux CFS"), ("other", "Linux CFS"), ("rr", "Linux SCHED_RR"), ("fifo", "")],
)
def test_compares_under_the_same_scheduler_only(policy: str | None, expected: str) -> None:
    sentences = said(*published({"tas_spinlock": [90] * 6}, policy=policy))
    compared = [sentence for sentence in sentences if "published wait table" in sentence]
    assert [expected in sentence for sentence in compared] == ([True] if expected else [])


def test_compares_sixteen_threads_only() -> None:
    assert not any("table" in each for each in said(*published({"tas_spinlock": [9]}, threads=8)))


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
