# SPDX-License-Identifier: Apache-2.0
"""The tool that compares sleeping locks: best peer of each cell, means, tails, what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_files import a_file, a_histogram
from fake_records import a_record

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import frontier

# By lock: operations per second and longest wait in ns.
FIGURES = {
    "mutex": (300.0, 4000.0),
    "fair_mutex": (100.0, 1000.0),
    "std::mutex": (150.0, 4000.0),
    "nsync_mu": (200.0, 8000.0),
}
TAILS_NS = {"mutex": 3000, "fair_mutex": 900, "std::mutex": 1000, "nsync_mu": 5000}
BLOCKS = 12


def runs_of(part: frontier.Part) -> list[dict[str, Any]]:
    runs = []
    for lock, (rate, wait) in FIGURES.items():
        for threads in part.threads:
            for block in range(BLOCKS):
                slow = 1 + block / 1000
                run = a_record(part.study, lock, block, values={
                    "operations_per_s": rate * slow,
                    "wait_max_ns": wait * slow,
                    "operations_most_to_fewest": rate / 100,
                })  # fmt: skip
                run["conditions"] = {**run["conditions"], "threads": threads}
                run["histograms"] = {"wait": a_histogram([(1.0, TAILS_NS[lock])])}
                runs.append(run)
    return runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part in frontier.PARTS:
        a_file(tmp_path / part.file, runs_of(part))
    return tmp_path


def test_throughput_is_a_share_of_the_fastest_peer_and_not_of_our_locks(folder: Path) -> None:
    rows = {row.lock: row for row in frontier.rows_of(folder)}
    assert frontier.digits(rows["mutex"].throughput.mean) == "1.50 [1.50, 1.50]"
    assert frontier.digits(rows["fair_mutex"].throughput.mean) == "0.50 [0.50, 0.50]"
    assert rows["nsync_mu"].throughput.worst == pytest.approx(1)
    assert len(rows["mutex"].throughput.by_cell) == 18


def test_waits_are_compared_with_the_reference_and_tails_with_the_best_peer(folder: Path) -> None:
    rows = {row.lock: row for row in frontier.rows_of(folder)}
    assert frontier.digits(rows["fair_mutex"].longest) == "0.25 [0.25, 0.25]"
    assert frontier.digits(rows["nsync_mu"].longest) == "2.00 [2.00, 2.00]"
    assert rows["fair_mutex"].good_tails == (18, 18)
    assert rows["mutex"].good_tails == (0, 18)
    assert rows["std::mutex"].good_tails == (18, 18)
    assert frontier.digits(rows["mutex"].most_to_fewest) == "3.00 [3.00, 3.00]"


def test_a_thread_without_any_acquisition_counts_as_the_worst_share(folder: Path) -> None:
    runs = runs_of(frontier.SHARES)
    for run in runs:
        if run["lock"] == "mutex" and run["block"] % 3 != 0:
            run["values"]["operations_most_to_fewest"] = None
    a_file(folder / frontier.SHARES.file, runs)
    rows = {row.lock: row for row in frontier.rows_of(folder)}
    assert frontier.digits(rows["mutex"].most_to_fewest) == "inf [3.00, inf]"


def test_one_slow_cell_is_the_worst(folder: Path) -> None:
    part = frontier.RATES[3]
    runs = runs_of(part)
    for run in runs:
        if run["lock"] == "mutex" and run["conditions"]["threads"] == 4:
            run["values"]["operations_per_s"] = 20.0
    a_file(folder / part.file, runs)
    rows = {row.lock: row for row in frontier.rows_of(folder)}
    assert rows["mutex"].throughput.worst == pytest.approx(0.1, rel=0.02)
    assert f"| {part.hold}/{part.gap}, 4 | 0.10 |" in frontier.cells_table(list(rows.values()))


def test_runs_that_failed_do_not_count(folder: Path) -> None:
    part = frontier.RATES[0]
    failed = {**a_record(part.study, "nsync_mu", 99, values={"operations_per_s": 1e9}),
              "status": "failed"}  # fmt: skip
    a_file(folder / part.file, [*runs_of(part), failed])
    rows = {row.lock: row for row in frontier.rows_of(folder)}
    assert frontier.digits(rows["mutex"].throughput.mean) == "1.50 [1.50, 1.50]"


def test_the_page_shows_what_the_records_say() -> None:
    root = Path(frontier.__file__).parents[1]
    (records,) = root.glob("results/frontier.*")
    shown = frontier.summary(frontier.rows_of(records))
    assert shown in (root / "docs/locks/fair_mutex.md").read_text(encoding="utf-8")


def test_publishing_replaces_the_table_and_nothing_else(folder: Path) -> None:
    new = frontier.summary(frontier.rows_of(folder))
    head = new.partition("\n")[0]
    page = f"before\n\n{head}\n| --- |\n| old |\n\nafter\n"
    assert frontier.published(page, new) == f"before\n\n{new}\n\nafter\n"


def test_what_was_not_measured_is_named(folder: Path) -> None:
    missing = folder / frontier.SHARES.file
    missing.unlink()
    command = [sys.executable, frontier.__file__, "show", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 1
    assert missing.name in ran.stderr
    assert "measure --out" in ran.stderr
