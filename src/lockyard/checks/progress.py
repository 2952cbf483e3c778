# SPDX-License-Identifier: Apache-2.0
"""Progress of a check, on standard error: a line that changes on a terminal, otherwise a line of
its own from time to time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from lockyard.measure.session import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lockyard import checker
    from lockyard.checks.result import Check
    from lockyard.checks.session import Session


EVERY_S = 10.0  # between two lines


@contextmanager
def shown_progress(session: Session) -> Iterator[None]:
    console = Console(stderr=True, emoji=False)
    if not console.is_terminal:
        session.on_progress = lines_of(say)
        yield
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("starting", total=None)

        def on_progress(check: Check, covered: checker.Progress, spent_s: float) -> None:
            bar.update(task, description=escape(described(check, covered, spent_s)))

        session.on_progress = on_progress
        yield


def lines_of(write: Callable[[str], None]) -> Callable[[Check, checker.Progress, float], None]:
    """Returns a receiver of progress, which writes about it once in EVERY_S of a check."""
    due_s = EVERY_S

    def on_progress(check: Check, covered: checker.Progress, spent_s: float) -> None:
        nonlocal due_s
        if not covered:
            due_s = EVERY_S  # a check begins
        elif spent_s >= due_s:
            due_s = spent_s + EVERY_S
            write(f"{described(check, covered, spent_s)}, after {spent_s:.0f} s")

    return on_progress


def described(check: Check, covered: checker.Progress, spent_s: float) -> str:
    injected = f" with {check.mutation['words']}" if check.mutation else ""
    text = f"{check.label}{injected}"
    if not covered or spent_s <= 0:
        return text
    executions, states = covered.get("executions", 0), covered.get("states", 0)
    rate_k = (states or executions) / spent_s / 1e3
    kind = "states" if states else "executions"
    return f"{text} · {executions:,} executions, {states:,} states, {rate_k:,.0f} k {kind}/s"
