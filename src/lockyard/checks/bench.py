# SPDX-License-Identifier: Apache-2.0
"""Measures the speed of the checker and compares it with targets."""

from __future__ import annotations

import resource
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from lockyard.checks.clients import ClientSize
from lockyard.checks.document import BenchDocument, BenchMemory
from lockyard.checks.result import ANY_BOUND, Check, Result, Settings, Standing
from lockyard.documents import print_document
from lockyard.errors import ExitStatus
from lockyard.report.console import stdout_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.checks.clients import Client
    from lockyard.checks.session import Session

# The search looks up one state in five or six of such locks, and counts no others.
TARGET_PER_S_PER_CORE = 0.05e6
# The time limit of a figure whose target is a few seconds.
LIMIT_S = 120.0
# A rate is taken over repetitions for this long; one check alone takes milliseconds.
RATE_S = 1.0
TICKET, MCS, FUTEX = "ticket_spinlock", "mcs_lock", "futex_mutex"
QUEUED, MUTEX = "queued_spinlock", "mutex"


@dataclass(frozen=True)
class Figure:
    title: str
    names: tuple[str, ...]
    size: ClientSize
    at_most_s: float | None = None  # None: the target is a rate
    exhaustive: bool = False  # within no bound, or the target is missed


def figures(clients: Sequence[Client]) -> list[Figure]:
    """Returns the figures whose locks the checker knows."""
    locks = [each.name for each in clients if each.group == "lock" or each.name == MCS]
    spinning = tuple(name for name in locks if name.endswith("spinlock") or name == MCS)
    wanted = [
        Figure(f"{TICKET} 3x2", (TICKET,), ClientSize(3, 2)),
        Figure(f"{TICKET} 4x1", (TICKET,), ClientSize(4)),
        Figure("spinlocks and MCS 3x1 together", spinning, ClientSize(3), at_most_s=5),
        Figure(f"{MCS} 3x2", (MCS,), ClientSize(3, 2), at_most_s=10),
        Figure(f"{FUTEX} 2x2", (FUTEX,), ClientSize(2, 2), at_most_s=10),
        Figure(f"{FUTEX} 3x1", (FUTEX,), ClientSize(3), at_most_s=10),
        Figure(f"{QUEUED} 4x1", (QUEUED,), ClientSize(4), at_most_s=60, exhaustive=True),
        Figure(f"{MUTEX} 3x1", (MUTEX,), ClientSize(3), at_most_s=300, exhaustive=True),
        Figure(f"{MUTEX} 2x2", (MUTEX,), ClientSize(2, 2), at_most_s=300, exhaustive=True),
        Figure(
            f"{MUTEX} 2x1 timed", (MUTEX,), ClientSize(timed=True), at_most_s=300, exhaustive=True
        ),
    ]
    return [each for each in wanted if each.names and set(each.names) <= set(locks)]


def run(
    session: Session, clients: Sequence[Client], settings: Settings, as_json: bool
) -> ExitStatus:
    by_name = {each.name: each for each in clients}
    rows: list[BenchDocument] = []
    for figure in figures(clients):
        limited = replace(settings, seconds=settings.seconds or max(figure.at_most_s or 0, LIMIT_S))
        if figure.exhaustive:
            limited = replace(limited, bound=ANY_BOUND)
        checks = [Check(by_name[name], figure.size, limited) for name in figure.names]
        results = list(session.results(checks))
        while figure.at_most_s is None and _spent_s(results) < RATE_S and not session.interrupted:
            results += session.results(checks)
        if session.interrupted:
            break
        rows.append(measured(figure, results, settings.workers))
    session.checker.close()  # the kernel counts the memory of ended processes only
    peak_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    if as_json:
        for row in rows:
            print_document(row)
        print_document(BenchMemory(peak_bytes))
    else:
        _print(rows, peak_bytes, settings.workers)
    return ExitStatus.INTERRUPTED if session.interrupted else ExitStatus.DONE


def _spent_s(results: Sequence[Result]) -> float:
    return sum(each.seconds for each in results)


def measured(figure: Figure, results: Sequence[Result], workers: int) -> BenchDocument:
    seconds = _spent_s(results)
    states = sum(each.states for each in results)
    rate = states / seconds / workers if seconds > 0 else 0.0
    bounds = sorted({each.coverage for each in results} - {"exhaustive"})
    done = all(each.standing is Standing.EXPECTED for each in results)
    if figure.at_most_s is None:
        met = done and rate >= TARGET_PER_S_PER_CORE
    else:
        met = done and seconds < figure.at_most_s and not (figure.exhaustive and bounds)
    return BenchDocument(
        figure=figure.title,
        executions=sum(each.executions for each in results),
        states=states,
        seconds=seconds,
        states_per_s_per_core=rate,
        target_seconds=figure.at_most_s,
        target_states_per_s_per_core=None if figure.at_most_s else TARGET_PER_S_PER_CORE,
        done=done,
        coverage="; ".join(bounds) or "exhaustive",
        met=met,
    )


def _print(rows: Sequence[BenchDocument], peak_bytes: int, workers: int) -> None:
    console = stdout_console()
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("figure")
    for title in ("executions", "states", "seconds", "M states/s/core", "target", "met"):
        table.add_column(title, justify="right")
    table.add_column("coverage")
    for row in rows:
        limit_s = row.target_seconds
        table.add_row(
            row.figure,
            f"{row.executions:,}",
            f"{row.states:,}",
            f"{row.seconds:.2f}",
            f"{row.states_per_s_per_core / 1e6:.2f}",
            f"< {limit_s:g} s" if limit_s else f">= {TARGET_PER_S_PER_CORE / 1e6:g} M/s/core",
            ("yes" if row.met else "no") if row.done else "not finished",
            row.coverage,
        )
    console.print(table)
    console.print(f"{workers} workers; the checker took at most {peak_bytes / 2**20:,.0f} MiB")
