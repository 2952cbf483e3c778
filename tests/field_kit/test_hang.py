# SPDX-License-Identifier: Apache-2.0
"""`lockyard hang` tells what each thread of a plain program waits for, and who holds it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from blocked_programs import compiled, running
from conftest import COMMAND, as_nobody

import lockyard as lockyard_package
from lockyard.field_kit import preload
from lockyard.field_kit.look import cycles_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from blocked_programs import Blocked
    from conftest import Outcome

    Lockyard = Callable[..., Outcome]
    Scene = Callable[[str], AbstractContextManager[Blocked]]

PATIENCE_S = 60
WAITING_KINDS = {
    "mutex": ("mutex", "account", "holder"),
    "timed": ("mutex", "account", "holder"),
    "reader": ("rwlock for reading", "table", "holder"),
    "writer": ("rwlock for writing", "table", "holder"),
    "writer2": ("rwlock for writing", "read_table", None),
    "pi": ("PI mutex", "inheriting", "holder"),
    "robust": ("robust mutex", "robust", "holder"),
    "condition": ("condition variable", "ready_condition", None),
    "semaphore": ("semaphore", "permits", None),
    "barrier": ("barrier", "start_line", None),
    "foreign": ("futex", "foreign", None),
}


@pytest.fixture(scope="session")
def blocked_threads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("blocked") / "blocked-threads")


@pytest.fixture
def blocked(blocked_threads: Path) -> Scene:
    return lambda scene: running(blocked_threads, scene)


SCHEMA = Path(lockyard_package.__file__).parent / "schema" / "hang.schema.json"


def look_until(
    lockyard: Lockyard, pid: int, is_wanted: Callable[[dict[str, Any]], bool]
) -> tuple[dict[str, Any], int]:
    """Looks until the threads have come to where they wait, however slow the machine is."""
    end = time.monotonic() + PATIENCE_S
    while True:
        shown = lockyard("hang", str(pid), "--json")
        found = json.loads(shown.stdout)
        jsonschema.validate(found, json.loads(SCHEMA.read_text()))
        if is_wanted(found):
            return found, shown.returncode
        assert time.monotonic() < end, found


def steady(count: int) -> Callable[[dict[str, Any]], bool]:
    return lambda found: sum(each["is_steady"] for each in found["waiting"]) >= count


@pytest.mark.parametrize(("scene", "size"), [("pair", 2), ("triple", 3), ("self", 1)])
def test_a_deadlock_is_told_with_its_threads(
    lockyard: Lockyard, blocked: Scene, scene: str, size: int
) -> None:
    with blocked(scene) as program:
        found, status = look_until(lockyard, program.pid, steady(size))
        threads = sorted(tid for name, tid in program.tids.items() if name != "main")
        assert [sorted(cycle) for cycle in found["deadlocks"]] == [threads]
        assert status == 4
        first = lockyard("hang", str(program.pid)).stdout.splitlines()[0]
        assert first.startswith("DEADLOCK")


@pytest.mark.parametrize("lock", ["mutex", "fair_mutex", "futex_mutex"])
def test_a_deadlock_of_swapped_mutexes_is_told(
    lockyard: Lockyard, blocked_threads: Path, lock: str
) -> None:
    library = preload.library(lock)
    with running(blocked_threads, "pair", "env", f"LD_PRELOAD={library}") as program:
        found, status = look_until(lockyard, program.pid, steady(2))
        waits = {each["thread"]: (each["lock"], each["owner"]) for each in found["waiting"]}
        first, second = program.tids["ring-0"], program.tids["ring-1"]
        assert waits == {first: ("journal", second), second: ("account", first)}
        assert [sorted(cycle) for cycle in found["deadlocks"]] == [sorted((first, second))]
        assert status == 4


def test_each_thread_of_a_deadlock_has_the_lock_it_waits_for(
    lockyard: Lockyard, blocked: Scene
) -> None:
    with blocked("pair") as program:
        found, _ = look_until(lockyard, program.pid, steady(2))
        waits = {each["thread"]: (each["lock"], each["owner"]) for each in found["waiting"]}
        first, second = program.tids["ring-0"], program.tids["ring-1"]
        assert waits == {first: ("journal", second), second: ("account", first)}
        assert all("cycle" in each["caller"] for each in found["waiting"])


def test_a_cycle_that_a_time_out_ends_is_no_deadlock(lockyard: Lockyard, blocked: Scene) -> None:
    with blocked("timed") as program:
        found, status = look_until(lockyard, program.pid, steady(2))
        assert found["deadlocks"] == []
        assert [sorted(cycle) for cycle in found["cycles"]] == [
            sorted((program.tids["patient"], program.tids["impatient"]))
        ]
        assert status == 0


def test_an_owner_that_has_ended_is_told(lockyard: Lockyard, blocked: Scene) -> None:
    with blocked("abandoned") as program:
        found, status = look_until(lockyard, program.pid, steady(1))
        assert found["orphans"] == [program.tids["heir"]]
        assert status == 4
        assert "that no thread can unlock" in lockyard("hang", str(program.pid)).stdout


def test_a_forked_child_waits_for_a_thread_that_it_lacks(
    lockyard: Lockyard, blocked: Scene
) -> None:
    with blocked("forked") as program:
        child = program.tids["child"]
        found, status = look_until(lockyard, child, steady(1))
        assert found["orphans"] == [child]
        assert found["waiting"][0]["owner"] == program.tids["holder"]
        assert status == 4


def test_the_threads_of_a_container_have_their_own_ids(
    lockyard: Lockyard, blocked_threads: Path
) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("needs root and unshare, to begin a PID namespace")
    with running(blocked_threads, "pair", unshare, "--pid", "--fork", "--kill-child") as program:
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        found, _ = look_until(lockyard, int(children[0]), steady(2))
        assert found["deadlocks"] == [[program.tids["ring-0"], program.tids["ring-1"]]]
        assert "PID namespace" in lockyard("hang", children[0]).stdout


def test_each_kind_of_wait_is_told_with_its_object_and_owner(
    lockyard: Lockyard, blocked: Scene
) -> None:
    with blocked("kinds") as program:
        found, status = look_until(lockyard, program.pid, steady(len(WAITING_KINDS) + 2))
        names = {tid: name for name, tid in program.tids.items()}
        waits = {
            each["name"]: (each["kind"], each["lock"], names.get(each["owner"]))
            for each in found["waiting"]
        }
        assert {name: waits[name] for name in WAITING_KINDS} == WAITING_KINDS
        assert waits["joiner"][::2] == ("join", "sleeper")
        assert waits["printer"][::2] == ("stdio lock", "stdio")
        timed = {each["name"] for each in found["waiting"] if each["has_timeout"]}
        assert timed == {"timed"}
        details = {each["name"]: each["detail"] for each in found["waiting"]}
        assert details["barrier"] == "1 of 3 threads have arrived"
        assert details["writer2"].startswith("held by 1 reader")
        root = found["roots"][0]
        assert (root["thread"], root["does"]) == (program.tids["holder"], "is in pause")
        assert len(root["waiters"]) == 6
        assert found["deadlocks"] == []
        assert status == 0


def test_a_thousand_threads_are_read_and_told_in_one_line(
    lockyard: Lockyard, blocked: Scene
) -> None:
    with blocked("many") as program:
        found, _ = look_until(lockyard, program.pid, steady(1000))
        assert {each["owner"] for each in found["waiting"]} == {program.tids["main"]}
        assert found["threads"] == 1001
        shown = lockyard("hang", str(program.pid)).stdout
        assert "1000 threads wait for mutex account" in shown
        assert len(shown.splitlines()) < 10


def test_a_healthy_program_has_no_deadlock(lockyard: Lockyard, blocked: Scene) -> None:
    with blocked("idle") as program:
        shown = lockyard("hang", str(program.pid))
        assert shown.stdout.splitlines()[0] == "No deadlock among the 2 threads."
        assert shown.returncode == 0


def test_a_static_program_is_not_said_to_have_no_deadlock(
    lockyard: Lockyard, tmp_path: Path
) -> None:
    with running(compiled(tmp_path / "static", "-static"), "pair") as program:
        shown = lockyard("hang", str(program.pid))
        assert "No deadlock among" not in shown.stdout
        assert "Owners of locks are unknown" in shown.stdout
        assert shown.returncode == 5


def test_a_process_that_is_not_there_is_an_error(lockyard: Lockyard) -> None:
    shown = lockyard("hang", "999999999")
    assert shown.returncode == 2
    assert "no such process" in shown.stderr


def test_a_process_that_may_not_be_read_is_an_error(blocked: Scene) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become a user who may not read the process")
    with blocked("pair") as program:
        shown = subprocess.run(
            as_nobody(sys.executable, COMMAND, "hang", str(program.pid)),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        if "ModuleNotFoundError" in shown.stderr or "can't open file" in shown.stderr:
            pytest.skip("another user cannot read this installation")
        assert shown.returncode == 3
        assert "cannot be looked at" in shown.stderr
        assert "DEADLOCK" not in shown.stdout


def test_a_core_file_tells_the_same(lockyard: Lockyard, blocked: Scene, tmp_path: Path) -> None:
    gcore = shutil.which("gcore")
    if gcore is None:
        pytest.skip("gcore, which is part of gdb, is not installed")
    with blocked("pair") as program:
        look_until(lockyard, program.pid, steady(2))
        core = tmp_path / "core"
        subprocess.run(
            [gcore, "-o", str(core), str(program.pid)], check=True, timeout=100, capture_output=True
        )
        shown = lockyard("hang", "--core", f"{core}.{program.pid}", "--json")
        found = json.loads(shown.stdout)
        ring = sorted((program.tids["ring-0"], program.tids["ring-1"]))
        assert [sorted(cycle) for cycle in found["deadlocks"]] == [ring]
        assert {each["lock"] for each in found["waiting"]} == {"journal", "account"}
        assert shown.returncode == 4


@pytest.mark.parametrize("what", ["program", "text", "missing"])
def test_what_is_no_core_file_is_an_error(
    lockyard: Lockyard, blocked_threads: Path, tmp_path: Path, what: str
) -> None:
    text = tmp_path / "text"
    text.write_text("no core")
    path = {"program": blocked_threads, "text": text, "missing": tmp_path / "none"}[what]
    shown = lockyard("hang", "--core", str(path))
    assert shown.returncode == 2
    assert "core file" in shown.stderr


def test_a_watch_ends_when_a_thread_has_waited_so_long(lockyard: Lockyard, blocked: Scene) -> None:
    with blocked("kinds") as program:
        shown = lockyard("hang", str(program.pid), "--watch", "500ms")
        assert "wait behind" in shown.stdout
        assert shown.returncode == 0


def test_a_process_and_a_core_file_at_once_are_refused(lockyard: Lockyard) -> None:
    for arguments in (["hang"], ["hang", "1", "--core", "core"]):
        shown = lockyard(*arguments)
        assert shown.returncode == 2
        assert "one process or one core file" in shown.stderr


def test_cycles_are_found_once_each() -> None:
    assert cycles_of({1: 2, 2: 1, 3: 1, 4: 4, 5: 6}) == [[1, 2], [4]]
    assert cycles_of({9: 7, 7: 8, 8: 9}) == [[7, 8, 9]]
    assert cycles_of({}) == []
