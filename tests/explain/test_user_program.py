# SPDX-License-Identifier: Apache-2.0
"""The trace of a program of one's own: its holder was preempted, and that is what is said of it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

HERE = Path(__file__).parent
SOURCE = HERE / "user_program.cpp"
NOT_PERMITTED = "perf_event_open is not permitted"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("program") / "user_program"
    compiler = os.environ.get("CXX") or "c++"
    options = ("-std=c++20", "-O1", "-pthread", f"-I{HERE.parents[1] / 'include'}")
    subprocess.run([compiler, *options, SOURCE, "-o", path], check=True, timeout=100)
    return path


def run(program: Path, trace: Path, ending: str) -> int:
    environment = {**os.environ, "LOCKYARD_TRACE": str(trace)}
    done = subprocess.run([program, ending], env=environment, timeout=60, check=False)
    return done.returncode


def check(document: dict[str, Any]) -> None:
    """The holder was preempted; if the kernel does not report it, the reason is printed."""
    wait = next(stall for stall in document["stalls"] if stall["kind"] == "wait")
    assert wait["lock"] == "shared"
    assert wait["length_ns"] >= 20e6
    if not document["has_switches"]:
        (why,) = document["why_no_switches"]
        assert NOT_PERMITTED in why or "has no perf events" in why
        assert wait["cause"] == "unexplained"
        pytest.skip(f"the kernel shows no switches here: {why}")
    assert wait["cause"] == "holder_preempted", wait
    assert wait["shares"]["holder_preempted"] > 0.4
    first = wait["evidence"][0]
    assert first["cause"] == "holder_preempted"
    assert "was preempted" in first["text"] and "came back" in first["text"]


def test_a_hitch_is_noticed_and_the_ended_trace_names_its_cause(
    lockyard: Callable[..., Outcome], program: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "own.trace"
    assert run(program, trace, "stop") == 0
    shown = lockyard("explain", "--file", str(trace), "--json")
    document = json.loads(shown.stdout)
    assert document["warnings"] == []
    check(document)


def test_a_program_that_has_died_left_all_up_to_each_threads_last_stamp(
    lockyard: Callable[..., Outcome], program: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "own.trace"
    assert run(program, trace, "crash") == -9
    shown = lockyard("explain", "--file", str(trace), "--json")
    document = json.loads(shown.stdout)
    assert "its program crashed or was killed" in document["warnings"][0]
    check(document)


def test_a_running_program_is_explained_as_far_as_it_has_stamped(
    lockyard: Callable[..., Outcome], program: Path, tmp_path: Path
) -> None:
    environment = {**os.environ, "LOCKYARD_TRACE": str(tmp_path / "own.trace")}
    with subprocess.Popen(
        [program, "stay"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        shown = lockyard("explain", "--pid", str(process.pid), "--json")
        process.communicate(timeout=60)
    document = json.loads(shown.stdout)
    assert "its program may still run" in document["warnings"][0]
    check(document)


def test_if_the_kernel_denies_records_the_reason_is_printed(
    lockyard: Callable[..., Outcome], program: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "own.trace"
    assert run(program, trace, "denied") == 0
    document = json.loads(lockyard("explain", "--file", str(trace), "--json").stdout)
    assert not document["has_switches"]
    check(document)
    shown = lockyard("explain", "--file", str(trace)).stdout
    assert f"no switch records, so it is unknown which threads ran: {NOT_PERMITTED}" in shown
