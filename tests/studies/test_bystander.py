# SPDX-License-Identifier: Apache-2.0
"""The study of a bystander: what a record of it holds, and how it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_records import a_record, shown, summed_up
from measured_records import runs_of, total
from rich.console import Console

from lockyard.report.tables import tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

KINDS = ("alone", "busy", "banging")


def measured(lockyard: Callable[..., Outcome], *arguments: str) -> list[dict[str, Any]]:
    return runs_of(lockyard("measure", "bystander", *arguments, "--runs", "1", "--json"), (0, 4))


def test_multiplies_as_often_with_the_lock_as_alone(lockyard: Callable[..., Outcome]) -> None:
    small = ("--set", "matrix_rows=16", "--threads", "3", "--loops", "10")
    for run in measured(lockyard, "--locks", "ours,null_lock", *small):
        values, lock = run["values"], run["lock"]
        assert set(run["checks"].values()) in ({True}, {True, None}), lock
        assert values["complete"] is True, lock
        assert values["multiplications"] == 3 * 2 * 10
        assert [total(run["histograms"][kind]) for kind in KINDS] == [20, 20, 20]
        for kind in KINDS:
            assert values[f"{kind}_ns"] > 0
            assert values[f"{kind}_cpu_ns"] > 0
        ratio = values["banging_ns"] / values["alone_ns"]
        assert values["slowdown"] == pytest.approx(ratio)


def test_ends_by_time_and_the_others_bang(lockyard: Callable[..., Outcome]) -> None:
    timed = ("--set", "matrix_rows=16", "--threads", "2", "--for", "300ms")
    (run,) = measured(lockyard, "--locks", "mutex", *timed)
    values = run["values"]
    assert values["operations"] > 0
    assert values["operations_per_s"] > 0
    assert 0 < values["cpu_share"] < 1.5
    assert values["multiplications"] >= len(KINDS) * 2


def test_alone_no_thread_contends(lockyard: Callable[..., Outcome]) -> None:
    (run,) = measured(lockyard, "--locks", "mutex", "--threads", "1", "--loops", "2")
    assert run["values"]["operations"] == 0
    assert run["values"]["cpu_share"] is None
    assert run["values"]["multiplications"] == 12


def test_a_lock_that_admits_everybody_is_caught(lockyard: Callable[..., Outcome]) -> None:
    arguments = ("--locks", "broken_lock", "--threads", "2", "--loops", "2")
    (run,) = measured(lockyard, *arguments)
    assert run["checks"]["refused_while_held"] is False


@pytest.mark.parametrize(
    ("value", "message"),
    [("1", "from 2 to 512 rows"), ("513", "from 2 to 512"), ("10.5", "must be a whole number")],
)
def test_refuses_matrices_that_are_none(
    lockyard: Callable[..., Outcome], value: str, message: str
) -> None:
    refused = lockyard("measure", "bystander", "--set", f"matrix_rows={value}", "--for", "60ms")
    assert refused.returncode == 2
    assert message in refused.stderr
    assert "records:" not in refused.stdout


def fake_records_of(lock: str, threads: int) -> list[dict[str, Any]]:
    """Blocks that differ more than phases do: only the pairs within a run show the ratio."""
    values = [
        {
            "alone_ns": scale,
            "busy_ns": scale * 1.1,
            "banging_ns": scale * 4,
            "alone_cpu_ns": scale,
            "banging_cpu_ns": scale * 2,
            "slowdown": 4.0,
            "operations_per_s": 2e6,
            "cpu_share": 1.0,
        }
        for scale in range(100, 1000, 100)
    ]
    return [
        a_record("bystander", lock, block, values=each, threads=threads, parameters={"rows": 2})
        for block, each in enumerate(values)
    ]


@pytest.mark.parametrize(("threads", "published"), [(16, "10"), (2, "10 (16 threads)")])
def test_shows_the_ratios_of_each_run_next_to_the_published_one(
    threads: int, published: str
) -> None:
    records = [*fake_records_of("tas_spinlock", threads), *fake_records_of("futex_mutex", threads)]
    text = shown(*tables(summed_up(*records), None, Console(width=300)))
    (spinlock,) = [line for line in text.splitlines() if line.startswith("tas_spinlock")]
    start = f"tas_spinlock 9 4.00 [4.00, 4.00] {published} 1.10 [1.10, 1.10] 2.00 [2.00, 2.00]"
    assert spinlock.startswith(start)
    (mutex,) = [line for line in text.splitlines() if line.startswith("futex_mutex")]
    assert mutex.startswith("futex_mutex 9 4.00 [4.00, 4.00] – 1.10")
