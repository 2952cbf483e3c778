# SPDX-License-Identifier: Apache-2.0
"""`lockyard simulate --like`: a measured file's cells with its costs and gaps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

CONDITIONS = {"threads": 2, "policy": "other", "pinning": "none", "load": 0, "hold_ns": 0}
COSTS = {
    "pause_ns": 11,
    "exchange_ns": 5,
    "clock_read_ns": 13,
    "yield_alone_ns": 190,
    "context_switch_ns": 450,
    "futex_wake_nobody_ns": 110,
    "wake_other_core_ns": 19000,
    "line_round_trips": [{"cpus": [0, 1], "ns": 132}],
}
NOISE = {
    "gap_threshold_ns": 1000,
    "longest_ns": 90000,
    "cores": [{"gaps": 4, "watched_ns": 1e8}, {"gaps": 6, "watched_ns": 1e8}],
}


def a_run(study: str, lock: str | None, values: dict[str, Any], threads: int = 2) -> dict[str, Any]:
    conditions = {**CONDITIONS, "threads": threads}
    return {"schema": 1, "study": study, "lock": lock, "conditions": conditions, "status": "ok",
            "values": values}  # fmt: skip


def a_wait(lock: str, threads: int, rate: float, longest_ns: float) -> dict[str, Any]:
    values = {"run_ns": 1e7, "operations_per_s": rate, "wait_max_ns": longest_ns}
    return a_run("wait", lock, values, threads)


MEASURED = (
    a_wait("ticket_spinlock", 2, 3e6, 1e5),
    a_wait("std::mutex", 2, 8e6, 2e5),
    a_wait("mcs_spinlock", 2, 4e6, 1e5),
)


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., str]:
    def write(*runs: dict[str, Any]) -> str:
        environment = {"schema": 1, "record": "environment", "kernel": "6.12.1"}
        path = tmp_path / "records.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in (environment, *runs)))
        return str(path)

    return write


def test_shows_measured_and_simulated_figures_and_how_well_they_agree(
    lockyard: Callable[..., Outcome], file: Callable[..., str]
) -> None:
    path = file(a_run("costs", None, COSTS), a_run("noise", None, NOISE), *MEASURED)
    shown = lockyard("simulate", "--like", path, "--machine", "vm2", "--json")
    assert shown.returncode == 0, shown.stderr
    document = json.loads(shown.stdout)
    assert document["notes"] == []
    rows = {(each["table"], each["row"]): each for each in document["figures"]}
    ticket = rows["wait, per second", "ticket_spinlock, 2 threads"]
    assert ticket["reference"] == 3e6
    assert 1e6 < ticket["simulated"] < 20e6
    assert ("wait, per second", "futex_mutex, 2 threads") in rows
    assert [each["figures"] for each in document["agreement"]] == [3, 3]


def test_measured_costs_take_the_place_of_the_machines_costs(
    lockyard: Callable[..., Outcome], file: Callable[..., str]
) -> None:
    def rate(round_trip_ns: float) -> float:
        costs = {**COSTS, "line_round_trips": [{"cpus": [0, 1], "ns": round_trip_ns}]}
        path = file(a_run("costs", None, costs), *MEASURED)
        shown = lockyard("simulate", "--like", path, "--machine", "vm2", "--json")
        found: float = json.loads(shown.stdout)["figures"][0]["simulated"]
        return found

    assert rate(480) < 0.6 * rate(120)


def test_says_when_costs_are_not_the_measured_ones(
    lockyard: Callable[..., Outcome], file: Callable[..., str]
) -> None:
    shown = lockyard("simulate", "--like", file(*MEASURED), "--machine", "vm2")
    assert "no run of the study costs" in shown.stdout
    assert "no gaps" in shown.stdout


@pytest.mark.parametrize(
    ("runs", "arguments", "expected"),
    [
        ((), ("--machine", "vm2"), "no run of wait or throughput"),
        ((a_run("costs", None, COSTS), *MEASURED), (), "measured on 2 processors"),
        (MEASURED, ("--against-published",), "drop one"),
        (MEASURED, ("wait",), "drop one"),
    ],
)
def test_refuses_files_and_options_that_do_not_fit(
    lockyard: Callable[..., Outcome],
    file: Callable[..., str],
    runs: tuple[dict[str, Any], ...],
    arguments: tuple[str, ...],
    expected: str,
) -> None:
    refused = lockyard("simulate", *arguments, "--like", file(*runs))
    assert refused.returncode == 2
    assert expected in refused.stderr.replace("\n", " ")
