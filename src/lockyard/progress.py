# SPDX-License-Identifier: Apache-2.0
"""What a person sees while measuring: on standard error, and only on a terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockyard.cell import Cell
    from lockyard.runner import Runner

# A run's own time, where the plan names none because loops bound it.
UNKNOWN_RUN_S = 0.1


@contextmanager
def shown_progress(runner: Runner) -> Iterator[None]:
    """Names the cell under way and the time left, as the runs so far let it be estimated."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("starting", total=None)

        def on_run(cell: Cell) -> None:
            remaining = sum(
                runs * (each.run_s or UNKNOWN_RUN_S) for each, runs in runner.remaining_runs()
            )
            done = bar.tasks[task].completed
            bar.update(task, description=cell.label, total=done + remaining)
            bar.advance(task, cell.run_s or UNKNOWN_RUN_S)

        if console.is_terminal:  # nobody else sees what each run would have to work out
            runner.on_run = on_run
        yield
