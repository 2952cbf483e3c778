# SPDX-License-Identifier: Apache-2.0
"""`lockyard predict` measures other locks with a program's holds and gaps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from contended_programs import compiled

from lockyard.field_kit import lengths
from lockyard.field_kit.contention import Buckets, Contention, Lengths, Process, Row
from lockyard.field_kit.prediction import PLAIN, Placed, Prediction
from lockyard.field_kit.profile_files import json_lines
from lockyard.stats import Ratio

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    Lockyard = Callable[..., Outcome]

HOLD_NS, GAP_NS, THREADS, ELAPSED_NS = 20_000, 60_000, 4, 1e9
TURNS = 40_000


def made(name: str = "account", **changes: Any) -> Row:
    """Returns a lock with known lengths."""
    row = Row(
        pid=1, lock=name, kind="mutex", objects=1, threads=THREADS, acquisitions=TURNS, waits=1000,
        wait_ns=1e9, p50_ns=1e6, p90_ns=1e6, p99_ns=1e6, longest_ns=1e6, others_first=0,
        failed_tries=0, wakes=0, sampled_holds=100, sampled_hold_ns=100 * HOLD_NS,
        longest_hold_ns=HOLD_NS, longest_hold_at="", wait=Buckets("ns", 2, 1.0, []),
        holds=Lengths(100, [HOLD_NS] * 100, []), gaps=Lengths(100, [GAP_NS] * 100, []),
    )  # fmt: skip
    for key, value in changes.items():
        setattr(row, key, value)
    return row


@pytest.fixture
def profile(tmp_path: Path) -> Callable[..., str]:
    """Writes the profile of a program that has these locks."""

    def write(*rows: Row) -> str:
        found = Contention(Process(1, "/bin/server", 0, ELAPSED_NS, THREADS, 0, 2, 0.0))
        for row in rows:
            found.add(row)
        path = tmp_path / "profile.jsonl"
        path.write_bytes(json_lines([found]))
        return str(path)

    return write


def test_a_lock_is_placed_by_its_holds_and_gaps(
    lockyard: Lockyard, profile: Callable[..., str]
) -> None:
    shown = lockyard("predict", "--from", profile(made()), "--mutex", "ttas_spinlock", "--json")
    assert shown.returncode == 0, shown.stderr
    (placed,) = json.loads(shown.stdout)["placed"]
    assert (placed["hold_ns"], placed["gap_ns"], placed["wanted"]) == (HOLD_NS, GAP_NS, 1.0)
    assert placed["program_per_s"] == TURNS
    # Two processors make no more than 25,000 turns of 80 us each; many machines have more.
    assert 0 < placed["model_per_s"] <= 1e9 / HOLD_NS * 1.2
    assert placed["ratios"].keys() == {"ttas_spinlock"}


def test_recorded_lengths_are_holds_and_then_gaps() -> None:
    text = lengths.csv(made(holds=Lengths(60, [7] * 60, []), gaps=Lengths(40, [500] * 40, [])))
    head, *rows = text.decode().splitlines()
    assert head == "hold_ns,gap_ns"
    assert rows == ["7,500"] * 60


def test_disturbed_lengths_count_only_where_they_are_usual() -> None:
    assert set(lengths.used(Lengths(101, [7] * 100, [9000]))) == {7}
    assert set(lengths.used(Lengths(110, [7] * 100, [9000] * 10))) == {7, 9000}
    assert set(lengths.used(Lengths(1, [10**12], []))) == {lengths.LONGEST_NS}


def test_several_locks_multiply() -> None:
    placed = [Placed(made(), 1, 1, 1, {PLAIN: rates(10), "mutex": rates(each)}) for each in (20, 5)]
    assert [each.ratio("mutex") for each in placed] == [
        Ratio(2.0, 2.0, 2.0, 7), Ratio(0.5, 0.5, 0.5, 7)
    ]  # fmt: skip
    both = Prediction(("mutex",), placed, [], 0.0).ratio("mutex")
    assert both is not None
    assert both.median == pytest.approx(1.0)
    first = Prediction(("mutex",), placed[:1] * 2, [], 0.0).ratio("mutex")
    assert first is not None
    assert [first.median, first.low] == pytest.approx([4.0, 4.0])
    inverse = first.inverse
    assert [inverse.median, inverse.high] == pytest.approx([0.25, 0.25])


def rates(per_s: float) -> dict[int, float]:
    return dict.fromkeys(range(7), per_s)


def test_a_lock_with_few_samples_is_named(lockyard: Lockyard, profile: Callable[..., str]) -> None:
    few = made("journal", holds=Lengths(3, [1, 2, 3], []))
    shown = lockyard("predict", "--from", profile(made(), few), "--mutex", "mutex")
    assert "journal: too few samples, so the prediction leaves it out" in shown.stdout
    alone = lockyard("predict", "--from", profile(few), "--mutex", "mutex")
    assert (alone.returncode, "nothing can be predicted" in alone.stderr) == (5, True)


def test_nothing_is_predicted_without_contention(
    lockyard: Lockyard, profile: Callable[..., str]
) -> None:
    shown = lockyard("predict", "--from", profile(made(wait_ns=1e6)))
    assert "another lock would change nothing" in shown.stderr
    assert shown.returncode == 5


def test_a_prediction_is_verified(lockyard: Lockyard, tmp_path: Path) -> None:
    program = compiled(tmp_path / "contended-threads")
    shown = lockyard(
        "predict", "--verify", "--mutex", "futex_mutex", "--", str(program), "regular", "3000"
    )
    assert shown.returncode == 0, shown.stderr
    head, row = shown.stdout.split("\n\n")[-2].splitlines()
    assert head.split()[:4] == ["lock", "figure", "predicted", "measured"]
    assert row.startswith("futex_mutex  run time")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "none was given"),
        (("--rounds", "3", "--", "true"), "fewer than 7 rounds"),
        (("--mutex", "mcs_spinlock", "--", "true"), "cannot replace a pthread mutex"),
        (("--from", "/etc/hostname"), "the file has no profile"),
        (("--", "false"), "ended with status 1 under profile"),
    ],
)
def test_bad_requests_are_refused(lockyard: Lockyard, arguments: tuple[str, ...], why: str) -> None:
    shown = lockyard("predict", *arguments)
    assert why in shown.stderr
    assert shown.returncode in (2, 4)
    assert shown.stdout == ""
