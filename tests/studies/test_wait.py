# SPDX-License-Identifier: Apache-2.0
"""The study wait: what is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from measured_records import BRIEF, measured, total

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome


OURS = ("--locks", "mutex,ticket_spinlock", "--threads", "2", *BRIEF)


def test_every_operation_has_a_wait(lockyard: Callable[..., Outcome]) -> None:
    for run in measured(lockyard, "wait", *OURS):
        values = run["values"]
        assert total(run["histograms"]["wait"]) == values["operations"] > 0
        assert values["wait_max_ns"] == pytest.approx(
            max(stall["length_ns"] for stall in run["stalls"])
        )
        assert all(0 <= stall["thread"] < 2 for stall in run["stalls"])
        waits, to_tick = (
            dict(run["histograms"].get(name, {"counts": []})["counts"])
            for name in ("wait", "wait_to_tick")
        )
        assert all(count <= waits[index] for index, count in to_tick.items())


def test_a_lock_that_admits_everybody_is_caught(lockyard: Callable[..., Outcome]) -> None:
    found = lockyard("measure", "wait", "--locks", "broken_lock", "--threads", "2", *BRIEF)
    assert found.returncode == 4
    assert "BROKEN" in found.stdout


def test_the_published_loop_has_its_number_of_operations(
    lockyard: Callable[..., Outcome],
) -> None:
    some = ("--as-published", "--locks", "std::mutex", "--threads", "2", "--runs", "2")
    for run in measured(lockyard, "wait", *some, "--for", "20s"):
        assert run["conditions"]["loops"] == 16384
        assert run["values"]["operations_per_thread"] == [16384, 16384]
        assert run["values"]["complete"]
