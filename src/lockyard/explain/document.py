# SPDX-License-Identifier: Apache-2.0
"""Converts explanations to JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockyard.explain.causes import Cause
from lockyard.explain.evidence import evidence
from lockyard.explain.stalls import StallKind

if TYPE_CHECKING:
    from lockyard.explain.session import Explained, LongStall
    from lockyard.explain.totals import Overhead, Total

SCHEMA = 1


def document(explained: Explained) -> dict[str, Any]:
    totals = [total for kind in StallKind for total in explained.totals.of(kind)]
    return {
        "schema": SCHEMA,
        "record": "explanation",
        "longer_than_ns": explained.longer_than_ns,
        "traces": explained.traces,
        "threads": explained.threads,
        "stalls_too_early": explained.too_early,
        "covered_shares": explained.covered_shares,
        "has_switches": not explained.why_no_switches,
        "has_wakeups": not (explained.why_no_wakeups or explained.why_no_switches),
        "why_no_switches": list(explained.why_no_switches),
        "why_no_wakeups": list(explained.why_no_wakeups),
        "waited_for_processor_ns": explained.waited_ns if explained.knows_idle else None,
        "idle_processor_meanwhile_ns": explained.wasted_ns if explained.knows_idle else None,
        "overhead": [_overhead(each) for each in explained.overheads],
        "locks": [_total(total) for total in totals],
        "stalls": [_stall(long) for long in explained.longest],
        "warnings": explained.warnings,
    }


def _overhead(each: Overhead) -> dict[str, Any]:
    return {
        "cell": each.cell,
        "traced_to_plain": each.ratio.median,
        "low": each.ratio.low,
        "high": each.ratio.high,
        "blocks": each.ratio.blocks,
        "switches_per_s": each.switches_per_s,
    }


def _total(total: Total) -> dict[str, Any]:
    return {
        "lock": total.lock,
        "kind": total.kind.value,
        "stalls": total.stalls,
        "stalled_ns": total.stalled_ns,
        "longest_ns": total.longest_ns,
        "watched_ns": total.watched_ns,
        "causes_ns": {cause.stored: total.by_cause_ns.get(cause, 0.0) for cause in Cause},
        "stalls_by_cause": {cause.stored: total.stalls_by_cause.get(cause, 0) for cause in Cause},
    }


def _stall(long: LongStall) -> dict[str, Any]:
    stall, trace = long.stall, long.explanation.trace
    thread = long.explanation.threads[stall.subject]
    return {
        "trace": str(trace.path),
        "lock": long.name,
        "kind": stall.kind.value,
        "tid": thread.tid,
        "thread": thread.name,
        "begin_ns": trace.ns(stall.begin),
        "length_ns": trace.ns(stall.length),
        "open": stall.is_open,
        "overtakings": stall.overtakings,
        "cause": stall.cause.stored,
        "shares": {cause.stored: stall.share(cause) for cause in Cause if stall.amounts[cause]},
        "evidence": [
            {
                "cause": each.cause.stored,
                "thread": each.thread,
                "begin_ns": each.begin_ns,
                "length_ns": each.length_ns,
                "text": each.text,
            }
            for each in evidence(long.explanation, long.lock, stall)
        ],
    }
