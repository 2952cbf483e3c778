# SPDX-License-Identifier: Apache-2.0
"""The study idle: what is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from measured_records import BRIEF, measured, total

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome


OURS = ("--locks", "mutex,ticket_spinlock", *BRIEF)


def test_only_long_idle_times_count(lockyard: Callable[..., Outcome]) -> None:
    for run in measured(lockyard, "idle", *OURS, "--threads", "2"):
        values, histograms = run["values"], run["histograms"]
        assert values["idle_threshold_ns"] > 0
        is_long = total(histograms["idle_wanted"]) > 0
        assert (values["idle_wanted_max_ns"] > values["idle_threshold_ns"]) == is_long
        assert 0 <= values["idle_wanted_share"] <= 1
        assert 0 <= values["idle_in_release_share"] <= 1
        # The published definition counts every gap, wanted or not.
        assert total(histograms["idle_published"]) <= values["operations"]
        assert total(histograms["idle_wanted"]) <= total(histograms["idle_published"])


def test_a_lock_that_one_thread_uses_is_never_wanted_by_another(
    lockyard: Callable[..., Outcome],
) -> None:
    for run in measured(lockyard, "idle", *OURS, "--threads", "1"):
        assert run["values"]["operations"] > 0
        assert run["values"]["idle_wanted_max_ns"] == 0
        assert total(run["histograms"]["idle_wanted"]) == 0


def test_a_lock_that_admits_everybody_is_caught(lockyard: Callable[..., Outcome]) -> None:
    found = lockyard("measure", "idle", "--locks", "broken_lock", "--threads", "2", *BRIEF)
    assert found.returncode == 4
    assert "BROKEN" in found.stdout


def test_the_published_loop_records_the_published_definition(
    lockyard: Callable[..., Outcome],
) -> None:
    some = ("--as-published", "--locks", "std::mutex", "--threads", "2", "--runs", "1")
    for run in measured(lockyard, "idle", *some, "--for", "20s"):
        assert run["conditions"]["loops"] == 16384
        assert set(run["histograms"]) == {"idle_published"}
