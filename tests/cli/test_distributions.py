# SPDX-License-Identifier: Apache-2.0
"""Bimodal distributions of hold and gap times, and recorded times."""

from __future__ import annotations

import dataclasses
import json
import statistics
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from fake_records import CATALOG
from fake_requests import works_of
from measured_records import runs_of

from lockyard.errors import UsageError
from lockyard.measure.cell import Cell
from lockyard.measure.plan import plan_cells
from lockyard.measure.recording import MOST_TURNS, Recording
from lockyard.measure.request import Request
from lockyard.measure.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

WAIT = CATALOG.select_studies(["wait"])
CSV = "hold_ns,thread,gap_ns\n100,a,1000\n300,b,2001\n"


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., str]:
    def write(content: str, name: str = "trace.csv") -> str:
        path = tmp_path / name
        path.write_text(content)
        return str(path)

    return write


def test_reads_holds_and_gaps(recorded: Callable[..., str]) -> None:
    found = Recording.of(recorded(CSV))
    assert found.turns == ((1000, 100), (2001, 300))
    assert (found.hold_ns, found.gap_ns) == (200, 1501)
    lines = '{"hold_ns": 100, "gap_ns": 1000}\n\n{"gap_ns": 2001.0, "hold_ns": 300, "x": 1}\n'
    assert Recording.of(recorded(lines, "trace.jsonl")).turns == found.turns


def test_threads_of_a_recording_without_gaps_do_not_stay_away(
    recorded: Callable[..., str],
) -> None:
    found = Recording.of(recorded("hold_ns\n5\n"))
    assert found.turns == ((0, 5),)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("gap_ns\n5\n", "a.csv", "line 1: has no column hold_ns"),
        ("", "b.csv", "line 1: has no column hold_ns"),
        ("hold_ns\n5\nx\n", "c.csv", "line 3: hold_ns is 'x'; it must be a number"),
        ("hold_ns,gap_ns\n5\n", "d.csv", "line 2: gap_ns is None; it must be a number"),
        ("hold_ns\n-1\n", "e.csv", "line 2: hold_ns is '-1'"),
        ("hold_ns\nnan\n", "f.csv", "line 2: hold_ns is 'nan'"),
        ("hold_ns\n100000001\n", "g.csv", "line 2: .* from 0 to 100,000,000"),
        ("hold_ns\n", "h.csv", "has 0 rows, but a recording must have 1 to 16,384"),
        ("hold_ns\n" + "1\n" * (MOST_TURNS + 1), "i.csv", "has 16,385 rows"),
        ("hold_ns\n0\n0\n", "j.csv", "all times are 0"),
        ('{"hold_ns": 1}\n[1]\n', "k.jsonl", "line 2: not a JSON object with hold_ns"),
        ('{"hold_ns": 1}\n{"hold_ns"', "l.jsonl", "line 2: not a JSON object with hold_ns"),
        ('{"hold_ns": true}\n', "m.jsonl", "line 1: hold_ns is True"),
        ("hold_ns\n1\n", "n.txt", r"neither \.csv nor \.jsonl"),
    ],
)
def test_refuses_files_that_are_not_recordings(
    recorded: Callable[..., str], content: str, name: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Recording.of(recorded(content, name))


def test_refuses_a_recording_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the recording cannot be read"):
        Recording.of(str(tmp_path / "none.csv"))


def test_a_recording_is_a_cell_besides_each_hold_with_each_gap(
    recorded: Callable[..., str],
) -> None:
    path = recorded(CSV)
    found = works_of("1us,2us", "5us", f"bimodal,recorded:{path}")
    assert found == [
        Work(1000, 5000, "bimodal"),
        Work(2000, 5000, "bimodal"),
        Work(200, 1501, "recorded", recording=Recording.of(path)),
    ]
    with pytest.raises(UsageError, match="a recording has its own times"):
        works_of("1us", "0", f"recorded:{path}")


def test_a_cell_comes_back_from_a_file_and_misses_a_recording_that_changed(
    recorded: Callable[..., str],
) -> None:
    path = recorded(CSV)
    (cell,) = plan_cells(
        WAIT, CATALOG.locks[:1], Request([2], work=works_of("0", "0", f"recorded:{path}"))
    )
    again = msgspec.convert(json.loads(json.dumps(dataclasses.asdict(cell))), Cell)
    assert again == cell
    clock = {"source": "tsc", "ns_per_tick": 0.5}
    job = again.job(1, 0.1, 2, {"clock": clock, "environment": "ab"})
    assert json.loads(msgspec.json.encode(job.recorded)) == [[1000, 100], [2001, 300]]
    assert str(job.conditions.recording).startswith("trace.csv ")
    stale = dataclasses.replace(cell.work.recording or Recording.of(path), digest="0" * 12)
    with pytest.raises(UsageError, match="has changed since the measurement was planned"):
        _ = stale.turns


def measured(lockyard: Callable[..., Outcome], *arguments: str) -> list[dict[str, Any]]:
    return runs_of(lockyard("measure", *arguments, "--locks", "futex_mutex", "--json"))


@pytest.mark.parametrize("study", ["throughput", "wait", "idle"])
@pytest.mark.parametrize("kind", ["bimodal", "recorded"])
def test_threads_are_busy_for_as_long_as_asked(
    lockyard: Callable[..., Outcome], recorded: Callable[..., str], study: str, kind: str
) -> None:
    """No operation is shorter on average than its two lengths together; half would be one alone."""
    if kind == "recorded":
        path = recorded("hold_ns,gap_ns\n10000,5000\n30000,35000\n")
        options: tuple[str, ...] = ("--lengths", f"recorded:{path}")
    else:
        options = ("--hold", "20us", "--gap", "1x", "--lengths", "bimodal")
    runs = measured(lockyard, study, "--threads", "1", "--for", "200ms", *options)
    conditions = runs[0]["conditions"]
    assert (conditions["hold_ns"], conditions["gap_ns"]) == (20_000, 20_000)
    assert conditions["lengths"] == kind
    assert (conditions["recording"] is not None) == (kind == "recorded")
    each_ns = statistics.median(
        run["values"]["run_ns"] / run["values"]["operations"] for run in runs
    )
    assert each_ns > 0.6 * 40_000


def test_response_takes_recorded_holds(
    lockyard: Callable[..., Outcome], recorded: Callable[..., str]
) -> None:
    path = recorded("hold_ns\n1000\n5000\n")
    runs = measured(
        lockyard, "response", "--lengths", f"recorded:{path}", "--for", "100ms", "--runs", "1"
    )
    assert runs[0]["values"]["operations"] > 0
    gaps = recorded(CSV, "gaps.csv")
    refused = lockyard("measure", "response", "--lengths", f"recorded:{gaps}")
    assert refused.returncode == 2
    assert "must not have the column gap_ns" in refused.stderr
