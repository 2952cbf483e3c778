# SPDX-License-Identifier: Apache-2.0
"""The study frames: every deadline has an outcome, and a late lock is told from a late wake-up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_records import a_record, shown, summed_up
from fake_verdict import CATALOG
from measured_records import runs_of, total
from rich.console import Console

from lockyard.report.tables import tables
from lockyard.report.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conftest import Outcome

FAULTS = ("missed_by_lock", "missed_by_wake_up", "missed_by_both", "missed_by_work")


def measured(lockyard: Callable[..., Outcome], *arguments: str) -> list[dict[str, Any]]:
    return runs_of(lockyard("measure", "frames", *arguments, "--json"))


def test_every_deadline_is_met_or_has_a_reason(lockyard: Callable[..., Outcome]) -> None:
    runs = measured(
        lockyard,
        *("--locks", "mutex,null_lock", "--threads", "2", "--rate-hz", "500", "--runs", "1"),
        *("--loops", "20", "--locks-per-frame", "3"),
    )
    assert len(runs) == 4
    for run in runs:
        values = run["values"]
        frames = total(run["histograms"]["frame"])
        assert values["frames"] >= 20
        assert values["frames"] == frames + values["missed"]
        assert total(run["histograms"]["wake_late"]) == frames
        assert total(run["histograms"]["wait"]) == 3 * frames
        assert sum(values[fault] for fault in FAULTS) == values["missed"]
        assert (values["overrun_max_ns"] > 0) == (values["missed"] > 0)
        assert values["period_ns"] == 2e6
        exact = True if run["lock"] == "mutex" else None
        assert run["checks"] == {"refused_while_held": exact, "counter": exact}


def test_a_lock_held_for_longer_than_the_period_is_the_reason(
    lockyard: Callable[..., Outcome],
) -> None:
    """The other thread holds a fair lock for ten periods, again and again."""
    (run,) = measured(
        lockyard,
        *("--locks", "ticket_spinlock", "--threads", "2", "--rate-hz", "1000", "--runs", "1"),
        *("--others-hold-ns", "10000000", "--others-gap-ns", "0", "--others", "work"),
        *("--work-percent", "0", "--hold-ns", "0", "--locks-per-frame", "1", "--for", "300ms"),
    )
    values = run["values"]
    assert values["missed"] > 0
    assert values["missed_by_lock"] > values["missed_by_work"]
    assert values["wait_max_ns"] > values["period_ns"]


def test_work_for_longer_than_the_period_is_no_fault_of_the_lock(
    lockyard: Callable[..., Outcome],
) -> None:
    (run,) = measured(
        lockyard,
        *("--locks", "mutex", "--threads", "1", "--rate-hz", "20000", "--runs", "1"),
        *("--hold-ns", "100000", "--locks-per-frame", "1", "--others", "work", "--for", "200ms"),
    )
    assert run["values"]["missed_by_lock"] == 0
    assert run["values"]["missed_by_work"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rate-hz", "0"), "from 1 to 20000"),
        (("--locks-per-frame", "0"), "from 1 to 1000"),
        (("--others", "sleep"), "work"),
    ],
)
def test_refuses_what_is_no_frame(
    lockyard: Callable[..., Outcome], arguments: Sequence[str], message: str
) -> None:
    refused = lockyard("measure", "frames", "--locks", "mutex", *arguments)
    assert refused.returncode == 2
    assert message in refused.stderr


def records(lock: str, missed: Sequence[int]) -> list[dict[str, Any]]:
    """Runs of 10 s at 60 frames a second."""
    return [
        a_record(
            "frames",
            lock,
            block,
            values={
                "complete": True,
                "frames": 600,
                "period_ns": 1e9 / 60,
                "missed": count,
                "missed_per_minute": count * 6.0,
                "missed_by_lock": count,
                "missed_by_wake_up": 0,
                "missed_by_both": 0,
                "missed_by_work": 0,
                "overrun_max_ns": 4e6 * bool(count),
                "jitter_ns": 1e5,
            },
            threads=4,
            parameters={"rate_hz": 60},
        )
        for block, count in enumerate(missed)
    ]


def said(*found: dict[str, Any]) -> str:
    (sentence, *_) = verdict(summed_up(*found), CATALOG, 2)
    return sentence.text


def test_the_verdict_counts_frames() -> None:
    late = records("tas_spinlock", [3, 2, 2, 3, 2, 2])
    never = records("futex_mutex", [0] * 6)
    assert said(*late, *never) == (
        "Do not use tas_spinlock for frames: with it 14 frames a minute late, with futex_mutex "
        "none."
    )
    worse = records("tas_spinlock", [12, 13, 12, 13, 12, 12])
    bad = records("futex_mutex", [10] * 6)
    assert said(*worse, *bad) == (
        "futex_mutex is better for frames: with it 60 a minute late, with tas_spinlock 74."
    )
    assert said(*late[:3], *never[:3]).startswith("Measure at least 6 runs: 14 frames")
    assert said(*late, *records("futex_mutex", [2, 3, 2, 3, 2, 2])).startswith("No lock stands out")
    assert said(*never).startswith("No frame was late, at 60 frames a second")


def test_a_run_at_a_reduced_frequency_is_reported() -> None:
    cool, hot = records("futex_mutex", [0] * 6), records("futex_mutex", [0] * 6)
    for each in cool:
        each["processors"] = {"throttled": 0}
    hot[3]["processors"] = {"throttled": 2}
    assert "throttled" not in str(verdict(summed_up(*cool), CATALOG, 2))
    assert said(*hot) == "Cool the machine and measure again: its processors slowed down in 1 run."


def test_the_table_shows_missed_deadlines_of_a_minute() -> None:
    found = summed_up(*records("futex_mutex", [1, 2, 0, 0, 0, 0]))
    text = shown(*tables(found, None, Console(width=300)))
    row = next(line for line in text.splitlines() if line.startswith("futex_mutex"))
    assert row.split()[:5] == ["futex_mutex", "6", "3", "3", "0"]


def test_every_fault_has_a_column_of_its_own() -> None:
    found = records("futex_mutex", [20] * 6)
    for record in found:
        record["values"] |= {
            "missed_by_lock": 1,
            "missed_by_wake_up": 2,
            "missed_by_both": 4,
            "missed_by_work": 13,
            "overrun_max_ns": 5e6,
            "wake_late_max_ns": 3e6,
        }
    found[0]["values"]["missed_by_lock"] = 0
    text = shown(*tables(summed_up(*found), None, Console(width=300)))
    row = next(line for line in text.splitlines() if line.startswith("futex_mutex"))
    assert row.split()[2:9] == ["120", "5", "12", "24", "78", "5.00", "ms"]
    found[1:] = [{**each, "values": {**each["values"], "missed": 0}} for each in found[1:]]
    found[0]["values"]["missed"] = 1
    text = shown(*tables(summed_up(*found), None, Console(width=300)))
    assert next(x for x in text.splitlines() if x.startswith("futex_mutex")).split()[2] == "1"
    found += records("futex_mutex", [0] * 6)
    for block, each in enumerate(found):
        each["block"] = block
    text = shown(*tables(summed_up(*found), None, Console(width=300)))
    assert next(x for x in text.splitlines() if x.startswith("futex_mutex")).split()[2] == "0.5"
