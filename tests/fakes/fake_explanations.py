# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests of explain: questions to fake traces, and traces next to records and truth."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import fake_stalls as injected
from fake_records import a_record
from fake_trace import LOCK, START, US

from lockyard.explain.stalls import StallKind, explain
from lockyard.explain.trace import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from fake_trace import FakeTrace

    from lockyard.explain.stalls import ExplainedLock, Explanation, Stall

LEAST_NS = 100e3


def explanation_of(trace: FakeTrace, folder: Path, least_ns: float = LEAST_NS) -> Explanation:
    return explain(read_trace(trace.write(folder / "made-up.trace")), least_ns)


def idle_of(trace: FakeTrace, folder: Path) -> tuple[Explanation, ExplainedLock, Stall]:
    """Returns the explanation of a trace's one lock with its longest idle time of 10 µs or more."""
    explanation = explanation_of(trace, folder, 10e3)
    (lock,) = explanation.locks
    ended = [each for each in lock.stalls if each.kind is StallKind.IDLE and not each.is_open]
    return explanation, lock, max(ended, key=lambda each: each.length)


def longest(found: Explanation, kind: StallKind) -> Stall:
    stalls = [each for lock in found.locks for each in lock.stalls if each.kind is kind]
    return max(stalls, key=lambda each: each.length)


def wait_of(found: Explanation, tid: int) -> tuple[ExplainedLock, Stall]:
    """The one wait of that thread that lasted long enough to be a stall."""
    (one,) = (
        (lock, each)
        for lock in found.locks
        for each in lock.stalls
        if each.kind is StallKind.WAIT and found.threads[each.subject].tid == tid
    )
    return one


def records(folder: Path, *runs: tuple[int, FakeTrace | None]) -> Path:
    """Makes runs of ticket_spinlock with 2 threads, one for each block, traced if there is a
    trace."""
    path = folder / "records.jsonl"
    (folder / "records.jsonl.traces").mkdir()
    lines = []
    for block, trace in runs:
        name = f"{block}.trace" if trace else None
        if trace:
            trace.write(folder / "records.jsonl.traces" / f"{block}.trace")
        rates = {"plain_operations_per_s": 1000.0, "traced_operations_per_s": 980.0 + block}
        values = {**rates, "switches_per_s": 123.0, "trace": name}
        record = a_record("stalls", "ticket_spinlock", block, values=values)
        lines.append(json.dumps({"schema": 1, **record}))
    path.write_text("\n".join(lines) + "\n")
    return path


def truth(path: Path, cause: str, begin_us: float = 10, end_us: float = 3000) -> None:
    moments = {
        f"{end}_ticks": START + round(at * US) for end, at in (("begin", begin_us), ("end", end_us))
    }
    row = {"class": cause, **moments, "lock": LOCK, "tid": injected.WAITER}
    side = path.with_name(path.name + ".truth.jsonl")
    known = side.read_text() if side.exists() else ""
    side.write_text(known + json.dumps(row) + "\n")


def injected_folder(tmp_path: Path) -> Path:
    for scene, _, cause in injected.SCENES:
        path = tmp_path / f"{scene.__name__}.trace"
        if not path.exists():
            scene().write(path)
            truth(path, cause.whole.stored)
    return tmp_path
