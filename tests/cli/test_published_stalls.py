# SPDX-License-Identifier: Apache-2.0
"""The published tables of longest stalls, next to measured ones."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fake_records import shown
from fake_verdict import CATALOG, MS, a_cell
from rich.console import Console

from lockyard.report.published_stalls import published_stalls
from lockyard.report.verdict.published import TITLES, published_table
from lockyard.studies import Setting

if TYPE_CHECKING:
    from lockyard.report.summary import CellSummary


def _text(*cells: CellSummary, width: int = 200) -> str:
    console = Console(width=width)
    return shown(*published_stalls(cells, Setting(CATALOG, None, console, 2)))


def test_every_published_row_has_a_title() -> None:
    assert {scheduler for scheduler, *_ in published_table()} == set(TITLES)
    assert len(published_table()) == 50


def test_shows_all_schedulers_next_to_this_machine() -> None:
    text = _text(a_cell("wait", "tas_spinlock", [2 * MS, 3 * MS]))
    assert "wait: longest, here and published on a Ryzen 7 1700" in text
    assert "tas_spinlock 3.00 ms 104 ms 10.3 ms 94.4 ms 32.2 ms" in text
    assert "pinned" not in text  # the text has no such table for wait


def test_idle_has_the_pinned_tuned_and_console_tables() -> None:
    cell = a_cell("idle", "tas_spinlock", [MS])
    for run in cell.runs:
        run["values"]["idle_published_max_ns"] = MS
    row = "tas_spinlock 1.00 ms 135 ms 40.6 ms 144 ms 76.0 ms 820 µs 94.8 ms"
    assert row in _text(cell)


def test_a_lock_that_no_text_names_and_a_single_thread_have_no_row() -> None:
    assert _text(a_cell("wait", "futex_mutex", [MS])) == ""
    assert _text(a_cell("wait", "tas_spinlock", [MS], threads=1)) == ""


def test_a_narrow_terminal_continues_below() -> None:
    assert ", continued" in _text(a_cell("wait", "tas_spinlock", [MS]), width=40)


def test_the_catalogue_of_the_fake_names_the_texts_locks() -> None:
    """Guards the fake: without seed names, the tests above would show nothing."""
    assert dataclasses.asdict(CATALOG.locks[0])["seed_name"] == "terrible_spinlock"
