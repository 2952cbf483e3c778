# SPDX-License-Identifier: Apache-2.0
"""`lockyard profile` names the lock, the holder and the cause of waits that have known ones."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import COMMAND, as_nobody
from contended_programs import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

    Lockyard = Callable[..., Outcome]

PATIENCE_S = 60


@pytest.fixture(scope="session")
def contended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("contended") / "contended-threads")


@pytest.fixture
def profiled(lockyard: Lockyard, contended: Path, tmp_path: Path) -> Callable[..., Any]:
    """Profiles a scene, and returns the records and the outcome."""

    def run(*scene: str) -> tuple[list[dict[str, Any]], Outcome]:
        out = tmp_path / "profile.jsonl"
        shown = lockyard("profile", "-o", str(out), "--", str(contended), *scene)
        return [json.loads(line) for line in out.read_text().splitlines()], shown

    return run


def of_kind(records: list[dict[str, Any]], record: str, lock: str) -> list[dict[str, Any]]:
    return [each for each in records if each["record"] == record and each["lock"] == lock]


def waits_by(records: list[dict[str, Any]], lock: str, *keys: str) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for each in of_kind(records, "profile-wait", lock):
        key = tuple(each[name][0] if name in ("waiter", "holder") else each[name] for name in keys)
        found[key] = found.get(key, 0) + each["waits"]
    return found


@pytest.mark.parametrize(
    ("scene", "call", "holder"),
    [("asleep", 230, "sleep_in_section"), ("system_call", 0, "read_in_section")],
)
def test_a_blocked_holder_is_the_cause(
    profiled: Callable[..., Any], scene: str, call: int, holder: str
) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("system calls have other numbers here")
    records, shown = profiled(scene, "20")
    waits = waits_by(records, "account", "cause", "detail", "waiter", "holder")
    total = sum(waits.values())
    blocked = {key: count for key, count in waits.items() if key[0] == "holder blocked"}
    assert set(blocked) == {("holder blocked", call, "want_account", holder)}, waits
    # On a busy machine, a holder whose call is over also waits for a processor.
    assert sum(blocked.values()) >= 0.25 * total, waits
    assert f"of account in {holder}" in shown.stderr.splitlines()[0]


def test_a_long_section_is_the_cause(profiled: Callable[..., Any]) -> None:
    records, _ = profiled("long_section", "20")
    waits = waits_by(records, "account", "waiter", "holder")
    # A waiter that comes while the holder leaves has no holder to name.
    assert waits[("want_account", "compute_in_section")] >= 0.9 * sum(waits.values()), waits
    causes = waits_by(records, "account", "cause")
    assert ("holder blocked",) not in causes
    # On a busy machine, the holder really is preempted now and then, and the waiter woken late.
    busy = [("holder preempted",), ("woken late",)]
    explained = causes.get(("long section",), 0) + sum(causes.get(each, 0) for each in busy)
    assert explained >= 0.9 * sum(causes.values()), causes


def test_a_preempted_holder_is_the_cause(profiled: Callable[..., Any]) -> None:
    records, _ = profiled("preempted", "20")
    causes = waits_by(records, "account", "cause")
    assert causes.get(("holder preempted",), 0) >= 0.6 * sum(causes.values()), causes


def test_a_convoy_counts_the_acquisitions_of_others(profiled: Callable[..., Any]) -> None:
    records, _ = profiled("convoy", "20000")
    (lock,) = of_kind(records, "profile-lock", "account")
    # The mutex counts its acquisitions; the last wait has read the count.
    assert lock["waits"] < lock["acquisitions"] <= 80_000
    assert lock["waits"] > 0
    assert lock["others_first"] > 0
    assert lock["p50_ns"] <= lock["p99_ns"] <= lock["longest_ns"]


def test_each_kind_of_object_has_its_waits_and_its_waker(profiled: Callable[..., Any]) -> None:
    records, _ = profiled("kinds")
    kinds = {each["lock"]: each["kind"] for each in records if each["record"] == "profile-lock"}
    expected = {
        "table": "rwlock for reading", "spinning": "spinlock", "start_line": "barrier",
        "foreign": "futex", "permits": "semaphore", "ready_condition": "condition variable",
    }  # fmt: skip
    assert expected.items() <= kinds.items()
    assert ("want_table", "change_table") in waits_by(records, "table", "waiter", "holder")
    wakers = waits_by(records, "ready_condition", "waiter", "holder")
    assert ("wait_until_ready", "make_ready") in wakers
    assert ("want_permit",) in waits_by(records, "permits", "waiter")


def test_folded_stacks_have_waiter_lock_and_holder(
    lockyard: Lockyard, contended: Path, tmp_path: Path
) -> None:
    folded = tmp_path / "folded"
    lockyard("profile", "--folded", str(folded), "--", str(contended), "asleep")
    lines = folded.read_text().splitlines()
    assert all(re.fullmatch(r".+ \d+", line) for line in lines)
    assert any("want_account;[mutex account];behind sleep_in_section" in line for line in lines)


def test_the_processes_of_a_program_have_profiles_of_their_own(
    profiled: Callable[..., Any],
) -> None:
    records, shown = profiled("fork")
    (lock,) = of_kind(records, "profile-lock", "account")
    assert lock["waits"] > 0
    assert shown.returncode == 0


def test_streams_and_status_stay_the_programs_own(lockyard: Lockyard, contended: Path) -> None:
    shown = lockyard("profile", "--", str(contended), "status")
    assert shown.stdout == "own output\n"
    assert shown.stderr.startswith("own error\n")
    assert shown.returncode == 7


@pytest.mark.parametrize(("scene", "status"), [("signal", -signal.SIGTERM), ("quick_exit", 9)])
def test_a_profile_outlives_the_end_of_its_program(
    profiled: Callable[..., Any], scene: str, status: int
) -> None:
    records, shown = profiled(scene)
    assert shown.returncode == status
    assert of_kind(records, "profile-lock", "account")


def test_a_running_program_is_read_from_outside(lockyard: Lockyard, contended: Path) -> None:
    with subprocess.Popen(
        [COMMAND, "profile", "--", contended, "endless", "100000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as command:  # fmt: skip
        try:
            assert command.stdout is not None
            assert command.stdout.readline() == "ready\n"
            children = f"/proc/{command.pid}/task/{command.pid}/children"
            (pid,) = (int(each) for each in Path(children).read_text().split())
            end = time.monotonic() + PATIENCE_S
            while "want_account" not in (seen := lockyard("profile", "--from", str(pid)).stdout):
                assert time.monotonic() < end, seen
        finally:
            command.terminate()
        _, told = command.communicate(timeout=PATIENCE_S)
    assert "want_account" in told


def test_records_are_reused_by_later_threads(profiled: Callable[..., Any]) -> None:
    records, _ = profiled("many", "5000")  # more than may have a record at a time
    (process,) = (each for each in records if each["record"] == "profile")
    assert (process["threads"], process["lost"]) == (5000, 0)


def test_a_program_that_no_library_reaches_is_refused(
    lockyard: Lockyard, contended: Path, tmp_path: Path
) -> None:
    static = compiled(tmp_path / "static", "-static")
    shown = lockyard("profile", "--", str(static), "status")
    assert shown.returncode == 3
    assert "is linked statically" in shown.stderr
    assert shown.stdout == ""
    missing = lockyard("profile", "--", str(tmp_path / "none"))
    assert (missing.returncode, "no such file" in missing.stderr) == (127, True)
    text = tmp_path / "text"
    text.write_text("no program")
    assert lockyard("profile", "--", str(text)).returncode == 126
    assert lockyard("profile").returncode == 2
    assert lockyard("profile", "--from", "1", "--", str(contended)).returncode == 2


def test_a_process_without_records_is_an_error(lockyard: Lockyard) -> None:
    shown = lockyard("profile", "--from", str(os.getpid()))
    assert shown.returncode == 2
    assert "writes no records" in shown.stderr


def test_a_program_with_privileges_is_refused(contended: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to make a set-user-id program")
    privileged = tmp_path / "privileged"
    privileged.write_bytes(contended.read_bytes())
    privileged.chmod(0o4755)
    shown = subprocess.run(
        as_nobody(COMMAND, "profile", "--", privileged, "status"),
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    if shown.returncode in (1, 126) or "No such file" in shown.stderr:
        pytest.skip("another user cannot read this installation")
    assert "is setuid" in shown.stderr or shown.returncode == 127
