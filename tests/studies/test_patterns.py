# SPDX-License-Identifier: Apache-2.0
"""The study patterns: every use of locks keeps its data whole, under contention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from measured_records import measured

from lockyard import harness

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

SHORT = ("--for", "30ms", "--runs", "1")


def workloads() -> list[str]:
    (study,) = harness.catalog().select_studies(["patterns"])
    return [choice.name for choice in study.parameters[0].choices]


def test_every_workload_keeps_its_data_whole(lockyard: Callable[..., Outcome]) -> None:
    found = measured(
        lockyard, "patterns", *SHORT, "--locks", "mutex,ticket_spinlock", "--threads", "4"
    )
    ran = {(run["conditions"]["parameters"]["workload"], run["lock"]) for run in found}
    assert ran == {(each, lock) for each in workloads() for lock in ("mutex", "ticket_spinlock")}
    for run in found:
        values = run["values"]
        assert run["checks"] == {"refused_while_held": True, "counter": True}, run
        assert values["operations"] > values["skipped"] >= 0
        done = values["operations"] - values["skipped"]
        assert values["operations_per_s"] == pytest.approx(done / (values["run_ns"] * 1e-9))


def test_only_tried_locks_are_skipped_while_another_thread_holds_them(
    lockyard: Callable[..., Outcome],
) -> None:
    held = ("--locks", "ttas_spinlock", "--threads", "4", "--hold", "100us")
    skipped = {
        run["conditions"]["parameters"]["workload"]: run["values"]["skipped"]
        for run in measured(
            lockyard, "patterns", *SHORT, *held, "--workload", "try_or_skip,random8"
        )
    }
    assert skipped["random8"] == 0
    assert skipped["try_or_skip"] > 0


COUNTERPARTS = "one_apart,list,queue"


def test_lock_free_counterparts_keep_their_data_whole(lockyard: Callable[..., Outcome]) -> None:
    found = measured(
        lockyard,
        # Long enough for threads that really run at the same time.
        *("patterns", "--for", "300ms", "--runs", "1", "--locks", "lock_free"),
        *("--threads", "1,2,6", "--workload", COUNTERPARTS),
    )
    ran = {run["conditions"]["parameters"]["workload"] for run in found}
    assert ran == set(COUNTERPARTS.split(","))
    for run in found:
        assert run["checks"]["counter"] is True, run
        assert run["values"]["operations"] > 0


def test_a_workload_without_a_lock_free_counterpart_says_so(
    lockyard: Callable[..., Outcome],
) -> None:
    refused = lockyard(
        *("measure", "patterns", *SHORT, "--locks", "lock_free", "--workload", "hash_map")
    )
    assert refused.returncode != 0
    assert "has no lock-free counterpart here" in refused.stdout + refused.stderr


def test_a_single_thread_both_fills_and_empties(lockyard: Callable[..., Outcome]) -> None:
    (run,) = measured(
        lockyard,
        *("patterns", *SHORT, "--locks", "mutex", "--threads", "1"),
        *("--workload", "condition", "--working-set-kib", "64"),
    )
    assert run["values"]["skipped"] == 0
    assert run["values"]["operations"] > 1


def test_every_request_has_its_reply(lockyard: Callable[..., Outcome]) -> None:
    loops = 20
    bound = ("--loops", str(loops), "--runs", "1", "--locks", "futex_mutex", "--threads", "1,2,5")
    for run in measured(lockyard, "patterns", *bound, "--workload", "request_reply"):
        assert run["checks"]["counter"] is True, run
        assert run["values"]["operations"] - run["values"]["skipped"] >= loops


def test_a_lock_that_does_not_exclude_is_not_given_a_structure(
    lockyard: Callable[..., Outcome],
) -> None:
    refused = lockyard("measure", "patterns", *SHORT, "--locks", "null_lock", "--workload", "list")
    assert refused.returncode != 0
    assert "excludes no thread" in refused.stdout + refused.stderr
