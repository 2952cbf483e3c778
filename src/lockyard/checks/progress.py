# SPDX-License-Identifier: Apache-2.0
"""Progress of a check: on standard error, and only on a terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockyard import checker
    from lockyard.checks.result import Check
    from lockyard.checks.session import Session


@contextmanager
def shown_progress(session: Session) -> Iterator[None]:
    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("starting", total=None)

        def on_progress(check: Check, covered: checker.Progress, spent_s: float) -> None:
            bar.update(task, description=escape(described(check, covered, spent_s)))

        session.on_progress = on_progress
        yield


def described(check: Check, covered: checker.Progress, spent_s: float) -> str:
    injected = f" with {check.mutation['words']}" if check.mutation else ""
    text = f"{check.label}{injected}"
    if not covered or spent_s <= 0:
        return text
    executions, states = covered.get("executions", 0), covered.get("states", 0)
    rate_k = (states or executions) / spent_s / 1e3
    kind = "states" if states else "executions"
    return f"{text} · {executions:,} executions, {states:,} states, {rate_k:,.0f} k {kind}/s"
