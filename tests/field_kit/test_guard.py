# SPDX-License-Identifier: Apache-2.0
"""`lockyard guard` reports injected deadlocks and misuse, and nothing in programs without any."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from conftest import COMMAND
from contended_programs import compiled

from lockyard.commands.guard import _Findings
from lockyard.field_kit import preload
from lockyard.field_kit.recorded import all_records
from lockyard.field_kit.records_file import bytes_used

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    Lockyard = Callable[..., Outcome]
    Guarded = Callable[..., tuple[list[dict[str, Any]], Outcome]]

PATIENCE_S = 60
ROUNDS = 300


@pytest.fixture(scope="session")
def contended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("contended") / "contended-threads")


@pytest.fixture
def guarded(lockyard: Lockyard, contended: Path, tmp_path: Path) -> Guarded:
    """Guards a scene that ends, and returns the findings and the outcome."""

    def run(*arguments: str, scene: str, count: int = 20) -> tuple[list[dict[str, Any]], Outcome]:
        out = tmp_path / "findings.jsonl"
        shown = lockyard(
            "guard", "-o", str(out), *arguments, "--", str(contended), scene, str(count)
        )
        return [json.loads(line) for line in out.read_text().splitlines()], shown

    return run


@pytest.mark.parametrize(("scene", "size"), [("pairs", 2), ("triples", 3)])
def test_each_injected_deadlock_is_reported_once(guarded: Guarded, scene: str, size: int) -> None:
    findings, shown = guarded("--on-deadlock", "error", scene=scene, count=ROUNDS)
    deadlocks = [each for each in findings if each["what"] == "deadlock"]
    assert len(deadlocks) == ROUNDS
    assert {len(each["threads"]) for each in deadlocks} == {size}
    assert shown.stdout == ""  # in each round, one thread got one EDEADLK
    assert shown.returncode == 0


@pytest.mark.parametrize(("scene", "locks"), [
    ("pair", {"account", "journal"}), ("triple", {"account", "journal", "index_lock"}),
])  # fmt: skip
def test_a_deadlock_aborts_the_program_if_asked(
    guarded: Guarded, scene: str, locks: set[str]
) -> None:
    (finding,), shown = guarded("--on-deadlock", "abort", scene=scene)
    assert shown.returncode == -signal.SIGABRT
    assert finding["what"] == "deadlock"
    assert {each["lock"] for each in finding["threads"]} == locks
    for each in finding["threads"]:
        assert "cycle" in each["stack"][0]
        assert "cycle" in each["held_stack"][0]


@pytest.mark.parametrize(("scene", "locks"), [
    ("cycle_with_writer", {"account", "table"}), ("cycle_with_reader", {"account", "table"}),
    ("cycle_with_join", {"account", ""}), ("cycle_with_c11_join", {"account", ""}),
])  # fmt: skip
def test_rwlocks_and_joins_are_edges_of_a_deadlock(
    guarded: Guarded, scene: str, locks: set[str]
) -> None:
    (finding,), shown = guarded("--on-deadlock", "abort", scene=scene)
    assert shown.returncode == -signal.SIGABRT
    assert finding["what"] == "deadlock"
    assert [each["lock"] for each in finding["threads"]].count("account") == 1
    assert {each["lock"] for each in finding["threads"]} == locks
    assert ("waits for the end of" in shown.stderr) == ("join" in scene)
    for each in finding["threads"]:
        assert bool(each["held_stack"]) == bool(each["lock"])


def test_a_reader_that_wants_to_write_waits_for_itself(guarded: Guarded) -> None:
    (finding,), shown = guarded("--on-deadlock", "abort", scene="upgrade")
    assert shown.returncode == -signal.SIGABRT
    assert finding["what"] == "self-deadlock"
    assert finding["threads"][0]["lock"] == "table"


def test_readers_and_writers_without_a_ring_are_not_reported(guarded: Guarded) -> None:
    findings, shown = guarded("--long-hold", "1000s", scene="read_and_write", count=300)
    assert findings == []
    assert shown.returncode == 0


def test_a_deadlock_is_told_while_the_program_hangs(contended: Path) -> None:
    with subprocess.Popen(
        [COMMAND, "guard", "--", contended, "pair"], stderr=subprocess.PIPE, text=True
    ) as command:
        try:
            assert command.stderr is not None
            assert "DEADLOCK of 2 threads" in command.stderr.readline()
        finally:
            command.terminate()
        command.communicate(timeout=PATIENCE_S)
    assert command.returncode == -signal.SIGTERM


def test_every_mutex_gets_the_error_if_asked(guarded: Guarded) -> None:
    findings, shown = guarded("--on-deadlock", "error-to-all", scene="pair")
    assert [each["what"] for each in findings if each["what"] != "lock order"] == ["deadlock"]
    assert shown.stdout.startswith("error ")
    assert shown.returncode == 0


@pytest.mark.parametrize(
    ("scene", "what", "function"),
    [
        ("self", "self-deadlock", "main"),
        ("stranger", "unlocked by a stranger", "main"),
        ("destroyed", "destroyed in use", "main"),
    ],
)
def test_misuse_is_reported_with_its_place(
    guarded: Guarded, scene: str, what: str, function: str
) -> None:
    (finding,), _ = guarded("--on-deadlock", "abort", scene=scene)
    assert finding["what"] == what
    assert finding["threads"][0]["lock"] == "account"
    assert finding["threads"][0]["stack"][0] == function


def test_an_order_that_could_deadlock_is_reported_though_it_did_not(guarded: Guarded) -> None:
    (finding,), shown = guarded(scene="inverted")
    assert finding["what"] == "lock order"
    pairs = {(each["held"], each["lock"]) for each in finding["threads"]}
    assert pairs == {("account", "journal"), ("journal", "account")}
    assert "LOCK ORDER that can deadlock" in shown.stderr


def test_an_order_is_found_after_more_mutexes_than_the_table_has_room_for(
    guarded: Guarded,
) -> None:
    (finding,), _ = guarded(scene="inverted_after_many", count=10_000)
    assert finding["what"] == "lock order"


def test_a_thread_that_ends_with_a_mutex_is_reported(guarded: Guarded) -> None:
    (finding,), shown = guarded(scene="held_at_the_end")
    assert finding["what"] == "held at the end"
    assert finding["threads"][0]["lock"] == "account"
    assert "held_at_the_end" in finding["threads"][0]["held_stack"][0]
    assert "HELD AT THE END" in shown.stderr


def test_a_recursion_that_locks_leaves_room_for_records(contended: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ, "LD_PRELOAD": str(preload.recorder()), "LOCKYARD_RECORDS": str(tmp_path),
        "LOCKYARD_GUARD": "report",
    }  # fmt: skip
    subprocess.run(
        [contended, "recursion", "9"], env=environment, check=True, timeout=PATIENCE_S
    )  # 262,144 stacks
    (file,) = tmp_path.iterdir()
    assert bytes_used(file) < 12 << 20


def test_a_file_without_a_header_is_no_news(tmp_path: Path) -> None:
    (tmp_path / "1-0.lockrec").touch()
    findings = _Findings(tmp_path)
    findings.look()
    assert not findings.has_records
    assert all_records(tmp_path) == []


def test_a_long_hold_is_reported(guarded: Guarded) -> None:
    (finding,), shown = guarded("--long-hold", "1ms", scene="long_hold")
    assert finding["what"] == "long hold"
    assert finding["held_ns"] >= 5e6
    assert "sleep_in_section" in shown.stderr


@pytest.mark.parametrize(
    ("scene", "count"),
    [
        ("ordered", 20_000), ("convoy", 20_000), ("kinds", 0), ("inverted_under_a_gate", 0),
        ("inverted_by_one_thread", 0), ("reused_memory", 1000), ("recursive", 0),
        ("timed_cycle", 0), ("fork", 5), ("forked_unlock", 0), ("unlocked_at_the_end", 0),
        ("confined", 2),
    ],
)  # fmt: skip
def test_a_program_without_fault_has_no_finding(guarded: Guarded, scene: str, count: int) -> None:
    findings, shown = guarded("--long-hold", "1000s", scene=scene, count=count)
    assert findings == []
    assert shown.returncode == 0


def test_bad_input_is_refused(lockyard: Lockyard, contended: Path) -> None:
    shown = lockyard("guard", "--on-deadlock", "ignore", "--", str(contended), "pair")
    assert (shown.returncode, "no such reaction" in shown.stderr) == (2, True)
    assert lockyard("guard").returncode == 2
