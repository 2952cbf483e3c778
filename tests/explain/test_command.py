# SPDX-License-Identifier: Apache-2.0
"""lockyard explain, as a person or a program runs it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import fake_stalls as injected
import pytest
from fake_explanations import injected_folder, records, truth
from fake_records import a_record
from terminals import on_a_terminal

from lockyard.explain.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome
    from fake_trace import FakeTrace


def test_draws_the_longest_stall_and_names_its_cause(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = injected.holder_preempted().write(tmp_path / "a.trace")
    shown = lockyard("explain", str(path), "--top", "1")
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""
    assert "\x1b" not in shown.stdout
    rows = {line.split("  ")[1]: line for line in shown.stdout.splitlines() if line[:2] == "  "}
    assert set(rows["a worker 2"].removeprefix("  a worker 2").strip()) == {"w"}
    assert rows["b worker 1"].count("▒") > 60
    assert rows["lock"].count("█") > 60
    assert "test_lock: worker 2 waited 2.99 ms: holder preempted 99.3 %" in shown.stdout
    assert "holding since −9.00 µs, worker 1 was preempted at +10.0 µs (cpu 0)" in shown.stdout
    assert "▒ holds the lock, not running" in shown.stdout


def test_draws_free_but_wanted_in_a_row_of_its_own(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = injected.waiter_preempted().write(tmp_path / "a.trace")
    shown = lockyard("explain", str(path), "--top", "1").stdout
    (lock,) = (line for line in shown.splitlines() if line.startswith("  lock  ") and "░" in line)
    assert lock.count("░") > 60
    assert "waiter not running 99." in shown


def test_uses_colours_on_a_terminal(tmp_path: Path, environment: dict[str, str]) -> None:
    path = injected.holder_preempted().write(tmp_path / "a.trace")
    assert "\x1b[31m▒" in on_a_terminal(["explain", str(path)], environment)
    without = on_a_terminal(["explain", str(path)], {**environment, "NO_COLOR": "1"})
    assert "▒▒▒" in without
    assert "\x1b[31m" not in without


def test_prints_json_and_nothing_else(lockyard: Callable[..., Outcome], tmp_path: Path) -> None:
    path = injected.woken_not_running().write(tmp_path / "a.trace")
    shown = lockyard("explain", "--file", str(path), "--json", "--longer-than", "100us")
    assert shown.stderr == ""
    document = json.loads(shown.stdout)
    assert document["record"] == "explanation"
    assert document["has_wakeups"]
    idle = next(lock for lock in document["locks"] if lock["kind"] == "idle")
    assert idle["lock"] == "test_lock"
    assert idle["stalls_by_cause"]["woken_not_running"] == 1
    assert sum(idle["causes_ns"].values()) == pytest.approx(idle["stalled_ns"])
    stall = next(stall for stall in document["stalls"] if stall["kind"] == "idle")
    assert stall["cause"] == "woken_not_running"
    assert stall["tid"] == injected.WAITER
    assert sum(stall["shares"].values()) == pytest.approx(1)
    assert stall["evidence"][0]["cause"] == "woken_not_running"
    assert "was woken at +1.00 µs by worker 1" in stall["evidence"][0]["text"]


def test_reads_the_traces_next_to_records(lockyard: Callable[..., Outcome], tmp_path: Path) -> None:
    runs: list[tuple[int, FakeTrace | None]] = [
        (0, injected.holder_preempted()),
        (1, injected.unexplained()),
        *((block, None) for block in range(2, 9)),
    ]
    shown = lockyard("explain", str(records(tmp_path, *runs)))
    assert shown.returncode == 0, shown.stderr
    assert "2 traces" in shown.stdout
    assert "ticket_spinlock × 2" in shown.stdout
    assert (
        "overhead of tracing ticket_spinlock × 2: throughput traced / plain 0.98 [" in shown.stdout
    )
    document = json.loads(lockyard("explain", str(tmp_path / "records.jsonl"), "--json").stdout)
    (overhead,) = document["overhead"]
    assert overhead["blocks"] == 9
    assert overhead["traced_to_plain"] == pytest.approx(0.984)
    (idle,) = (lock for lock in document["locks"] if lock["kind"] == "idle")
    assert idle["stalls_by_cause"]["unexplained"] == 1


def test_tells_cells_apart_by_what_differs_between_them(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = records(tmp_path, (0, injected.holder_preempted()))
    rows = [
        a_record(
            *("stalls", "ticket_spinlock", block, cell),
            {"plain_operations_per_s": 1000.0, "traced_operations_per_s": rate},
            hold_ns=hold_ns,
        )
        for block in range(6)
        for cell, (hold_ns, rate) in enumerate([(0, 990.0), (5000, 500.0)])
    ]
    lines = [json.dumps({"schema": 1, **row}) for row in rows if row["block"] or row["cell"]]
    with path.open("a") as file:
        file.write("\n".join(lines) + "\n")
    document = json.loads(lockyard("explain", str(path), "--json").stdout)
    found = {each["cell"]: each["traced_to_plain"] for each in document["overhead"]}
    assert found == {
        "ticket_spinlock × 2 · hold 0": pytest.approx(0.99),
        "ticket_spinlock × 2 · hold 5.00 µs": pytest.approx(0.5),
    }
    assert {each["lock"] for each in document["locks"]} == {"ticket_spinlock × 2 · hold 0"}


def test_says_how_much_of_the_time_the_rings_still_cover(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    trace = replace(injected.unexplained(), ring_events=8)
    for at in range(1, 10):
        trace.stamps(3, (at, injected.CALLED), (at + 0.1, Kind.FAILED), lock=0x99)
    shown = lockyard("explain", str(trace.write(tmp_path / "a.trace"))).stdout
    assert "the rings of 1 trace overwrote their oldest events" in shown
    assert re.search(r"is explained, [0-9.]+ % of the whole", shown)
    assert "not explained: 0 stalls that began earlier" in shown


def test_shows_the_chosen_lock_and_lengths(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    trace = injected.holder_preempted()
    trace.names[0x99] = "other_lock"
    trace.stamps(3, (1, injected.CALLED), (90, injected.ACQUIRED), lock=0x99)
    path = str(trace.write(tmp_path / "a.trace"))
    assert "other_lock" in lockyard("explain", path).stdout
    chosen = lockyard("explain", path, "--lock", "test_lock")
    assert "other_lock" not in chosen.stdout and "test_lock" in chosen.stdout
    document = json.loads(lockyard("explain", path, "--longer-than", "1ms", "--json").stdout)
    assert [stall["lock"] for stall in document["stalls"]] == ["test_lock"]
    none = lockyard("explain", path, "--lock", "no_lock")
    assert none.returncode == 2
    assert "no such lock in the traces; choose from test_lock, other_lock" in none.stderr


def test_says_why_there_are_no_wakeups_and_how_to_have_them(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = injected.woken_late().write(tmp_path / "a.trace")
    shown = lockyard("explain", str(path)).stdout
    assert (
        "no wake-up records, so 'woken late' is not divided" in shown
        and "no rights: be root" in shown
    )
    bare = replace(injected.woken_late(), has_switches=False).write(tmp_path / "b.trace")
    assert "no switch records, so it is unknown which threads ran: no perf" in (
        lockyard("explain", str(bare)).stdout
    )


def test_finds_the_trace_of_a_running_program(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    made = replace(injected.holder_preempted(), ends=0, pid=os.getpid())
    path = made.write(tmp_path / "any name.trace")
    program = "import mmap, sys; f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 0); "
    program += "print('mapped', flush=True); sys.stdin.read()"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program, str(path)], **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"mapped\n"
        shown = lockyard("explain", "--pid", str(process.pid))
        process.communicate(timeout=60)
    assert shown.returncode == 0, shown.stderr
    assert "holder preempted" in shown.stdout
    assert "may still run" in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to explain, or several things"),
        (["a.trace", "--file", "a.trace"], "nothing to explain, or several things"),
        (["--pid", "4194305"], "no such process"),
        (["--pid", str(os.getpid())], "maps no trace"),
        (["/nowhere.jsonl"], "records cannot be read"),
        (["--file", "/nowhere.trace"], "the trace cannot be read"),
        (["--longer-than", "5"], "not a duration"),
        (["--truth", "--pid", "1"], "drop --pid and --lock"),
    ],
)
def test_says_what_is_wrong_with_what_is_asked(
    lockyard: Callable[..., Outcome], arguments: list[str], said: str
) -> None:
    answer = lockyard("explain", *arguments)
    assert answer.returncode == 2
    assert said in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1


def test_says_that_records_hold_no_trace_or_that_it_is_gone(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = records(tmp_path, (0, None))
    plain = lockyard("explain", str(path))
    assert plain.returncode == 2
    assert "none of its 1 runs was traced" in plain.stderr
    path.write_text(path.read_text().replace('"trace": null', '"trace": "0.trace"'))
    gone = lockyard("explain", str(path))
    assert gone.returncode == 2
    assert "the traces that records.jsonl names are gone" in gone.stderr
    path.write_text("")
    empty = lockyard("explain", str(path))
    assert empty.returncode == 2
    assert "is empty, so there is nothing to explain" in empty.stderr


def test_finds_injected_causes(lockyard: Callable[..., Outcome], tmp_path: Path) -> None:
    shown = lockyard("explain", "--truth", str(injected_folder(tmp_path)))
    assert shown.returncode == 0, shown.stderr
    rows = [line.split() for line in shown.stdout.splitlines() if line.rstrip().endswith("%")]
    assert {row[0] for row in rows} == {c.whole.stored for _, _, c in injected.SCENES}
    assert all(row[-2:] == ["100.0", "%"] for row in rows)
    assert "holds" in shown.stdout


@pytest.mark.parametrize(
    ("cause", "begin_us", "found"),
    [("machine_gap", 10, "held_running"), ("held_running", 50_000, "none")],
)
def test_fails_if_an_injected_cause_is_mistaken_or_missed(
    lockyard: Callable[..., Outcome], tmp_path: Path, cause: str, begin_us: float, found: str
) -> None:
    path = injected.held_running().write(tmp_path / "a.trace")
    truth(path, cause, begin_us, begin_us + 2990)
    shown = lockyard("explain", "--truth", str(path))
    assert shown.returncode == 4
    assert "FAILS" in shown.stdout and "0.0 %" in shown.stdout
    assert f"{cause} injected at" in shown.stderr
    document = json.loads(lockyard("explain", "--truth", str(path), "--json").stdout)
    assert document["injected"][cause]["found"] == {found: 1}


def test_refuses_invalid_truth(lockyard: Callable[..., Outcome], tmp_path: Path) -> None:
    path = injected.held_running().write(tmp_path / "a.trace")
    missing = lockyard("explain", "--truth", str(path))
    assert missing.returncode == 2
    assert "no trace here has a file of injected causes" in missing.stderr
    truth(path, "bad_luck")
    damaged = lockyard("explain", "--truth", str(path))
    assert damaged.returncode == 2
    assert "line 1: not an injected cause" in damaged.stderr
