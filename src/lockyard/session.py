# SPDX-License-Identifier: Apache-2.0
"""Measuring from the first record to the exit status, as report and measure share it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lockyard import environment
from lockyard.errors import ExitStatus, UsageError
from lockyard.progress import shown_progress
from lockyard.records import RecordWriter
from lockyard.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockyard.harness import Record
    from lockyard.plan import Cell


@dataclass
class Measured:
    environment: dict[str, Any]
    runs: list[Record] = field(default_factory=list)
    interrupted: bool = False
    path: Path | None = None

    @property
    def status(self) -> ExitStatus:
        if self.interrupted:
            return ExitStatus.INTERRUPTED
        if any(run["status"] == "crashed" or not checks_hold(run) for run in self.runs):
            return ExitStatus.CHECK_FAILED
        if any(run["status"] == "overrun" for run in self.runs):
            return ExitStatus.INCONCLUSIVE
        return ExitStatus.DONE


def checks_hold(record: Record) -> bool:
    """A check that does not apply is null."""
    return all(value is not False for value in record["checks"].values())


def measure(
    cells: Sequence[Cell],
    seed: int,
    path: Path | None,
    to_stdout: bool,
    refuse_unavailable: bool,
) -> Measured:
    """Ctrl-C ends the measuring; what was measured is kept. With refuse_unavailable, a condition
    that cannot be had is an error of the caller's."""
    writer = RecordWriter(path, to_stdout)
    measured = Measured(environment.collect(), path=path)
    runner = Runner(cells, seed, measured.environment)
    runs = sum(cell.runs for cell in cells)
    at_most_s = sum(cell.budget_s for cell in cells)
    cell_count = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
    say(f"measuring {cell_count} in {runs} runs, at most {at_most_s:.0f} s (seed {seed})")
    try:
        writer.write(measured.environment)
        with shown_progress(runner):
            for record in runner.records():
                writer.write(record)
                measured.runs.append(record)
                if refuse_unavailable and record["status"] == "unavailable":
                    raise UsageError(record["reason"])
    except KeyboardInterrupt:
        measured.interrupted = True
        say("interrupted; what was measured is kept")
    finally:
        writer.close()
    return measured


def say(message: str) -> None:
    """Standard output is for data."""
    print(message, file=sys.stderr)  # noqa: T201
