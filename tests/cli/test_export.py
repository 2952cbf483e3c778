# SPDX-License-Identifier: Apache-2.0
"""Exports: what a row holds, both forms, and refusals."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest
from fake_files import a_file, a_histogram, an_environment, rates
from fake_records import a_record

from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.records import read_records
from lockyard.records.rows import rows_of
from lockyard.records.tables import rows_in, write_csv, write_parquet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

    from lockyard.records.rows import Row


def _rows(path: Path) -> list[Row]:
    wait = a_record("wait", "mutex", 3, values={"wait_max_ns": 5.5, "cores": [{"cpu": 1}]})
    wait["histograms"] = {"wait": a_histogram([(0.5, 20), (0.99, 100), (0.999, 900), (1.0, 5000)])}
    wait["checks"] = {"counter": True}
    wait["conditions"]["parameters"] = {"workload": "lock1"}
    file = a_file(path / "a.jsonl", [*rates(4e6), wait])
    content = read_records(file)
    return list(rows_of(content.runs, content.environment, "a.jsonl"))


def test_a_row_has_every_scalar_of_a_run_and_its_percentiles(tmp_path: Path) -> None:
    rate, wait = _rows(tmp_path)
    assert (rate["study"], rate["lock"], rate["values.operations_per_s"]) == (
        "throughput",
        "futex_mutex",
        4e6,
    )
    assert (wait["block"], wait["conditions.threads"], wait["parameters.workload"]) == (
        3,
        2,
        "lock1",
    )
    assert (wait["values.wait_max_ns"], wait["checks.counter"]) == (5.5, True)
    assert (wait["wait.p50_ns"], wait["wait.p99_ns"]) == (20.0, 100.0)
    assert wait["values.cores"] is None
    assert wait["machine"] == an_environment()["cpu"]["model"]


def test_csv_has_a_column_for_each_name_of_any_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv(_rows(tmp_path), None)
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [line["values.operations_per_s"] for line in lines] == ["4000000.0", ""]
    assert [line["wait.p50_ns"] for line in lines] == ["", "20.0"]


def test_parquet_keeps_names_and_types(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="the extra lockyard[history] is not installed")
    out = tmp_path / "it's.parquet"
    write_parquet(_rows(tmp_path), out, "nothing can be written")
    with duckdb.connect() as base:
        rows = rows_in(base, "SELECT * FROM read_parquet(?) ORDER BY block", str(out))
    assert [row["values.operations_per_s"] for row in rows] == [4e6, None]
    assert rows[1]["checks.counter"] is True
    assert rows[1]["conditions.threads"] == 2


def test_parquet_names_the_extra_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(MissingCapabilityError, match=r"CSV needs nothing more; pip install"):
        write_parquet(_rows(tmp_path), tmp_path / "a.parquet", "nothing can be written")


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    rows = _rows(tmp_path)
    with pytest.raises(UsageError, match="cannot be written"):
        write_csv(rows, tmp_path / "nowhere" / "a.csv")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        write_csv(rows, folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "folder"]


def test_the_command_writes_to_standard_output(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    file = a_file(tmp_path / "a.jsonl", rates(1e6, 2e6))
    exported = lockyard("export", str(file))
    assert exported.returncode == 0, exported.stderr
    assert len(exported.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [((), "no run, so there is nothing to export"), (("--csv", "{}"), "would be overwritten")],
)
def test_the_command_refuses_what_would_lose_or_lack_data(
    lockyard: Callable[..., Outcome], tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    file = a_file(tmp_path / "a.jsonl", [] if not options else rates(1e6))
    exported = lockyard("export", str(file), *(each.format(file) for each in options))
    assert exported.returncode == 2
    assert said in exported.stderr
    assert file.stat().st_size > 0
