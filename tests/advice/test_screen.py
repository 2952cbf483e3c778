# SPDX-License-Identifier: Apache-2.0
"""The first screen: its size, its advice, what it warns of, and what it says of few records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fake_advice import CATALOG, a_wait_cell, an_aim_cell
from fake_files import an_environment
from fake_verdict import MS, noise
from rich.console import Console

from lockyard.advice.answers import Advice, advice
from lockyard.advice.screen import COLUMNS, LINES, print_screen

if TYPE_CHECKING:
    from lockyard.report.summary import CellSummary

BLOCKS = 60


def _group(threads: int, hold_ns: int) -> list[CellSummary]:
    """A spinlock that does most and stalls longest, a mutex between, and the reference."""
    figures = {
        "std::mutex": (100.0, 10 * MS),
        "mutex": (200.0, 5 * MS),
        "ttas_spinlock": (900.0, 200 * MS),
        "ticket_spinlock": (10.0, 1 * MS),
    }
    return [
        a_wait_cell(lock, [rate] * BLOCKS, [tail] * BLOCKS, threads=threads, hold_ns=hold_ns)
        for lock, (rate, tail) in figures.items()
    ]


def _all() -> list[CellSummary]:
    costs = {"std::mutex": 20.0, "mutex": 12.0, "ttas_spinlock": 8.0}
    cells = [
        cell for threads in (2, 16) for hold in (200, 20_000) for cell in _group(threads, hold)
    ]
    cells += [an_aim_cell(lock, [cost] * BLOCKS, "cost") for lock, cost in costs.items()]
    return [*cells, noise(30 * MS)]


def _screen(cells: list[CellSummary], found: Advice | None = None) -> list[str]:
    console = Console(width=COLUMNS, color_system=None)
    with console.capture() as capture:
        print_screen(
            found or advice(cells, CATALOG, 2), cells, an_environment(), console, ["records: here"]
        )
    return capture.get().splitlines()


def test_fits_a_screen_of_24_lines_and_100_columns() -> None:
    lines = _screen(_all())
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS


def test_answers_every_question_in_a_line_of_its_own() -> None:
    whens = [answer.when for answer in advice(_all(), CATALOG, 2).answers]
    contended = [
        f"{wanted}, {section}, {threads} threads"
        for wanted in ("rate", "tail")
        for threads in (2, 16)
        for section in ("short", "long")
    ]
    assert whens == [*contended, "cost, rarely contended"]


def test_recommends_no_lock_for_its_rate_whose_waits_are_clearly_longer() -> None:
    by_when = {answer.when: answer for answer in advice(_all(), CATALOG, 2).answers}
    assert by_when["rate, short, 16 threads"].use == "mutex"
    assert by_when["rate, short, 16 threads"].against == "2.00 [2.00, 2.00]"
    assert by_when["tail, short, 16 threads"].use == "ticket_spinlock"
    assert by_when["cost, rarely contended"].use == "mutex"


def test_says_what_to_avoid_and_why() -> None:
    text = "\n".join(_screen(_all()))
    assert "- ttas_spinlock, 2 threads: longest wait 200 ms, 20.0 [20.0, 20.0] times" in text
    assert "; its waiters only spin" in text
    assert "- ticket_spinlock, 2 threads: rate 10.0 /s, 0.10 [0.10, 0.10] times" in text
    assert "; grants in strict order" in text


def test_says_what_the_machine_itself_did() -> None:
    assert any("machine: Stalls of up to 30.0 ms need no lock" in line for line in _screen(_all()))


def test_counts_the_ratios_that_are_decided() -> None:
    assert any(line.startswith("decided: 11 of 11 ratios (100.0 %)") for line in _screen(_all()))


def test_an_open_answer_keeps_the_reference_and_says_so() -> None:
    ratios = [0.8, 0.8, 1.25, 1.25] * 15
    cells = [
        a_wait_cell("std::mutex", [100.0] * BLOCKS, [MS] * BLOCKS),
        a_wait_cell("mutex", [100 * ratio for ratio in ratios], [MS] * BLOCKS),
    ]
    answer = advice(cells, CATALOG, 2).answers[0]
    assert answer.use == "std::mutex, mutex?"
    assert answer.confidence == "open (52)"
    assert not answer.is_decided
    assert "two names: alike; shown to differ by less than a factor of 2 (tail)" in _screen(cells)


def test_locks_that_are_alike_are_both_named() -> None:
    cells = [a_wait_cell(lock, [100.0] * BLOCKS, [MS] * BLOCKS) for lock in ("std::mutex", "mutex")]
    assert advice(cells, CATALOG, 2).answers[0].use == "std::mutex, mutex"
    margins = "two names: alike; shown to differ by less than a factor of 1.1 (rate), 2 (tail)"
    assert margins in _screen(cells)


def test_the_reference_is_advised_where_the_next_best_is_worse() -> None:
    cells = [
        a_wait_cell("std::mutex", [100.0] * BLOCKS, [MS] * BLOCKS),
        a_wait_cell("mutex", [80.0] * BLOCKS, [MS] * BLOCKS),
    ]
    answer = advice(cells, CATALOG, 2).answers[0]
    assert (answer.use, answer.against) == ("std::mutex", "next 0.80 [0.80, 0.80]")


def test_one_lock_has_nothing_to_be_compared_with() -> None:
    found = advice(_group(16, 200)[:1], CATALOG, 2)
    assert [answer.confidence for answer in found.answers] == ["nothing to compare with"] * 2
    assert found.claims == []


def test_no_cells_have_no_answers() -> None:
    assert advice([], CATALOG, None).answers == []


@pytest.mark.parametrize("settings", [3, 30])
def test_many_settings_still_fit_a_screen_and_are_counted(settings: int) -> None:
    cells = [cell for place in range(1, settings + 1) for cell in _group(16, 100 * place)]
    found = advice(cells, CATALOG, 2)
    assert len(_screen(cells, found)) <= LINES
    assert found.left_out == 2 * settings - len(found.answers) > 0


def test_a_hundred_locks_still_fit_a_screen() -> None:
    cells = [
        a_wait_cell(f"lock{place}", [100.0 + place] * BLOCKS, [MS * (1 + place)] * BLOCKS)
        for place in range(100)
    ]
    lines = _screen([*cells, a_wait_cell("std::mutex", [100.0] * BLOCKS, [MS] * BLOCKS)])
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS


def test_a_broken_lock_is_said_first_and_recommended_for_nothing() -> None:
    cells = _group(16, 200)
    for run in cells[1].runs:
        run["checks"] = {"counter": False}
    found = advice(cells, CATALOG, 2)
    assert "mutex" not in {answer.use for answer in found.answers}
    assert "- Do not use mutex: BROKEN, failed the checks of mutual exclusion." in _screen(cells)
