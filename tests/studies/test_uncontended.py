# SPDX-License-Identifier: Apache-2.0
"""The study uncontended: what is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from measured_records import BRIEF, measured

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome


PARTS = ("before_threads", "after_threads", "of_64", "beside_sleepers")


def test_every_part_has_a_cost_and_none_below_its_least(lockyard: Callable[..., Outcome]) -> None:
    for run in measured(lockyard, "uncontended", "--locks", "mutex,std::mutex", *BRIEF):
        values = run["values"]
        assert run["checks"] == {"refused_while_held": True, "counter": True}
        for part in PARTS:
            pair = values[f"pair_{part}_ns"]
            # The histogram from which the median comes is exact to a percent.
            assert pair >= 0.99 * values[f"pair_{part}_least_ns"] > 0, part
            assert f"pair_{part}" in run["histograms"]


def test_sleepers_share_the_bucket_of_the_lock_that_has_buckets(
    lockyard: Callable[..., Outcome],
) -> None:
    runs = measured(lockyard, "uncontended", "--locks", "mutex,futex_mutex", *BRIEF)
    shared = {run["lock"]: run["values"]["sleepers_share_bucket"] for run in runs}
    assert shared == {"mutex": True, "futex_mutex": False}


@pytest.mark.parametrize("lock", ["broken_lock", "null_lock"])
def test_a_control_is_held_to_what_it_promises(lockyard: Callable[..., Outcome], lock: str) -> None:
    for run in measured(lockyard, "uncontended", "--locks", lock, *BRIEF):
        refused = run["checks"]["refused_while_held"]
        assert refused is (False if lock == "broken_lock" else None)
