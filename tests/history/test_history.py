# SPDX-License-Identifier: Apache-2.0
"""Histories of fake record files: the cache, the queries, and what is shown."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import jsonschema
import msgspec
import pytest
from fake_files import a_file, an_environment, rates
from rich.console import Console

from lockyard import schema
from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.history import cache, text
from lockyard.history.cache import cache_of, cached
from lockyard.history.document import document
from lockyard.history.drift import Trend
from lockyard.history.query import Series, Wanted, series_of, since

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("duckdb", reason="the extra lockyard[history] is not installed")

DAY_S = 86_400
START_S = 1_767_225_600  # 2026-01-01


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Eight files of one machine, a day apart; mutex gets slower, futex_mutex does not."""
    made = tmp_path / "records"
    made.mkdir()
    for day in range(8):
        runs = [
            *rates(4e6, 4e6 - 1e5 * day, 4e6, lock="futex_mutex"),
            *rates(*[4e6 - 2e5 * day] * 3, lock="mutex"),
        ]
        _write(made / f"{day}.jsonl", day, runs)
    return made


def _write(path: Path, day: int, runs: list[dict[str, Any]], **changes: Any) -> Path:
    environment = an_environment(
        started_unix_s=START_S + day * DAY_S,
        system={"kernel": "6.1.0" if day < 4 else "6.18.0"},
        **changes,
    )
    return a_file(path, runs, environment)


def _series(folder: Path, **wanted: Any) -> list[Series]:
    return series_of(cached(folder).files, Wanted(**wanted))


def _one(folder: Path, lock: str) -> Series:
    (found,) = _series(folder, locks=[lock])
    return found


def test_a_file_is_one_point_its_median(folder: Path) -> None:
    series = _one(folder, "futex_mutex")
    assert [point.value for point in series.points] == [4e6] * 8
    assert {point.runs for point in series.points} == {3}
    assert series.points[0].started == "2026-01-01T00:00:00+00:00"


def test_a_trend_over_the_files_is_a_drift(folder: Path) -> None:
    slower, same = _one(folder, "mutex"), _one(folder, "futex_mutex")
    assert (slower.drifts, slower.verdict) == (True, "worse")
    assert (same.drifts, same.verdict) == (False, "")


@pytest.mark.parametrize(
    ("more_is_better", "verdict"), [(True, "better"), (False, "worse"), (None, "more")]
)
def test_the_verdict_on_a_rise_depends_on_the_figure(
    folder: Path, more_is_better: bool | None, verdict: str
) -> None:
    series = _one(folder, "mutex")
    series.figure = replace(series.figure, more_is_better=more_is_better)
    series.trend = Trend(8, first=1.0, last=2.0, p=0.001)
    assert series.verdict == verdict


def test_four_files_are_too_few_for_a_drift(folder: Path) -> None:
    for day in range(4, 8):
        (folder / f"{day}.jsonl").unlink()
    assert not _one(folder, "mutex").drifts


def test_queries_by_machine_kernel_lock_study_figure_and_date(folder: Path) -> None:
    _write(folder / "other.jsonl", 9, rates(1e6), cpu={"model": "Another CPU"})
    assert {each.machine for each in _series(folder, machines=["another"])} == {
        "Another CPU, 2 processors"
    }
    (kernel,) = _series(folder, kernels=["6.1."], locks=["mutex"])
    assert len(kernel.points) == 4
    assert len(_series(folder, studies=["throughput"])) == 3
    assert len(_series(folder, figures=["rate"], locks=["mutex"])) == 1
    (late,) = _series(folder, locks=["mutex"], since=datetime(2026, 1, 7, tzinfo=UTC))
    assert len(late.points) == 2


def test_says_what_there_is_if_nothing_matches(folder: Path) -> None:
    with pytest.raises(UsageError, match="the records have lock: futex_mutex, mutex"):
        _series(folder, locks=["ticket_spinlock"])
    with pytest.raises(UsageError, match="the latest file is of 2026-01-08"):
        _series(folder, since=datetime(2027, 1, 1, tzinfo=UTC))


def test_only_new_and_changed_files_are_read_anew(folder: Path) -> None:
    assert cached(folder).made == 8
    assert cached(folder).made == 0
    _write(folder / "0.jsonl", 0, rates(1e6, lock="mutex"))
    _write(folder / "8.jsonl", 8, rates(1e6, lock="mutex"))
    assert cached(folder).made == 2
    assert _one(folder, "mutex").points[0].value == 1e6
    (folder / "8.jsonl").unlink()
    assert len(_one(folder, "mutex").points) == 8
    assert len(list(cache_of(folder).glob("*.parquet"))) == 8


def test_reads_compressed_files_and_folders_in_folders(folder: Path) -> None:
    plain = folder / "0.jsonl"
    (folder / "deep").mkdir()
    packed = folder / "deep" / "0.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert len(_one(folder, "mutex").points) == 8


def test_several_processes_read_as_one_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LARGE_BYTES", 0)
    found = cached(folder)
    assert (found.made, found.warnings) == (8, [])
    assert _one(folder, "mutex").drifts


def test_a_damaged_file_is_left_out_with_its_reason(folder: Path) -> None:
    (folder / "damaged.jsonl").write_text("{}\n")
    (folder / "later.jsonl").write_text('{"schema": 99, "record": "environment"}\n')
    torn = folder / "1.jsonl"
    torn.write_bytes(torn.read_bytes()[:-20])
    warnings = cached(folder).warnings
    assert sum("left out: " in each for each in warnings) == 2
    assert any("schema 99" in each for each in warnings)
    assert any("the last line is incomplete" in each for each in warnings)
    assert len(_one(folder, "futex_mutex").points) == 8


def test_a_file_without_runs_is_not_read_again(folder: Path) -> None:
    _write(folder / "empty.jsonl", 3, [])
    assert cached(folder).made == 9
    assert cached(folder).made == 0


def test_runs_of_a_second_environment_are_left_out(folder: Path) -> None:
    mixed = folder / "0.jsonl"
    stranger = folder / "stranger.jsonl"
    _write(stranger, 0, rates(1e3, lock="mutex"), environment="stranger")
    mixed.write_text(mixed.read_text() + stranger.read_text())
    stranger.unlink()
    found = cached(folder)
    assert any("holds runs from 2 environments" in each for each in found.warnings)
    assert _one(folder, "mutex").points[0].value == 4e6


@pytest.mark.parametrize(("make", "said"), [(False, "not a folder"), (True, "no record files")])
def test_refuses_a_folder_without_records(tmp_path: Path, make: bool, said: str) -> None:
    place = tmp_path / "nothing"
    if make:
        place.mkdir()
    with pytest.raises(UsageError, match=said):
        cached(place)


def test_says_that_the_cache_cannot_be_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="set XDG_CACHE_HOME"):
        cached(folder)


def test_names_the_extra_that_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(MissingCapabilityError, match=r"pip install 'lockyard\[history\]'"):
        cached(folder)


NOW = datetime(2026, 3, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "day"),
    [("2026-01-31", "2026-01-31"), ("30d", "2026-03-01"), ("2w", "2026-03-17")],
)
def test_a_date_or_a_number_of_days_or_weeks_begins_the_history(given: str, day: str) -> None:
    assert since(given, NOW).date().isoformat() == day


@pytest.mark.parametrize("given", ["yesterday", "", "99999999999d", "2026-13-01"])
def test_refuses_other_beginnings(given: str) -> None:
    with pytest.raises(UsageError, match="--since"):
        since(given, NOW)


def _shown(folder: Path, monkeypatch: pytest.MonkeyPatch, as_plot: bool) -> str:
    console = Console(width=100, color_system=None)
    monkeypatch.setattr(text, "stdout_console", lambda _width: console)
    found = cached(folder)
    with console.capture() as capture:
        text.print_history(folder, found, series_of(found.files, Wanted()), as_plot)
    return capture.get()


def test_shows_drifts_first_and_then_every_series(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = _shown(folder, monkeypatch, as_plot=False)
    lines = shown.splitlines()
    assert lines[0].endswith("8 files of 8, 8 read anew, 2026-01-01 to 2026-01-08, 1 machine")
    assert lines[1] == "kernels: 6.1.0, 6.18.0"
    assert lines[2] == "- worse: throughput: rate of mutex × 2"
    assert "0.69 times, 3.90 M/s to 2.70 M/s, 8 files, p < 0.0001, Linux 6.1.0 to" in lines[3]
    assert "futex_mutex" in shown
    assert max(map(len, lines[1:])) <= 100


def test_a_plot_has_a_bar_for_each_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = _shown(folder, monkeypatch, as_plot=True)
    assert "█▇▆▅▄▃▂▁  2.60 M/s to 4.00 M/s, 2026-01-01 to 2026-01-08, worse" in shown


def test_a_document_has_every_series_and_follows_its_schema(folder: Path) -> None:
    _write(folder / "zero.jsonl", 9, rates(0.0, lock="std::mutex"))
    found = json.loads(msgspec.json.encode(document(_series(folder))))
    jsonschema.validate(found, schema.stored("history"))
    by_lock = {each["lock"]: each for each in found["series"]}
    assert by_lock.keys() == {"mutex", "futex_mutex", "std::mutex"}
    assert (by_lock["mutex"]["drifts"], by_lock["mutex"]["verdict"]) == (True, "worse")
    (point,) = by_lock["std::mutex"]["points"]
    assert point["file"].endswith("zero.jsonl")
