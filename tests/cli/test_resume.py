# SPDX-License-Identifier: Apache-2.0
"""A measurement that was cut short is continued."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

LOCKS = "tas_spinlock,ttas_spinlock,yielding_spinlock,ticket_spinlock,futex_mutex"
MEASURE = ("measure", "uncontended", "--locks", LOCKS, "--runs", "4", "--seed", "5")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def runs_of(path: Path) -> list[tuple[int, int]]:
    """Counts the runs except the machine's, which are as many as fit in their time."""
    runs = [line for line in lines_of(path) if "record" not in line]
    return [(run["block"], run["cell"]) for run in runs if run["study"] != "noise"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "records.jsonl"
    subprocess.run([COMMAND, *MEASURE, "--out", path], check=True, capture_output=True, timeout=60)
    return path


@pytest.mark.parametrize("kept", [2, 3, 6, 9])
@pytest.mark.parametrize("torn", ["", '{"schema": 1, "stu'])
def test_continues_where_the_file_stops(
    lockyard: Callable[..., Outcome], whole: Path, tmp_path: Path, kept: int, torn: str
) -> None:
    """Wherever it was cut: the same runs follow in the same blocks and the same order."""
    path = tmp_path / "records.jsonl"
    lines = whole.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:kept]) + torn)
    resumed = lockyard("measure", "--resume", str(path))
    assert resumed.returncode == 0, resumed.stderr
    assert ("the last line is incomplete" in resumed.stderr) == bool(torn)
    assert runs_of(path) == runs_of(whole)
    assert f"records: {path}" in resumed.stdout
    again = [line["record"] for line in lines_of(path) if "record" in line]
    assert again == ["environment", "plan", "environment"]


def test_a_whole_file_needs_nothing_more(
    lockyard: Callable[..., Outcome], whole: Path, tmp_path: Path
) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(whole.read_text().removesuffix("\n"))
    assert lockyard("measure", "--resume", str(path)).returncode == 0
    assert runs_of(path) == runs_of(whole)


def test_continues_after_a_kill(
    lockyard: Callable[..., Outcome], environment: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "records.jsonl"
    command = ["measure", "wait", "--locks", LOCKS, "--threads", "2", "--runs", "3"]
    with subprocess.Popen([COMMAND, *command, "--out", path], env=environment) as process:
        while not path.exists() or len(path.read_text().splitlines()) < 6:
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    resumed = lockyard("measure", "--resume", str(path))
    assert resumed.returncode == 0, resumed.stderr
    (plan,) = [line for line in lines_of(path) if line.get("record") == "plan"]
    cells = [(n, cell) for n, cell in enumerate(plan["cells"]) if cell["study"] != "noise"]
    asked = {(run, n) for n, cell in cells for run in range(cell["runs"])}
    assert set(runs_of(path)) == asked
    assert len(runs_of(path)) == len(asked)


def test_refuses_to_continue_in_another_environment(
    lockyard: Callable[..., Outcome], whole: Path, tmp_path: Path
) -> None:
    environment, *rest = lines_of(whole)
    environment["environment"] = "0123456789abcdef"
    environment["cpu"]["model"] = "another"
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (environment, *rest)))
    before = path.read_bytes()
    resumed = lockyard("measure", "--resume", str(path))
    assert resumed.returncode == 2
    assert "file was written (cpu.model), so" in resumed.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("wait", "--resume", "FILE"), "drop studies"),
        (("--resume", "FILE", "--runs", "3", "--policy", "idle"), "drop runs, policy"),
        (("--resume", "/nowhere/records.jsonl"), "records cannot be read"),
        (("--resume", "EMPTY"), "holds no plan"),
        ((), "nothing to measure"),
    ],
)
def test_refuses_options_that_do_not_go_with_it(
    lockyard: Callable[..., Outcome],
    whole: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    named = {"FILE": str(whole), "EMPTY": str(empty)}
    before = whole.read_bytes()
    refused = lockyard("measure", *(named.get(each, each) for each in arguments))
    assert refused.returncode == 2, refused.stderr
    assert message in refused.stderr
    assert whole.read_bytes() == before


def test_no_two_write_one_file(
    lockyard: Callable[..., Outcome], environment: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "records.jsonl"
    command = [
        str(COMMAND),
        "measure",
        "wait",
        "--threads",
        "2",
        "--for",
        "60s",
        "--out",
        str(path),
    ]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        while not path.exists() or len(path.read_text().splitlines()) < 4:
            assert process.poll() is None
        refused = lockyard("measure", "--resume", str(path))
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    assert refused.returncode == 2
    assert "being written by another lockyard" in refused.stderr
