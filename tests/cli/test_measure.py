# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

SHORT = ("--for", "60ms", "--threads", "2")


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def runs_of(text: str) -> list[dict[str, Any]]:
    """The runs of locks, without what goes before them and what watches the machine meanwhile."""
    environment, plan, *runs = lines_of(text)
    assert (environment["record"], plan["record"]) == ("environment", "plan")
    return [run for run in runs if run["lock"] is not None]


def test_prints_records_and_nothing_else_with_json(lockyard: Callable[..., Outcome]) -> None:
    measured = lockyard("measure", "wait", "idle", *SHORT, "--json")
    assert measured.returncode == 0, measured.stderr
    environment = lines_of(measured.stdout)[0]
    runs = runs_of(measured.stdout)
    assert {run["study"] for run in runs} == {"wait", "idle"}
    assert {run["lock"] for run in runs} == {
        "std::mutex",
        "tas_spinlock",
        "ttas_spinlock",
        "yielding_spinlock",
        "ticket_spinlock",
        "single_spinner_mutex",
        "ticket_mutex",
    }
    assert all(run["environment"] == environment["environment"] for run in runs)
    assert all(value is True for run in runs for value in run["checks"].values())


def test_catches_a_lock_that_does_not_exclude(lockyard: Callable[..., Outcome]) -> None:
    for study in ("wait", "idle", "uncontended"):
        measured = lockyard("measure", study, "--locks", "broken_lock", *SHORT)
        assert measured.returncode == 4
        assert "BROKEN" in measured.stdout


def test_checks_nothing_about_a_lock_that_promises_nothing(
    lockyard: Callable[..., Outcome],
) -> None:
    measured = lockyard("measure", "wait", "--locks", "null_lock", *SHORT, "--json")
    assert measured.returncode == 0
    assert all(value is None for value in runs_of(measured.stdout)[0]["checks"].values())


def test_keeps_the_records_when_no_file_is_named(
    lockyard: Callable[..., Outcome], state: Path
) -> None:
    measured = lockyard("measure", "uncontended", "--locks", "futex_mutex", "--runs", "2")
    (path,) = (state / "lockyard").glob("measure.*.jsonl")
    assert f"records: {path}" in measured.stdout
    assert len(runs_of(path.read_text())) == 2


def test_runs_each_cell_once_a_block_in_an_order_that_the_seed_determines(
    lockyard: Callable[..., Outcome],
) -> None:
    def order(seed: str) -> list[tuple[int, str]]:
        measured = lockyard(
            *("measure", "uncontended", "--locks", "seeds", "--runs", "3", "--for", "200ms"),
            *("--seed", seed, "--json"),
        )
        return [(run["block"], run["lock"]) for run in runs_of(measured.stdout)]

    first, again = order("7"), order("7")
    both = set(first) & set(again)  # a run that the machine leaves no time may be missing
    assert len(both) > 5
    assert [run for run in first if run in both] == [run for run in again if run in both]
    assert first != order("8")
    assert sorted(set(first)) == sorted(first)
    assert [block for block, _ in first] == sorted(block for block, _ in first)


def test_prints_ratios_with_intervals_against_a_reference(
    lockyard: Callable[..., Outcome],
) -> None:
    measured = lockyard(
        *("measure", "uncontended", "--locks", "null_lock", "--runs", "6"),
        *("--against", "std::mutex"),
    )
    assert measured.returncode == 0, measured.stderr
    assert "after / std::mutex" in measured.stdout
    assert "[95 % interval]" in measured.stdout
    rows = [line for line in measured.stdout.splitlines() if line.strip().startswith("null_lock")]
    assert any(re.search(r"\d \[\d+\.\d+, \d+\.\d+\]", row) for row in rows), rows


def test_measures_as_many_loops_as_it_is_told(lockyard: Callable[..., Outcome]) -> None:
    measured = lockyard(
        *("measure", "wait", "--locks", "futex_mutex", "--threads", "3"),
        *("--loops", "500", "--runs", "4", "--for", "20s", "--json"),
    )
    runs = runs_of(measured.stdout)
    assert [run["values"]["operations_per_thread"] for run in runs] == [[500, 500, 500]] * 4
    assert all(run["conditions"]["bound"] == "loops" for run in runs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("measure", "wait", "--locks", "tickt_spinlock"), "did you mean ticket_spinlock"),
        (("measure", "wayt"), "did you mean wait"),
        (("measure", "wait", "--threads", "0"), "--threads 0"),
        (("measure", "wait", "--threads", "-3"), "--threads -3"),
        (("measure", "wait", "--for", "0s"), "--for 0s"),
        (("measure", "wait", "--for", "-1s"), "--for -1s"),
        (("measure", "wait", "--for", "2"), "--for 2"),
        (("measure", "wait", "--runs", "0"), "--runs 0"),
        (("measure", "wait", "--runs", "-1"), "--runs -1"),
        (("measure", "wait", "--loops", "0"), "--loops 0"),
        (("measure", "wait", "--loops", "5", "--as-published"), "contradict each other"),
        (("measure", "wait", "--seed", "-1"), "--seed -1"),
        (("measure", "wait", "--seed", str(2**63)), "--seed 9223372036854775808"),
        (("measure", "wait", "--for", "10m", "--runs", "1"), "too long to count exactly"),
        (("measure", "wait", "--locks", ","), "no name was given, so nothing would be measured"),
        (("measure", "wait", "--pin", "tight"), "--pin tight"),
        (("measure", "wait", "--pin", "4095", *SHORT), "--pin 4095"),
        (("measure", "uncontended", "--as-published"), "no published form"),
        (("measure", "wait", "--out", "/nowhere/at/all"), "records cannot be written"),
    ],
)
def test_refuses_bad_input_with_cause_and_remedy(
    lockyard: Callable[..., Outcome], arguments: tuple[str, ...], message: str
) -> None:
    if "/nowhere/at/all" in arguments:
        arguments = (*arguments[:-1], "/proc/nowhere/records.jsonl")
    measured = lockyard(*arguments)
    assert measured.returncode == 2
    assert message in measured.stderr
    assert "Traceback" not in measured.stderr
    assert measured.stdout == ""


def test_reports_a_crash_with_its_cell_and_keeps_the_others(
    lockyard: Callable[..., Outcome], fake_harness: Callable[[str], dict[str, str]]
) -> None:
    crash = 'case $job in *futex_mutex*) echo "it broke" >&2; kill -SEGV $$;; esac'
    measured = lockyard(
        *("measure", "wait", "--locks", "tas_spinlock,futex_mutex", *SHORT, "--json"),
        extra=fake_harness(crash),
    )
    assert measured.returncode == 4
    runs = runs_of(measured.stdout)
    (crashed,) = [run for run in runs if run["lock"] == "futex_mutex"]
    assert crashed["status"] == "crashed"
    assert "it broke" in crashed["reason"]
    assert "signal 11" in crashed["reason"]
    others = {run["lock"] for run in runs if run["status"] == "ok"}
    assert others == {"tas_spinlock"}


def test_names_the_cell_that_crashed_in_its_table(
    lockyard: Callable[..., Outcome], fake_harness: Callable[[str], dict[str, str]]
) -> None:
    crash = 'case $job in *futex_mutex*) echo "it broke" >&2; exit 70;; esac'
    measured = lockyard(
        *("measure", "wait", "--locks", "tas_spinlock,futex_mutex", *SHORT),
        extra=fake_harness(crash),
    )
    assert measured.returncode == 4
    assert "wait of futex_mutex with 2 threads: crashed" in measured.stdout
    assert "it broke" in measured.stdout


def test_keeps_what_was_measured_on_ctrl_c(environment: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "records.jsonl"
    with subprocess.Popen(
        [COMMAND, "measure", "wait", "--for", "30s", "--threads", "2", "--out", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        while not out.exists() or len(out.read_text().splitlines()) < 4:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the records so far are kept" in stderr
    assert "Traceback" not in stderr
    assert f"records: {out}" in stdout
    assert all(record["schema"] == 2 for record in lines_of(out.read_text()))


def test_ends_quietly_when_its_reader_goes_away(environment: dict[str, str]) -> None:
    pipeline = (
        f"{COMMAND} measure wait --for 500ms --threads 2 --json | head -c 100; "
        "exit ${PIPESTATUS[0]}"
    )
    measured = subprocess.run(
        ["bash", "-c", pipeline],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=environment,
    )
    assert measured.returncode == 141
    assert "Traceback" not in measured.stderr
    assert "Error" not in measured.stderr


def test_says_so_when_the_disk_is_full(lockyard: Callable[..., Outcome]) -> None:
    measured = lockyard("measure", "wait", *SHORT, "--out", "/dev/full")
    assert measured.returncode == 3
    assert "No space left on device" in measured.stderr
    assert "Traceback" not in measured.stderr


def test_says_so_when_there_is_no_harness(lockyard: Callable[..., Outcome]) -> None:
    measured = lockyard("measure", "wait", extra={"LOCKYARD_HARNESS": "/nowhere/harness"})
    assert measured.returncode == 3
    assert "/nowhere/harness" in measured.stderr
