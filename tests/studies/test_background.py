# SPDX-License-Identifier: Apache-2.0
"""The study of background work: what a record of it holds, and how it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_records import a_record, shown, summed_up
from measured_records import runs_of
from rich.console import Console

from lockyard.report.tables import tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

LOCKS = "mutex,fair_mutex,pi_mutex,tas_spinlock,ticket_spinlock,queued_spinlock"
LENGTHS = ("--set", "hold_ns=2000", "--set", "gap_ns=2000")


def measured(lockyard: Callable[..., Outcome], *arguments: str) -> list[dict[str, Any]]:
    return runs_of(
        lockyard("measure", "background", *arguments, *LENGTHS, "--runs", "1", "--json"), (0, 4)
    )


def test_every_phase_has_its_loops_whatever_the_lock(lockyard: Callable[..., Outcome]) -> None:
    loops = 40
    arguments = ("--threads", "3", "--loops", str(loops), "--set", "background_nice=0,20")
    for run in measured(lockyard, "--locks", LOCKS, *arguments):
        values, lock = run["values"], run["lock"]
        assert set(run["checks"].values()) == {True}, lock
        assert values["complete"] is True, lock
        # Two phases alone and two with the work; the first thread that is done ends each phase for
        # all.
        assert 4 * loops <= values["operations"] <= 4 * 3 * loops, lock
        assert values["operations_per_s"] > 0
        assert values["beside_operations_per_s"] > 0
        assert values["units_per_s"] > 0
        assert values["beside_units_per_s"] >= 0
        kept = values["beside_operations_per_s"] / values["operations_per_s"]
        assert values["foreground_kept"] == pytest.approx(kept)
        done = values["beside_units_per_s"] / values["units_per_s"]
        assert values["background_share"] == pytest.approx(done)


def test_ends_by_time(lockyard: Callable[..., Outcome]) -> None:
    arguments = ("--threads", "2", "--for", "600ms", "--set", "background_nice=0")
    (run,) = measured(lockyard, "--locks", "mutex", *arguments)
    assert run["values"]["operations"] > 0
    assert run["values"]["background_cpu_share"] > 0
    assert run["values"]["background_share"] > 0  # no lower than the foreground


def test_a_lock_that_admits_everybody_is_caught(lockyard: Callable[..., Outcome]) -> None:
    arguments = ("--locks", "broken_lock", "--threads", "2", "--loops", "20")
    for run in measured(lockyard, *arguments):
        assert run["checks"]["refused_while_held"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "background_nice=21"), "from 0 to 20"),
        (("--set", "background_nice=1.5"), "must be a whole number"),
        (("--hold", "1us"), "mean nothing to studies"),
    ],
)
def test_refuses_what_is_no_low_priority(
    lockyard: Callable[..., Outcome], arguments: tuple[str, ...], message: str
) -> None:
    refused = lockyard("measure", "background", "--locks", "mutex", "--for", "60ms", *arguments)
    assert refused.returncode == 2
    assert message in refused.stderr


def test_shows_what_was_done_and_what_it_cost() -> None:
    records = [
        a_record(
            "background",
            "futex_mutex",
            block,
            values={
                "cpu_share": 0.75,
                "operations_per_s": rate,
                "beside_operations_per_s": rate * 0.9,
                "units_per_s": rate * 50,
                "beside_units_per_s": rate * 10,
                "background_share": 0.2,
                "background_cpu_share": 0.2,
            },
            parameters={"background_nice": 19.0},
        )
        for block, rate in enumerate(range(1000, 10000, 1000))
    ]
    text = shown(*tables(summed_up(*records), None, Console(width=300)))
    assert "background nice 19" in text
    (row,) = [line for line in text.splitlines() if line.startswith("futex_mutex")]
    expected = "futex_mutex 9 25.0 % 0.20 [0.20, 0.20] 5.00 k/s 4.50 k/s 0.90 [0.90, 0.90] 20.0 %"
    assert row == expected
