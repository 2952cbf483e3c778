# SPDX-License-Identifier: Apache-2.0
"""Comparisons as Markdown: the headline, the tables, and what Markdown must not read as its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fake_files import a_file, rates

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

BLOCKS = 12


@pytest.fixture
def compared(lockyard: Callable[..., Outcome], tmp_path: Path) -> Callable[..., Outcome]:
    def run(*options: str, factor: float = 0.5) -> Outcome:
        same = rates(*[1e6] * BLOCKS, lock="mutex")
        a = a_file(tmp_path / "a.jsonl", [*rates(*[4e6] * BLOCKS), *same])
        b = a_file(tmp_path / "b.jsonl", [*rates(*[4e6 * factor] * BLOCKS), *same])
        return lockyard("compare", str(a), str(b), "--format", "markdown", *options)

    return run


def test_a_difference_is_a_row_and_the_rest_is_folded(compared: Callable[..., Outcome]) -> None:
    lines = compared().stdout.splitlines()
    assert lines[0] == "### lockyard: 1 difference shown in 2 figures"
    row = "| futex_mutex | throughput · 2 threads | rate | 4.00 M/s | 2.00 M/s | 0.50 [0.50, 0.50]"
    assert any(line.startswith(row) and line.endswith("🔴 worse |") for line in lines)
    assert "<details><summary>1 figure without a difference shown</summary>" in lines
    assert lines.count("<details><summary>How it was measured</summary>") == 1
    assert lines.count("</details>") == 2
    folded = lines[lines.index("<details><summary>1 figure without a difference shown</summary>") :]
    assert [line for line in lines if line.startswith("| mutex |")] == [
        line for line in folded if line.startswith("| mutex |")
    ]
    assert not any(line.startswith("| futex_mutex |") for line in folded)


@pytest.mark.parametrize(
    ("limit", "status", "headline"),
    [("-10", 4, "❌ 1 gate failed"), ("-60", 0, "✅ the gates passed")],
)
def test_a_gate_decides_the_headline_and_the_status(
    compared: Callable[..., Outcome], limit: str, status: int, headline: str
) -> None:
    found = compared("--fail-if", f"throughput.rate < {limit}%")
    assert found.returncode == status
    assert found.stdout.startswith(f"### lockyard: {headline}\n")
    assert f"| `throughput.rate < {limit}%` |" in found.stdout


def test_every_row_of_a_table_has_as_many_cells(compared: Callable[..., Outcome]) -> None:
    lines = compared("--fail-if", "throughput.rate < -10%").stdout.splitlines()
    widths = [line.count("|") for line in lines if line.startswith("|")]
    assert set(widths) == {6, 9}


def test_a_bar_in_a_name_ends_no_cell(lockyard: Callable[..., Outcome], tmp_path: Path) -> None:
    files = [
        str(a_file(tmp_path / f"{name}.jsonl", rates(*[rate] * BLOCKS, lock="a|b")))
        for name, rate in (("a", 4e6), ("b", 2e6))
    ]
    lines = lockyard("compare", *files, "--format", "markdown").stdout.splitlines()
    assert any(line.startswith("| a\\|b | throughput") for line in lines)


def test_refuses_another_format(compared: Callable[..., Outcome]) -> None:
    assert compared("--format", "html").returncode == 2
