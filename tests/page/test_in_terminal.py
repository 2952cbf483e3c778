# SPDX-License-Identifier: Apache-2.0
"""Charts in the terminal: their shape, their width, and terminals that print little."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from pages import RECORDS
from rich.console import Console
from terminals import on_a_terminal

from lockyard.page.in_terminal import BLOCKS, LETTERS, ridges
from lockyard.records.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

TWO = {100.0: 1000, 10e6: 1}


def rows_of(counts: dict[float, int], columns: int = 100, encoding: str = "utf-8") -> list[str]:
    histogram = Histogram()
    histogram.counts.update(counts)
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding=encoding), width=columns)
    return [line.plain for line in ridges("waits", [("lock_a", histogram)], console)]


def test_the_most_samples_are_highest_and_a_single_long_one_is_visible() -> None:
    title, row, axis = rows_of(TWO)
    blocks = row[len("  lock_a  ") :]
    assert title.startswith("waits")
    assert blocks.startswith("█")
    assert blocks.rstrip().endswith("100 ns  10.0 ms")
    assert sum(each in BLOCKS[1:] for each in blocks) == 2
    assert "|1 µs" in axis and "|1 ms" in axis


def test_the_axis_stands_below_the_samples() -> None:
    _, row, axis = rows_of({100.0: 10, 10_000.0: 10, 1e6: 10})
    assert axis.index("|10 µs") == row.index("█", row.index("█") + 1)


@pytest.mark.parametrize("columns", [40, 60, 120])
def test_rows_fit_the_terminal(columns: int) -> None:
    assert max(len(line) for line in rows_of(TWO, columns)[1:]) <= max(columns, 50)


def test_a_terminal_without_blocks_gets_letters() -> None:
    _, row, _ = rows_of(TWO, encoding="ascii")
    assert row.isascii()
    assert LETTERS[-1] in row


def test_an_empty_distribution_has_no_chart() -> None:
    assert rows_of({}) == []


def test_report_prints_charts_only_if_asked(lockyard: Callable[..., Outcome]) -> None:
    plain = lockyard("report", "--from", str(RECORDS))
    drawn = lockyard("report", "--from", str(RECORDS), "--charts")
    assert not set(BLOCKS[1:-1]) & set(plain.stdout)
    assert "waits · 16 threads" in drawn.stdout
    assert "parallelism by share" in drawn.stdout
    assert "\x1b" not in drawn.stdout
    assert drawn.stdout.startswith(plain.stdout)


def test_measure_draws_on_a_terminal_and_honours_no_color(environment: dict[str, str]) -> None:
    arguments = (
        "measure",
        "wait",
        "--locks",
        "mutex",
        "--threads",
        "1",
        "--for",
        "20ms",
        "--runs",
        "1",
    )
    shown = on_a_terminal(arguments, {**environment, "NO_COLOR": "1", "TERM": "xterm"})
    assert "number of samples (logarithm) by length" in shown
    assert "█" in shown
    hidden = on_a_terminal((*arguments, "--no-charts"), environment)
    assert "number of samples" not in hidden
