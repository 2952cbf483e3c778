# SPDX-License-Identifier: Apache-2.0
"""README.md and the manual show what a real report printed, between marks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "manual"))

import first_screen

from lockyard.advice.screen import COLUMNS, LINES

ROOT = first_screen.ROOT
TEXT = f"before\n\n{first_screen.BEGIN}\nold\n{first_screen.END}\n\nafter\n"
CHART = first_screen.Chart("<svg/>", "Waiting", "The longest is 3 ms.")


def test_what_is_between_the_marks_is_replaced() -> None:
    content = first_screen.section("use mutex", CHART, "a.svg")
    once = first_screen.replaced(TEXT, content)
    assert once.startswith("before\n\n") and once.endswith("\n\nafter\n")
    assert "```text\nuse mutex\n```\n\n![Waiting: The longest is 3 ms.](a.svg)" in once
    assert "old" not in once
    assert first_screen.replaced(once, content) == once


def test_a_drawing_keeps_its_text() -> None:
    svg = '<svg><path d="M1.23456,7.89"/><text x="3.333">99.99 %</text></svg>'
    short = '<svg><path d="M1.2,7.8"/><text x="3.3">99.99 %</text></svg>'
    assert first_screen.shortened(svg) == short


def test_a_file_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the lines"):
        first_screen.replaced("no marks", "content")


def test_the_chart_is_the_first_with_the_most_threads() -> None:
    titles = ["Waiting · 2 threads", "Waiting · 16 threads · a", "Waiting · 16 threads · b"]
    assert first_screen.most_threads(titles) == titles[1]


@pytest.mark.parametrize("name", first_screen.SHOWN_IN)
def test_the_shown_screen_fits_a_screen_and_its_chart_is_there(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    shown = text.partition(first_screen.BEGIN)[2].partition(first_screen.END)[0]
    screen = shown.partition("```text\n")[2].partition("\n```")[0].splitlines()
    assert 0 < len(screen) <= LINES
    assert max(map(len, screen)) <= COLUMNS
    assert f"]({first_screen.SHOWN_IN[name]})" in shown
    assert (ROOT / first_screen.CHART).read_text(encoding="utf-8").startswith("<svg")
