# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_files import a_file, an_environment, rates
from terminals import on_a_terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

GOLDEN = Path(__file__).with_name("golden_schema_1.jsonl")
GOLDEN_REPORT = Path(__file__).with_name("golden.txt")


def test_shows_the_golden_records_as_the_golden_report(lockyard: Callable[..., Outcome]) -> None:
    shown = lockyard("report", "--tables", "--from", str(GOLDEN))
    assert shown.returncode == 0, shown.stderr
    *expected, _ = GOLDEN_REPORT.read_text().splitlines()
    *lines, where = shown.stdout.splitlines()
    assert [line.rstrip() for line in lines] == expected
    assert where == f"records: {GOLDEN}"


def test_says_that_a_file_is_torn_and_shows_the_rest(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(GOLDEN.read_bytes()[:-40])
    shown = lockyard("report", "--from", str(torn))
    assert shown.returncode == 0
    assert "the last line is incomplete" in shown.stderr
    assert "futex_mutex" in shown.stdout


def test_a_missing_file_is_an_error(lockyard: Callable[..., Outcome]) -> None:
    shown = lockyard("report", "--from", "/nowhere.jsonl")
    assert shown.returncode == 2
    assert "records cannot be read" in shown.stderr


def _mixture(path: Path) -> Path:
    a_file(path, rates(1.0))
    other = a_file(path.with_name("other.jsonl"), rates(1.0), an_environment(environment="other"))
    path.write_text(path.read_text() + other.read_text())
    return path


def _of(text: str) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        path.write_text(text)
        return path

    return make


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_mixture, "holds runs from 2 environments"),
        (_of(""), "is empty, so there is nothing to show; measure with --out"),
        (_of("\n"), "holds no run, so there is nothing to show"),
        (lambda path: a_file(path, []), "holds a plan but no run, so there is nothing to show"),
    ],
)
def test_refuses_a_file_that_is_not_one_measurement(
    lockyard: Callable[..., Outcome],
    tmp_path: Path,
    make: Callable[[Path], Path],
    said: str,
) -> None:
    shown = lockyard("report", "--from", str(make(tmp_path / "a.jsonl")))
    assert shown.returncode == 2
    assert shown.stdout == ""
    assert said in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


def test_measures_the_whole_plan_of_a_report(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    out = tmp_path / "report.jsonl"
    reported = lockyard("report", "--quick", "--out", str(out))
    assert reported.returncode in (0, 5), reported.stderr  # 5: a busy machine stopped a run
    _, _, *runs = [json.loads(line) for line in out.read_text().splitlines()]
    seen = {
        (r["conditions"]["threads"], r["conditions"]["hold_ns"])
        for r in runs
        if r["study"] == "wait" and r["lock"] == "std::mutex"
    }
    few = len(os.sched_getaffinity(0))
    many = max(16, 2 * few)
    assert seen >= {(n, hold) for n in {few, many} - {1} for hold in (200, 20_000)}
    assert {r["lock"] for r in runs} >= {"ticket_spinlock", "std::mutex", "mutex", "null_lock"}
    lines = reported.stdout.splitlines()
    lines = lines[: lines.index(f"tables: lockyard report --tables --from {out}") + 1]
    assert len(lines) <= 24 and max(map(len, lines[:-1])) <= 100
    assert lines[0].startswith("which lock to use here")
    assert any(line.startswith("rate, short,") for line in lines)
    assert any(line.startswith("cost, rarely contended") for line in lines)
    assert any(line.startswith("decided: ") for line in lines)


def test_shows_progress_on_a_terminal_and_fits_its_width(environment: dict[str, str]) -> None:
    shown = on_a_terminal(
        ["measure", "wait", "--locks", "futex_mutex", "--threads", "2", "--for", "300ms"],
        environment,
    )
    assert "wait futex_mutex × 2" in shown
    assert "left" in shown
    assert "\x1b" in shown


def test_continues_below_what_does_not_fit_a_terminal(
    environment: dict[str, str],
) -> None:
    wanted = ["report", "--tables", "--from", str(GOLDEN)]
    shown = on_a_terminal(wanted, {**environment, "NO_COLOR": "1"})
    _, after = shown.split("verdict")
    assert "…" not in after
    assert ", continued" in after
    assert "ticket_spinlock" in shown


def test_shows_no_colours_on_a_terminal_that_wants_none(environment: dict[str, str]) -> None:
    shown = on_a_terminal(["list"], {**environment, "NO_COLOR": "1"})
    assert "\x1b[3" not in shown
