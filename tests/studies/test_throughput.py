# SPDX-License-Identifier: Apache-2.0
"""The study throughput: what is measured and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from measured_records import measured

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome


def test_throughput_says_what_waiting_costs(lockyard: Callable[..., Outcome]) -> None:
    runs = measured(
        lockyard,
        "throughput",
        "--locks",
        "futex_mutex",
        "--threads",
        "2",
        "--hold",
        "5us",
        "--gap",
        "5us",
        "--for",
        "300ms",
    )
    counts = 0
    for run in runs:
        values = run["values"]
        assert values["spin_share"] is None or 0 <= values["spin_share"] <= 1
        assert values["energy_per_operation_j"] is None or values["energy_per_operation_j"] > 0
        if run["block"] % 16 != 0:
            assert values["futex_calls_per_operation"] is None
            assert values["futex_calls_missing"] is None
            assert values["counting_run_ns"] is None
        elif values["futex_calls_missing"] is None:
            assert values["futex_calls_per_operation"] >= 0
            assert values["counting_run_ns"] > 0
            counts += 1
        else:
            assert "run as root" in values["futex_calls_missing"]
        assert run["checks"]["counter"] is True
    assert counts <= 1


def test_prints_why_futex_calls_are_missing(
    lockyard: Callable[..., Outcome], fake_harness: Callable[[str], dict[str, str]]
) -> None:
    """Where they are counted, nothing is said."""
    refuse = (
        'printf "%s\\n" "$job" | "$real" | sed -E \'s/"futex_calls_missing":(null|"[^"]*")/'
        '"futex_calls_missing":"run as root"/\'; continue'
    )
    found = lockyard(
        *("measure", "throughput", "--locks", "futex_mutex", "--threads", "2", "--runs", "1"),
        extra=fake_harness(refuse),
    )
    assert found.returncode == 0, found.stderr
    assert "futex calls: not counted: run as root" in found.stdout


def test_throughput_counts_every_operation_and_every_change_of_owner(
    lockyard: Callable[..., Outcome],
) -> None:
    for run in measured(
        lockyard,
        "throughput",
        "--locks",
        "futex_mutex,null_lock",
        "--threads",
        "3",
        "--for",
        "60ms",
    ):
        values = run["values"]
        per_thread = values["operations_per_thread"]
        assert sum(per_thread) == values["operations"] > 0
        expected = max(per_thread) / min(per_thread) if min(per_thread) else None
        assert values["operations_most_to_fewest"] == expected
        assert values["cpu_share"] > 0
        assert run["histograms"] == {}
        if run["lock"] == "futex_mutex":
            assert run["checks"] == {"refused_while_held": True, "counter": True}
            assert 1 <= values["owner_switches"] <= values["operations"]
            share = values["owner_switches"] / values["operations"]
            assert values["owner_switch_share"] == pytest.approx(share)


def test_lock_free_controls_count_by_themselves(lockyard: Callable[..., Outcome]) -> None:
    controls = "lock_free,lock_free[cas],lock_free[backoff]"
    runs = measured(lockyard, "throughput", "--locks", controls, "--threads", "3", "--for", "60ms")
    assert {run["lock"] for run in runs} == set(controls.split(","))
    for run in runs:
        assert run["values"]["operations"] > 0
        assert run["values"]["owner_switches"] is None
        assert run["checks"] == {"refused_while_held": None, "counter": None}


def test_data_may_lie_next_to_the_lock(lockyard: Callable[..., Outcome]) -> None:
    both = ("--layout", "next-to-data,padded", "--locks", "futex_mutex", "--threads", "2")
    runs = measured(lockyard, "throughput", *both, "--for", "60ms")
    assert {run["conditions"]["parameters"].get("layout") for run in runs} == {None, "next-to-data"}
    for run in runs:
        assert run["checks"] == {"refused_while_held": True, "counter": True}


def test_variants_of_the_spinlock_are_a_group(lockyard: Callable[..., Outcome]) -> None:
    chosen = ("--locks", "variants", "--threads", "2", "--for", "20ms")
    runs = measured(lockyard, "throughput", *chosen)
    assert len(runs) == 10
    for run in runs:
        assert run["lock"].startswith("spin_variant[")
        assert run["checks"] == {"refused_while_held": True, "counter": True}


def test_other_studies_say_where_variants_are_measured(lockyard: Callable[..., Outcome]) -> None:
    shown = lockyard(
        *("measure", "contention", "--locks", "spin_variant[4_pauses]", "--threads", "2"),
        *("--runs", "1", "--for", "60ms"),
    )
    assert shown.returncode == 2
    assert "is not compiled for it: choose one of wait, idle, throughput" in shown.stderr


def test_one_thread_becomes_the_owner_once(lockyard: Callable[..., Outcome]) -> None:
    runs = measured(
        lockyard,
        "throughput",
        "--locks",
        "futex_mutex,null_lock",
        "--threads",
        "1",
        "--for",
        "60ms",
    )
    assert {run["values"]["owner_switches"] for run in runs} == {1}
    assert {run["values"]["operations_most_to_fewest"] for run in runs} == {1.0}
