# SPDX-License-Identifier: Apache-2.0
"""Progress of a measurement: on standard error, and only on a terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import ProgressColumn, TaskID

    from lockyard.measure.cell import Cell
    from lockyard.measure.runner import Runner

# The time of a run that loops bound, for which the plan has no estimate.
UNKNOWN_RUN_S = 0.1


@contextmanager
def bar(title: str, done: ProgressColumn, total: float | None) -> Iterator[tuple[Progress, TaskID]]:
    """Shows a bar with one task, its title before the bar and `done` after the bar."""
    console = Console(stderr=True, emoji=False)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        done,
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        yield progress, progress.add_task(title, total=total)


@contextmanager
def shown_progress(runner: Runner) -> Iterator[None]:
    """Shows the current cell, and the time left as estimated from the runs so far."""
    with bar("starting", TaskProgressColumn(), None) as (progress, task):

        def on_run(cell: Cell) -> None:
            if runner.design is not None:
                done, total = runner.design.spent_s, runner.design.budget_s
                progress.update(task, description=cell.label, total=total, completed=done)
                return
            remaining = sum(
                runs * (each.run_s or UNKNOWN_RUN_S) for each, runs in runner.remaining_runs()
            )
            done = progress.tasks[task].completed
            progress.update(task, description=cell.label, total=done + remaining)
            progress.advance(task, cell.run_s or UNKNOWN_RUN_S)

        if not progress.disable:  # otherwise the estimate before each run would be wasted
            runner.on_run = on_run
        yield
