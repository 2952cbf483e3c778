# SPDX-License-Identifier: Apache-2.0
"""The comparison of two files: differences, equality, and how often the result is wrong."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from fake_files import a_file, an_environment, measured_waits, rates
from fake_records import CATALOG, a_record

from lockyard.compare import gates
from lockyard.compare.comparison import (
    Comparison,
    Finding,
    Outcome,
    Verdict,
    blocks_needed,
    compare,
)
from lockyard.compare.pairing import Chosen
from lockyard.compare.reading import read_two
from lockyard.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

COMPARISONS = 200
MOST_ALARMS = 16


def compared(
    tmp_path: Path,
    a: list[dict[str, Any]],
    b: list[dict[str, Any]],
    *fail_if: str,
    chosen: Chosen | None = None,
) -> Comparison:
    asked = gates.parse(fail_if, CATALOG)
    paths = a_file(tmp_path / "a.jsonl", a), a_file(tmp_path / "b.jsonl", b)
    return compare(*read_two(paths, asked, CATALOG), chosen or Chosen(), asked)


def the_test(found: Comparison) -> Finding:
    (test,) = found.tests
    return test


def test_of_200_comparisons_of_like_with_like_few_show_anything(tmp_path: Path) -> None:
    alarms = failed = 0
    for seed in range(COMPARISONS):
        chance = random.Random(seed)
        a, b = measured_waits(chance, 20), measured_waits(chance, 20)
        found = compared(tmp_path, a, b, "wait.rate < -0%", "p99.9 > +0%")
        assert (len(found.tests), len(found.judged)) == (18, 12)
        alarms += bool(found.different)
        failed += any(test.outcome is Outcome.FAILED for test in found.judged)
    assert alarms <= MOST_ALARMS
    assert failed <= MOST_ALARMS


@pytest.mark.parametrize("seed", range(5))
def test_a_slow_down_by_a_tenth_is_found(tmp_path: Path, seed: int) -> None:
    """Finds a difference in one lock of three, among noise like that in real runs."""
    chance = random.Random(seed)
    slow = "futex_mutex"
    a = measured_waits(chance, 60, sigma=0.02)
    b = measured_waits(chance, 60, sigma=0.02)
    slower = measured_waits(chance, 60, slower=1.1, sigma=0.02)
    b = [s if s["lock"] == slow else r for r, s in zip(b, slower, strict=True)]
    found = compared(tmp_path, a, b, "wait.rate < -2%")
    shown = [test for test in found.different if test.figure.name == "rate"]
    assert {(test.pair.lock, test.verdict) for test in shown} == {(slow, Verdict.WORSE)}
    assert all(test.ratio.low is not None and test.ratio.low < 1 / 1.1 for test in shown)
    failed = [test.pair.lock for test in found.judged if test.outcome is Outcome.FAILED]
    assert set(failed) == {slow}


def test_the_direction_of_a_figure_says_what_is_better(tmp_path: Path) -> None:
    a, more = rates(*[100.0] * 12), rates(*[150.0] * 12)
    assert the_test(compared(tmp_path, a, more)).verdict is Verdict.BETTER
    assert the_test(compared(tmp_path, more, a)).verdict is Verdict.WORSE
    assert the_test(compared(tmp_path, a, a)).verdict is Verdict.NO_DIFFERENCE


def test_pairs_are_of_one_block(tmp_path: Path) -> None:
    """What slows a block down in both files cancels out."""
    drifting = [100.0 * (1 + block) for block in range(12)]
    found = compared(tmp_path, rates(*drifting), rates(*[value * 1.02 for value in drifting]))
    assert the_test(found).ratio.low == pytest.approx(1.02)
    assert the_test(found).by_block


def test_files_that_share_no_block_are_paired_in_order(tmp_path: Path) -> None:
    a, b = rates(*[1.0, 2.0, 4.0] * 4), rates(*[2.0, 4.0, 8.0] * 4)
    later = [{**record, "block": record["block"] + 100} for record in b]
    test = the_test(compared(tmp_path, a, later))
    assert (test.ratio.median, test.ratio.blocks, test.by_block) == (2.0, 12, False)


def test_five_blocks_show_nothing_however_far_they_are_apart(tmp_path: Path) -> None:
    test = the_test(compared(tmp_path, rates(*[1.0] * 5), rates(*[9.0] * 5)))
    assert test.verdict is Verdict.TOO_FEW_BLOCKS
    assert test.ratio.low is None


def test_the_more_is_compared_the_more_blocks_are_needed(tmp_path: Path) -> None:
    def of_all(locks: int, value: float) -> list[dict[str, Any]]:
        return [r for i in range(locks) for r in rates(*[value] * 6, lock=f"lock{i}", nice=i)]

    alone = compared(tmp_path, of_all(1, 1.0), of_all(1, 2.0))
    assert [test.verdict for test in alone.tests] == [Verdict.BETTER]
    many = compared(tmp_path, of_all(20, 1.0), of_all(20, 2.0))
    assert {test.verdict for test in many.tests} == {Verdict.TOO_FEW_BLOCKS}
    chosen = Chosen(locks=("lock3", "lock3"))
    few = compared(tmp_path, of_all(20, 1.0), of_all(20, 2.0), chosen=chosen)
    assert [test.verdict for test in few.tests] == [Verdict.BETTER]


def test_blocks_are_needed_as_the_page_says() -> None:
    needed = {1: 6, 2: 7, 6: 8, 12: 9, 25: 10, 50: 11, 100: 12}
    assert {tests: blocks_needed(tests, sides=2) for tests in needed} == needed


def test_what_has_too_few_blocks_even_alone_costs_the_others_nothing(tmp_path: Path) -> None:
    def records(value: float) -> list[dict[str, Any]]:
        short = [r for i in range(20) for r in rates(value, lock=f"lock{i}", nice=i)]
        return [*rates(*[value] * 6), *short]

    found = compared(tmp_path, records(1.0), records(2.0))
    assert [test.pair.lock for test in found.different] == ["futex_mutex"]


def test_nothing_against_something_counts_on_both_sides_alike(tmp_path: Path) -> None:
    """Left out where only A has nothing, B would seem to have less."""

    def maxima(*values: float) -> list[dict[str, Any]]:
        return [
            a_record("idle", block=block, values={"idle_wanted_max_ns": value})
            for block, value in enumerate(values)
        ]

    one, other = [0.0] * 6 + [5.0] * 6, [5.0] * 6 + [0.0] * 6
    test = the_test(compared(tmp_path, maxima(*one), maxima(*other)))
    assert (test.figure.name, test.p, test.ratio.blocks) == ("longest", 1.0, 12)
    grown = the_test(compared(tmp_path, maxima(*[0.0] * 12), maxima(*[5.0] * 12)))
    assert grown.verdict is Verdict.WORSE


def test_two_locks_of_one_file_are_paired_by_its_blocks(tmp_path: Path) -> None:
    slow, fast = rates(*[10.0] * 8, lock="std::mutex"), rates(*[20.0] * 8, lock="mutex", cell=1)
    a = [*slow, *fast]
    found = compared(tmp_path, a, a, chosen=Chosen(locks=("std::mutex", "mutex")))
    test = the_test(found)
    assert (test.pair.lock, test.ratio.median) == ("std::mutex → mutex", 2.0)
    assert test.verdict is Verdict.BETTER


def test_runs_that_fail_are_not_compared_and_leave_their_gates_undecided(tmp_path: Path) -> None:
    good = rates(*[10.0] * 8)
    crashed = {**good[7], "status": "crashed", "reason": "signal 11", "values": {}}
    found = compared(tmp_path, good, [*good[:7], crashed], "throughput.rate < -5%")
    assert not found.tests and not found.judged
    assert [each.reason for each in found.apart] == ["after 7 runs in B crashed: signal 11"]
    assert [each.gate.text for each in found.unjudged] == ["throughput.rate < -5%"]
    broken = [{**record, "checks": {"counter": False}} for record in good]
    found = compared(tmp_path, good, broken, "throughput.rate < -5%")
    assert [each.reason for each in found.apart] == ["BROKEN in B: its checks failed"]
    assert len(found.unjudged) == 1


def test_what_is_unavailable_in_both_files_is_no_question(tmp_path: Path) -> None:
    gone = rates(1.0, lock="tbb::mutex", cell=1)
    gone[0] |= {"status": "unavailable", "reason": "install libtbb-dev", "values": {}}
    records = [*rates(*[10.0] * 8), *gone]
    found = compared(tmp_path, records, records, "rate < -5%")
    assert (len(found.tests), len(found.apart), found.unjudged) == (1, 1, [])


def test_records_without_a_later_condition_are_of_the_same_cell(tmp_path: Path) -> None:
    new = rates(*[10.0] * 6, earlier=None, later={})
    old = [{**record, "conditions": {**record["conditions"]}} for record in new]
    for record in old:
        del record["conditions"]["earlier"], record["conditions"]["later"]
    assert the_test(compared(tmp_path, old, new)).ratio.median == 1.0


def test_a_study_without_a_table_is_compared_by_its_values_with_units(tmp_path: Path) -> None:
    values = {"wake_ns": 4.0, "cores": [1], "run_ns": 1e9, "gap_threshold_ns": 1e3, "ok": True}
    records = [a_record("costs", None, block, values=values) for block in range(6)]
    found = compared(tmp_path, records, records)
    assert [test.figure.name for test in found.tests] == ["wake_ns"]


def test_a_share_of_waiting_is_better_less_and_parallelism_more(tmp_path: Path) -> None:
    def records(parallelism: float, waiting: float) -> list[dict[str, Any]]:
        values = {"parallelism": parallelism, "waiting_share": waiting, "work_ns": 1.0}
        return [a_record("contention", block=block, values=values) for block in range(12)]

    found = compared(tmp_path, records(1.5, 0.25), records(1.4, 0.30))
    shown = {test.figure.name: (test.verdict, test.figure.text(test.b)) for test in found.tests}
    assert shown == {
        "parallelism": (Verdict.WORSE, "1.4"),
        "waiting": (Verdict.WORSE, "30.0 %"),
    }


def test_what_the_clock_cannot_tell_is_no_difference(tmp_path: Path) -> None:
    """Each process finds another rate of the counter, by millionths."""
    found = compared(tmp_path, rates(*[100.0] * 30), rates(*[100.01] * 30), "rate > +0%")
    assert (the_test(found).verdict, the_test(found).p) == (Verdict.NO_DIFFERENCE, 1.0)
    assert [test.outcome for test in found.judged] == [Outcome.PASSED]
    more = compared(tmp_path, rates(*[100.0] * 30), rates(*[100.2] * 30))
    assert the_test(more).verdict is Verdict.BETTER


def test_the_longest_of_runs_of_other_lengths_are_not_compared(tmp_path: Path) -> None:
    def records(**length: Any) -> list[dict[str, Any]]:
        values = {"idle_wanted_max_ns": 5.0, "operations_per_s": 1.0}
        return [a_record("idle", block=block, values=values, **length) for block in range(9)]

    by_time, longer = records(bound="time", duration_s=0.1), records(bound="time", duration_s=0.2)
    found = compared(tmp_path, by_time, longer, "longest > +5%", "rate < -5%")
    assert [test.figure.name for test in found.tests] == ["rate"]
    assert [each.reason for each in found.apart] == [
        "longest, because runs last 100 ms in A and 200 ms in B"
    ]
    assert [each.gate.figure for each in found.unjudged] == ["longest"]
    alike = compared(tmp_path, by_time, records(bound="time", duration_s=0.105))
    assert [test.figure.name for test in alike.tests] == ["rate", "longest"]
    loops = compared(tmp_path, records(bound="loops", loops=10), records(bound="loops", loops=20))
    assert [test.figure.name for test in loops.tests] == ["rate"]


def a_folder(path: Path, sessions: list[list[dict[str, Any]]]) -> Path:
    path.mkdir()
    for place, records in enumerate(sessions):
        started = an_environment(started_unix_s=1000.0 - place)  # the last file is the first
        a_file(path / f"{place}.jsonl", records, started)
    return path


def test_each_file_of_a_folder_is_a_block_in_the_order_of_their_starts(tmp_path: Path) -> None:
    a = a_folder(tmp_path / "a", [rates(place, place, 9.0 * place) for place in (1.0, 2.0, 4.0)])
    b = a_folder(tmp_path / "b", [rates(2.0 * place) for place in (1.0, 2.0, 4.0)])
    measured = read_two((a, b), (), CATALOG)
    found = the_test(compare(*measured, Chosen()))
    assert (found.ratio.median, found.ratio.blocks, found.by_block) == (2.0, 3, True)
    assert [run["figures"]["rate"] for run in measured[0].cells[0].runs] == [4.0, 2.0, 1.0]
    assert (measured[0].runs, measured[0].files) == (9, 3)


def test_the_state_of_the_machine_differs_between_files_and_is_no_difference_of_locks(
    tmp_path: Path,
) -> None:
    """A file with another shows one nearly always, ten files with ten others hardly ever."""
    alone = together = 0
    for seed in range(20):
        chance = random.Random(seed)

        def session(chance: random.Random = chance) -> list[dict[str, Any]]:
            state = chance.lognormvariate(0, 0.3)
            return rates(*[state * chance.lognormvariate(0, 0.02) for _ in range(12)])

        sessions = [session() for _ in range(20)]
        alone += bool(compared(tmp_path, sessions[0], sessions[1]).different)
        a = a_folder(tmp_path / f"a{seed}", sessions[::2])
        b = a_folder(tmp_path / f"b{seed}", sessions[1::2])
        together += bool(compare(*read_two((a, b), (), CATALOG), Chosen()).different)
    assert alone >= 16
    assert together <= 4


def test_a_crash_in_any_file_of_a_folder_counts(tmp_path: Path) -> None:
    crashed = {**rates(1.0)[0], "status": "crashed", "reason": "signal 11", "values": {}}
    a = a_folder(tmp_path / "a", [rates(1.0)] * 6)
    b = a_folder(tmp_path / "b", [*[rates(1.0)] * 5, [crashed]])
    found = compare(*read_two((a, b), (), CATALOG), Chosen())
    assert [each.reason for each in found.apart] == ["after 5 runs in B crashed: signal 11"]
    broken = [{**run, "checks": {"counter": False}} for run in rates(1.0)]
    c = a_folder(tmp_path / "c", [*[rates(1.0)] * 5, broken])
    found = compare(*read_two((a, c), (), CATALOG), Chosen())
    assert [each.reason for each in found.apart] == ["BROKEN in B: its checks failed"]


def test_a_folder_holds_files_of_one_environment(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    whole = a_file(tmp_path / "a.jsonl", rates(1.0))
    with pytest.raises(UsageError, match="is a folder without record files"):
        read_two((whole, empty), (), CATALOG)
    mixed = a_folder(tmp_path / "mixed", [rates(1.0)] * 2)
    a_file(mixed / "1.jsonl", rates(1.0), an_environment(environment="ffff"))
    with pytest.raises(UsageError, match="holds files from 2 environments"):
        read_two((whole, mixed), (), CATALOG)
