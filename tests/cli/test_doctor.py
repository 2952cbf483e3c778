# SPDX-License-Identifier: Apache-2.0
"""The command itself, on this machine; its checks are tested in test_doctor_checks.py."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from conftest import COMMAND

import lockyard
from lockyard.doctor.checks import CHECKS
from lockyard.doctor.facts import MEMBARRIER, PERF_EVENT_OPEN, collect

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

SCHEMA = Path(lockyard.__file__).parent / "schema" / "doctor.schema.json"
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def checked(text: str) -> dict[str, Any]:
    """The document, which fits its schema and names each check once."""
    document: dict[str, Any] = json.loads(text)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    named = [each["name"] for kind in ("findings", "fine", "unknown") for each in document[kind]]
    assert sorted(named) == sorted(check.__name__ for check in CHECKS)
    assert document["summary"]["fine"] == len(document["fine"])
    assert document["summary"]["unknown"] == len(document["unknown"])
    for severity in ("distorts", "limits", "note"):
        of_it = [each for each in document["findings"] if each["severity"] == severity]
        assert document["summary"][severity] == len(of_it)
    return document


def test_prints_one_document_and_nothing_else_with_json(lockyard: Callable[..., Outcome]) -> None:
    told = lockyard("doctor", "--json")
    assert told.returncode == 0, told.stderr
    assert told.stderr == ""
    checked(told.stdout)


def test_starts_with_one_sentence_and_gives_each_command_its_line(
    lockyard: Callable[..., Outcome],
) -> None:
    told = lockyard("doctor")
    first, *rest = told.stdout.splitlines()
    assert "measurements here" in first and "checks passed" in first
    assert "\x1b" not in told.stdout
    shown = [line.strip() for line in rest]
    severities = [line.split()[0] for line in rest if line[:1].strip()]
    found = [word for word in severities if word in ("distorts", "limits", "note")]
    assert found == sorted(found, key=["distorts", "limits", "note"].index)
    for title in ("fine", "environment"):
        assert title in shown


def test_serves_a_user_without_privileges(environment: dict[str, str]) -> None:
    as_user = NOBODY if os.geteuid() == 0 else ()
    told = subprocess.run(
        [*as_user, COMMAND, "doctor", "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
    )
    assert told.returncode == 0, told.stderr
    named = {each["name"] for each in checked(told.stdout)["findings"]}
    if as_user:
        assert {"tracepoints", "quota_condition", "realtime", "negative_nice"} <= named


@pytest.mark.parametrize(
    ("script", "cause", "remedy"),
    [
        (None, "no harness", None),
        ("exit 1", "does not answer", None),
        ("echo no json", "no harness", None),
        (
            "echo 'x: error while loading shared libraries: libhwloc.so.15: cannot open shared "
            "object file: No such file or directory' >&2; exit 127",
            "needs libhwloc.so.15",
            "apt-get install -y libhwloc15",
        ),
    ],
)
def test_tells_the_rest_when_the_harness_does_not_start(
    lockyard: Callable[..., Outcome],
    tmp_path: Path,
    script: str | None,
    cause: str,
    remedy: str | None,
) -> None:
    harness = tmp_path / "harness"
    if script is not None:
        harness.write_text(f"#!/bin/sh\n{script}\n")
        harness.chmod(0o755)
    told = lockyard("doctor", "--json", extra={"LOCKYARD_HARNESS": str(harness)})
    assert told.returncode == 3
    assert "Traceback" not in told.stderr
    found = {each["name"]: each for each in checked(told.stdout)["findings"]}
    assert cause in found["harness"]["cause"]
    assert remedy is None or remedy in found["harness"]["remedy"]
    plain = lockyard("doctor", extra={"LOCKYARD_HARNESS": str(harness)})
    assert plain.returncode == 3
    assert "nothing can be measured" in plain.stdout
    assert "clock_skew" in plain.stdout


def test_leaves_policy_and_nice_value_as_they_were() -> None:
    before = (os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0))
    collect()
    assert (os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)) == before


def deny_two_calls() -> None:
    """Refuses system calls by a filter for this process: load the number, compare it twice, pass or
    EPERM."""
    first, second = MEMBARRIER[platform.machine()], PERF_EVENT_OPEN[platform.machine()]
    compared = ((0x15, 2, 0, first), (0x15, 1, 0, second))
    rules = ((0x20, 0, 0, 0), *compared, (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x50001))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    program = ctypes.create_string_buffer(struct.pack("HP", len(rules), ctypes.addressof(code)))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, program) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def test_says_what_the_filter_of_a_container_means(environment: dict[str, str]) -> None:
    told = subprocess.run(
        [COMMAND, "doctor", "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
        preexec_fn=deny_two_calls,
    )
    found = {each["name"]: each for each in checked(told.stdout)["findings"]}
    assert found["membarrier"]["evidence"] == {"errno": 1}
    assert found["context_switches"]["evidence"]["errno"] == 1


def test_finds_a_busy_process_of_this_machine(lockyard: Callable[..., Outcome]) -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as spinner:
        try:
            told = lockyard("doctor", "--json")
        finally:
            spinner.kill()
    found = {each["name"]: each for each in json.loads(told.stdout)["findings"]}
    pids = [each["pid"] for each in found["busy_neighbours"]["evidence"]["processes"]]
    assert spinner.pid in pids
