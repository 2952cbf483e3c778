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
    def write(*runs: dict[str, Any], kernel: str = "6.12.1") -> str:
        system = {"kernel": kernel}
        environment = {"schema": 1, "record": "environment", "system": system}
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


def test_says_that_a_cost_changed_from_run_to_run(
    lockyard: Callable[..., Outcome], file: Callable[..., str]
) -> None:
    def notes(round_trip_ns: float) -> str:
        costs = {**COSTS, "line_round_trips": [{"cpus": [0, 1], "ns": round_trip_ns}]}
        path = file(a_run("costs", None, COSTS), a_run("costs", None, costs), *MEASURED)
        return lockyard("simulate", "--like", path, "--machine", "vm2", "--json").stdout

    assert "processors 0 and 1 was 33 ns in one run and 120 ns in another" in notes(480)
    assert "in another" not in notes(200)


def test_gaps_have_the_lengths_that_were_measured(
    lockyard: Callable[..., Outcome], file: Callable[..., str]
) -> None:
    """The number of gaps and the longest one stay the same, and only the histogram differs."""

    def rate(length_ns: int) -> float:
        noise = {**NOISE, "cores": [{"gaps": 10_000, "watched_ns": 1e9}] * 2, "longest_ns": 9e4}
        run = a_run("noise", None, noise)
        counts = [[length_ns, 20_000]]
        run["histograms"] = {
            "gap": {"unit": "ns", "scale": 1.0, "sub_bucket_bits": 20, "counts": counts}
        }
        path = file(a_run("costs", None, COSTS), run, *MEASURED)
        shown = lockyard("simulate", "--like", path, "--machine", "vm2", "--json")
        found: float = json.loads(shown.stdout)["figures"][0]["simulated"]
        return found

    assert rate(90_000) < 0.5 * rate(1000)


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


def test_cells_of_other_times_and_of_contention_are_rows_of_their_own(
    lockyard: Callable[..., Outcome], file: Callable[..., str]
) -> None:
    longer = a_wait("ticket_spinlock", 2, 1e5, 1e6)
    longer["conditions"] |= {"hold_ns": 5000, "gap_ns": 5000}
    work = a_run("contention", "mutex", {"run_ns": 2e8, "parallelism": 1.4})
    work["conditions"]["parameters"] = {"rate_per_s": 15000, "share_percent": 50}
    path = file(a_run("costs", None, COSTS), *MEASURED, longer, work)
    shown = lockyard("simulate", "--like", path, "--machine", "vm2", "--json")
    rows = {
        (each["table"], each["row"]): each["simulated"]
        for each in json.loads(shown.stdout)["figures"]
    }
    usual = rows["wait, per second", "ticket_spinlock, 2 threads"]
    slow = rows["wait, per second", "ticket_spinlock, 2 threads, 5.00 µs of 5.00 µs"]
    assert slow < 0.1 * usual
    assert 1 < rows["contention, parallelism", "mutex, 2 threads, 33.3 µs of 33.3 µs"] < 2


def test_scheduler_is_that_of_the_measured_kernel(
    lockyard: Callable[..., Outcome], file: Callable[..., str]
) -> None:
    def longest(kernel: str) -> list[float]:
        runs = [a_wait("ttas_spinlock", 16, 3e6, 1e5)]
        runs[0]["values"]["run_ns"] = 1e8
        path = file(a_run("costs", None, COSTS), *runs, kernel=kernel)
        shown = lockyard("simulate", "--like", path, "--machine", "vm2", "--json")
        return [each["simulated"] for each in json.loads(shown.stdout)["figures"]]

    assert longest("5.15.0-generic") != longest("6.12.1")


def test_machine_is_defined_by_its_records(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    topology = {"processors": 4, "cores": 2, "packages": 1, "caches": [{"level": 3, "count": 1}]}
    environment = {
        "schema": 1,
        "record": "environment",
        "system": {"hypervisor": "no"},
        "cpu": {"model": 'An "8-bit" one'},
        "load_average": [9.0],
        "harness": {"topology": topology},
    }
    trips = [{"cpus": [0, each], "ns": ns} for each, ns in ((1, 60), (2, 200), (3, 240))]
    runs = [a_run("costs", None, {**COSTS, "line_round_trips": trips}) for _ in range(3)]
    runs[1]["values"]["line_round_trips"] = [{"cpus": [0, 3], "ns": 1e9}]
    records = tmp_path / "records.jsonl"
    records.write_text("".join(json.dumps(each) + "\n" for each in (environment, *runs)))
    out = tmp_path / "mine.toml"
    done = lockyard("machines", "measure", "--from", str(records), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "other programs ran meanwhile" in done.stderr
    shown = json.loads(lockyard("machines", str(out), "--json").stdout)
    assert shown["topology"]["threads_per_core"] == 2
    assert shown["costs"]["hop_cache_ns"] == 15
    assert shown["costs"]["hop_remote_ns"] == 60
    assert shown["sources"]["pause_ns"] == "lockyard measure costs, median of 3 runs"
    assert shown["sources"]["tick_ns"].startswith("as xeon8468: ")


def test_machine_is_not_defined_without_costs(
    lockyard: Callable[..., Outcome], file: Callable[..., str]
) -> None:
    refused = lockyard("machines", "measure", "--from", file(*MEASURED))
    assert refused.returncode == 2
    assert "no run of the study costs" in refused.stderr
    refused = lockyard("machines", "vm2", "--out", "x.toml")
    assert refused.returncode == 2
    assert "apply only to" in refused.stderr.replace("\n", " ")
