# SPDX-License-Identifier: Apache-2.0
"""Explains traces one after the other, and keeps the results that are shown."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockyard.errors import UsageError
from lockyard.explain.stalls import StallKind, explain
from lockyard.explain.totals import Overhead, Totals, overheads
from lockyard.explain.trace import read_trace

if TYPE_CHECKING:
    from lockyard.explain.source import Found, Source
    from lockyard.explain.stalls import ExplainedLock, Explanation, Stall


@dataclass(frozen=True)
class Wanted:
    locks: tuple[str, ...]  # empty: all
    top: int
    longer_than_ns: float


@dataclass(frozen=True)
class LongStall:
    name: str
    source: Source
    explanation: Explanation
    lock: ExplainedLock
    stall: Stall

    @property
    def length_ns(self) -> float:
        return self.explanation.trace.ns(self.stall.length)


@dataclass
class Explained:
    longer_than_ns: float
    traces: int = 0
    threads: int = 0
    too_early: int = 0
    covered_shares: list[float] = field(default_factory=list)  # only traces with overwritten rings
    totals: Totals = field(default_factory=Totals)
    longest: list[LongStall] = field(default_factory=list)
    overheads: list[Overhead] = field(default_factory=list)
    why_no_switches: dict[str, None] = field(default_factory=dict)
    why_no_wakeups: dict[str, None] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    # How long threads waited for a processor, and how long of that another one was idle; where the
    # kernel's records of idle processors are known.
    waited_ns: float = 0.0
    wasted_ns: float = 0.0
    knows_idle: bool = False


def explained(found: Found, wanted: Wanted) -> Explained:
    result = Explained(wanted.longer_than_ns, warnings=list(found.warnings))
    result.overheads = overheads(found.runs_of)
    seen: dict[str, None] = {}
    for source in found.traces:
        explanation = explain(read_trace(source.path), wanted.longer_than_ns)
        seen.update(dict.fromkeys(lock.name for lock in explanation.locks))
        _add(result, source, explanation, wanted)
    if wanted.locks and not result.traces:
        raise UsageError(
            f"--lock {','.join(wanted.locks)}: no such lock in the traces; choose from "
            f"{', '.join(seen) or 'none: the traces hold no lock'}"
        )
    if not seen:
        result.warnings.append("the traces hold no acquisition, so there is nothing to explain")
    return result


def _add(result: Explained, source: Source, explanation: Explanation, wanted: Wanted) -> None:
    trace = explanation.trace
    if wanted.locks:
        explanation.locks = [lock for lock in explanation.locks if _is_wanted(lock, source, wanted)]
        if not explanation.locks:
            return
    result.traces += 1
    result.threads += len(explanation.threads)
    result.too_early += explanation.too_early
    if explanation.idle.are_known:
        waited, wasted = explanation.idle.waited_and_wasted(explanation.threads)
        result.knows_idle = True
        result.waited_ns += trace.ns(waited)
        result.wasted_ns += trace.ns(wasted)
    if any(ring.overwritten for ring in trace.rings):
        result.covered_shares.append(trace.covered_share)
    result.warnings += trace.warnings
    result.warnings += [
        f"{trace.path}: {lock.history.overlaps} acquisitions of {lock.name} began while it was "
        "held, so it is a shared lock, or several locks had one address; only the last owner is "
        "shown"
        for lock in explanation.locks
        if lock.history.overlaps
    ]
    if not trace.has_switches:
        result.why_no_switches[trace.why_no_switches or "the trace gives no reason"] = None
    elif not trace.has_wakeups:
        result.why_no_wakeups[trace.why_no_wakeups or "the trace gives no reason"] = None
    names = [_name(lock, source, explanation) for lock in explanation.locks]
    result.totals.add(explanation, names, StallKind)
    result.longest = heapq.nlargest(
        wanted.top,
        [
            *result.longest,
            *(
                LongStall(name, source, explanation, lock, stall)
                for name, lock in zip(names, explanation.locks, strict=True)
                for stall in lock.stalls
            ),
        ],
        key=lambda long: long.length_ns,
    )


def _is_wanted(lock: ExplainedLock, source: Source, wanted: Wanted) -> bool:
    return lock.name in wanted.locks or (
        source.record is not None and source.record["lock"] in wanted.locks
    )


def _name(lock: ExplainedLock, source: Source, explanation: Explanation) -> str:
    """Returns the record's name for the cell if the trace has only one lock, or the lock's name."""
    return source.cell if source.cell and len(explanation.locks) == 1 else lock.name
