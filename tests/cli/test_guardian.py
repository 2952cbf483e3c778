# SPDX-License-Identifier: Apache-2.0
"""Settings of this machine, changed and undone: also if every process is killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import COMMAND

from lockyard.errors import MissingCapabilityError
from lockyard.machine.guardian import changed_machine
from lockyard.machine.journal import FOLDER, recover
from lockyard.machine.procfs import KernelFiles, bracketed
from lockyard.measure.build_load import running_build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Outcome

PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
LIMIT_S = 30.0


def pages() -> str:
    return bracketed(PAGES.read_text().strip()) or ""


@pytest.fixture
def before() -> Iterator[str]:
    """The setting as it is, which every test must leave."""
    if not PAGES.exists() or not os.access(PAGES, os.W_OK):
        pytest.skip(f"{PAGES} cannot be written here")
    found = pages()
    yield found
    left = pages()
    PAGES.write_text(found)
    assert left == found


def other_than(value: str) -> str:
    return "never" if value != "never" else "madvise"


def await_that(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def children(of: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(of)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    return [int(pid) for pid in listed.stdout.split()]


@pytest.mark.alone
def test_settings_change_between_runs_and_are_restored(before: str) -> None:
    wanted = (("huge_pages", other_than(before)),)
    with changed_machine(None, (), has_settings=True) as machine:
        machine.arrange(wanted)
        assert pages() == other_than(before)
        machine.arrange(())
        assert pages() == before
        machine.arrange(wanted)
    assert pages() == before


@pytest.mark.alone
def test_a_refused_setting_is_an_error_and_changes_nothing(before: str) -> None:
    wanted = (("huge_pages", other_than(before)), ("features", "NO_SUCH_FEATURE"))
    with changed_machine(None, (), has_settings=True) as machine:
        with pytest.raises(MissingCapabilityError, match="features=NO_SUCH_FEATURE: "):
            machine.arrange(wanted)
        assert pages() == before


CHANGED = """
import sys, time
from lockyard.machine.guardian import changed_machine
with changed_machine(None, (), has_settings=True) as machine:
    machine.arrange((("huge_pages", sys.argv[1]),))
    print("changed", machine._guardian.pid, flush=True)
    time.sleep(60)
"""


@contextlib.contextmanager
def changed(value: str) -> Iterator[tuple[subprocess.Popen[str], int, list[int]]]:
    """Runs a client that has changed the setting; yields it, its guardian and their watchdog."""
    client = subprocess.Popen(
        [sys.executable, "-c", CHANGED, value], stdout=subprocess.PIPE, text=True
    )
    try:
        assert client.stdout is not None
        guardian = int(client.stdout.readline().split()[1])
        yield client, guardian, children(guardian)
    finally:
        client.kill()
        client.communicate()


@pytest.mark.alone
@pytest.mark.parametrize("killed", ["client", "guardian", "watchdog and client"])
def test_a_killed_process_is_undone_by_the_others(before: str, killed: str) -> None:
    with changed(other_than(before)) as (client, guardian, watchdogs):
        assert pages() == other_than(before)
        assert watchdogs
        if killed == "watchdog and client":
            os.kill(watchdogs[0], signal.SIGKILL)
        os.kill(guardian if killed == "guardian" else client.pid, signal.SIGKILL)
        await_that(lambda: pages() == before)
        await_that(lambda: not Path(FOLDER, f"{guardian}.jsonl").exists())


@pytest.mark.alone
def test_the_next_lockyard_undoes_what_no_process_could(before: str) -> None:
    with changed(other_than(before)) as (client, guardian, watchdogs):
        for pid in (*watchdogs, guardian, client.pid):
            os.kill(pid, signal.SIGSTOP)  # so that none of them acts before all are killed
        for pid in (*watchdogs, guardian, client.pid):
            os.kill(pid, signal.SIGKILL)
        client.wait(LIMIT_S)
        assert pages() == other_than(before)
        await_that(lambda: recover(KernelFiles()) == [] and pages() == before)


@pytest.mark.alone
def test_doctor_fixes_until_undo(lockyard: Callable[..., Outcome], before: str) -> None:
    told = lockyard("doctor", "--fix", f"huge_pages={other_than(before)}")
    assert told.returncode == 0, told.stderr
    assert pages() == other_than(before)
    told = lockyard("doctor", "--undo")
    assert told.returncode == 0, told.stderr
    assert "huge_pages" in told.stdout
    assert pages() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--fix",), "--fix: name what to fix"),
        (("--fix", "boost", "--all"), "not both"),
        (("boost",), "add --fix"),
        (("--undo", "--fix", "boost"), "--undo takes every fix back"),
        (("--fix", "warp"), "--fix warp: not a problem"),
    ],
)
def test_refuses_contradictory_words(
    lockyard: Callable[..., Outcome], words: tuple[str, ...], message: str
) -> None:
    told = lockyard("doctor", *words)
    assert told.returncode == 2
    assert message in told.stderr


SLEEPERS = [["sh", "-c", "sleep 600 & wait"]]  # a driver with a child, as GCC is


def of_group(leader: int) -> list[str]:
    listed = subprocess.run(
        ["ps", "-o", "stat=", "-g", str(leader)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    return [state for state in listed.stdout.split() if not state.startswith("Z")]


def test_a_build_ends_with_its_whole_group() -> None:
    with running_build(SLEEPERS, 3, os.getpriority(os.PRIO_PROCESS, 0)) as builder:
        await_that(lambda: len(of_group(builder)) == 7)
    await_that(lambda: not of_group(builder))


BUILT = """
import json, os, sys, time
from lockyard.measure.build_load import running_build
with running_build(json.loads(sys.argv[1]), 2, os.getpriority(os.PRIO_PROCESS, 0)) as builder:
    print(builder, flush=True)
    time.sleep(60)
"""


def test_a_build_ends_when_lockyard_is_killed() -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", BUILT, json.dumps(SLEEPERS)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert client.stdout is not None
        builder = int(client.stdout.readline())
        await_that(lambda: len(of_group(builder)) == 5)
    finally:
        client.kill()
        client.communicate()
    await_that(lambda: not of_group(builder))


def test_a_build_whose_compilers_fail_is_an_error() -> None:
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    with pytest.raises(MissingCapabilityError, match="the build ended before the run did"):  # noqa: SIM117
        with running_build([["false"]], 1, nice):
            time.sleep(1)
    with pytest.raises(MissingCapabilityError, match="cannot be started"):  # noqa: SIM117
        with running_build([["/no/such/compiler"]], 1, nice):
            pass


def test_a_build_of_this_project_is_a_load(lockyard: Callable[..., Outcome]) -> None:
    told = lockyard(
        *("measure", "frames", "--locks", "mutex", "--threads", "1", "--rate-hz", "60"),
        *("--others", "work", "--load", "build:2", "--runs", "1", "--for", "500ms"),
    )
    assert told.returncode in (0, 5), told.stderr
    assert "load kind build" in " ".join(told.stdout.split())  # the lines are wrapped
    assert COMMAND.exists()
