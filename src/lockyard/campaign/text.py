# SPDX-License-Identifier: Apache-2.0
"""Prints what a campaign measured, with its machines side by side."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from lockyard.errors import LockyardError
from lockyard.history.figures import reduced
from lockyard.report.console import TEXT_COLUMNS, print_line, stdout_console
from lockyard.report.naming import counted
from lockyard.report.units import MISSING, duration, percent, rate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockyard.campaign.engine import Outcome
    from lockyard.campaign.plan import Campaign
    from lockyard.records.rows import Row

UNITS = {"ns": duration, "per_s": rate, "share": percent}
FAILURES_SHOWN = 5


def print_campaign(campaign: Campaign, outcome: Outcome) -> None:
    console = stdout_console(TEXT_COLUMNS)
    kept = f", {outcome.kept} were done before" if outcome.kept else ""
    print_line(
        console,
        f"{counted(outcome.done, 'task')} done{kept}, {len(outcome.failed)} without a result; "
        f"{len(outcome.lost)} started again after a lost worker",
    )
    for text in outcome.failed[:FAILURES_SHOWN]:
        print_line(console, f"- no result: {text}")
    if len(outcome.failed) > FAILURES_SHOWN:
        print_line(console, f"- and {len(outcome.failed) - FAILURES_SHOWN} more")
    if campaign.is_of_machines:
        for line in side_by_side(campaign.out, console.width):
            print_line(console, line)
    print_line(console, f"results: {campaign.out}")


def side_by_side(out: Path, width: int) -> list[str]:
    """Returns the lines of a table with a column for each machine, continued below where they do
    not fit."""
    machines = sorted(each.name for each in out.iterdir() if each.is_dir()) if out.is_dir() else []
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for machine in machines:
        for key, text in _medians(sorted((out / machine).glob("*.jsonl"))).items():
            found.setdefault(key, {})[machine] = text
    if not found:
        return []
    heads = ("study", "lock", "threads", "figure")
    rows = [heads, *sorted(found)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(heads))]
    size = max(len(MISSING), *(len(text) for each in found.values() for text in each.values()))
    size = max(size, *(min(len(machine), 24) for machine in machines))
    fitting = max(1, (width - sum(widths) - 2 * len(widths)) // (size + 2))
    lines = []
    for first in range(0, len(machines), fitting):
        some = machines[first : first + fitting]
        for row in rows:
            names = [cell.ljust(wide) for cell, wide in zip(row, widths, strict=True)]
            values = (
                machine[-24:] if row is heads else found[row].get(machine, MISSING)
                for machine in some
            )
            lines.append("  ".join([*names, *(value.rjust(size) for value in values)]).rstrip())
        lines.append("")
    return ["", *lines]


def _medians(files: Sequence[Path]) -> dict[tuple[str, ...], str]:
    """Returns the median of each figure over the runs of all files; damaged files are left out."""
    values: dict[tuple[str, ...], list[float]] = {}
    units: dict[tuple[str, ...], str] = {}
    for file in files:
        try:
            rows, _ = reduced(file)
        except LockyardError:
            continue
        for row in rows:
            key = _key(row)
            values.setdefault(key, []).append(float(row["value"] or 0.0))
            units[key] = str(row["unit"])
    return {key: _text(statistics.median(some), units[key]) for key, some in values.items()}


def _key(row: Row) -> tuple[str, ...]:
    study = f"{row['study']} · {row['setting']}" if row["setting"] else str(row["study"])
    return study, str(row["lock"] or ""), str(row["threads"]), str(row["figure"])


def _text(value: float, unit: str) -> str:
    shown = UNITS.get(unit)
    return shown(value) if shown else f"{value:.4g}"
