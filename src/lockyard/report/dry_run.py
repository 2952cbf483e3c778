# SPDX-License-Identifier: Apache-2.0
"""Prints what would be measured, and how long it would take."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

from lockyard.measure.sweep import MOST_CELLS, in_words, runs_in_words, time_in_words
from lockyard.measure.timing import expected
from lockyard.report.console import stdout_console, titled_table
from lockyard.report.naming import Naming
from lockyard.report.summary import CellSummary, summary_of
from lockyard.report.units import MISSING, duration, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from lockyard.measure.cell import Cell
    from lockyard.measure.sweep import Expansion

# A plan that spends more than this share of its time on starting and ending runs gets advice.
MOST_OVERHEAD = 0.1


def print_dry_run(of: Expansion, seed: int, as_json: bool) -> None:
    if as_json:
        print(json.dumps(described(of, seed)))  # noqa: T201
        return
    console = stdout_console()
    console.print(_table(of.cells))
    for line in summed_up(of, seed):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def described(of: Expansion, seed: int) -> dict[str, Any]:
    return {
        "number": of.number,
        "runs": of.expected.runs,
        "expected_s": round(of.expected.total_s, 3),
        "at_most_s": round(of.expected.at_most_s, 3),
        "overhead_share": round(of.expected.overhead_share, 4),
        "needs_yes": of.number > MOST_CELLS,
        "seed": seed,
        "cells": [
            {
                "study": cell.study,
                "lock": cell.lock,
                "conditions": cell.asked,
                "run_s": cell.run_s if cell.loops is None else None,
                "runs": expected(cell).runs,
                "expected_s": round(expected(cell).total_s, 3),
            }
            for cell in of.cells
        ],
        "cells_left_out": of.left_out,
    }


def summed_up(of: Expansion, seed: int) -> list[str]:
    lines = [f"and {of.left_out:,} more cells"] if of.left_out else []
    cells = "1 cell" if of.number == 1 else f"{of.number:,} cells"
    lines.append(
        f"{cells} in {runs_in_words(of.expected)}, {time_in_words(of.expected)} (seed {seed}); "
        "nothing was measured"
    )
    share = of.expected.overhead_share
    if share > MOST_OVERHEAD:
        lines.append(
            f"give fewer --runs, or more time with --for: starting and ending runs takes about "
            f"{percent(share)} of this time"
        )
    if of.number > MOST_CELLS:
        lines.append(f"add --yes: more than {MOST_CELLS:,} cells are only measured with it")
    return lines


def _table(cells: Sequence[Cell]) -> Table:
    table = titled_table("what would be measured")
    for title in ("study", "lock", "conditions"):
        table.add_column(title, no_wrap=True)
    for title in ("runs", "each", "about"):
        table.add_column(title, justify="right", no_wrap=True)
    summaries = [_summary(cell) for cell in cells]
    naming = Naming.of(summaries)
    for cell, summary in zip(cells, summaries, strict=True):
        found = expected(cell)
        each = f"{cell.loops:,} loops" if cell.loops else duration(cell.run_s * 1e9)
        table.add_row(
            Text(f"{cell.study} as published" if cell.as_published else cell.study),
            Text(cell.lock or MISSING),
            Text(naming.setting(summary)),
            f"≤ {found.runs}" if found.has_loops else str(found.runs),
            each,
            f"≤ {in_words(found.at_most_s)}" if found.has_loops else in_words(found.total_s),
        )
    return table


def _summary(cell: Cell) -> CellSummary:
    return summary_of(cell.study, cell.lock, cell.asked)
