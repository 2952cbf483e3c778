# SPDX-License-Identifier: Apache-2.0
"""Explanations as JSON documents. schema/explain.schema.json is generated from these types."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from lockyard.documents import AtLeastOne, Count
from lockyard.explain.causes import Cause
from lockyard.explain.evidence import evidence
from lockyard.explain.stalls import StallKind

if TYPE_CHECKING:
    from lockyard.explain.session import Explained, LongStall
    from lockyard.explain.totals import Overhead, Total
    from lockyard.explain.truth import Matrix

CauseName = StrEnum("CauseName", {cause.name: cause.stored for cause in Cause})  # type: ignore[misc]
FoundName = StrEnum(  # type: ignore[misc]
    "FoundName", {"NONE": "none", **{cause.name: cause.stored for cause in Cause}}
)
Time = Annotated[float, Meta(ge=0)]
# The generated schema does not say it of keys by itself.
ONLY_CAUSES = Meta(extra_json_schema={"propertyNames": {"enum": list(CauseName)}})
ONLY_FOUND = Meta(extra_json_schema={"propertyNames": {"enum": list(FoundName)}})
Share = Annotated[float, Meta(ge=0, le=1.000001)]


class OverheadOfCell(Struct, frozen=True):
    cell: str
    traced_to_plain: Annotated[
        float,
        Meta(
            description="The ratio of throughputs; low and high are its 95 % interval, null if "
            "there are too few blocks."
        ),
    ]
    low: float | None
    high: float | None
    blocks: AtLeastOne
    switches_per_s: Time


class LockTotal(Struct, frozen=True):
    """The stalls of one kind of a lock. Each cause has a key."""

    lock: str
    kind: StallKind
    stalls: Count
    stalled_ns: Annotated[Time, Meta(description="The sum of causes_ns.")]
    longest_ns: Time
    watched_ns: Time
    causes_ns: Annotated[dict[CauseName, Time], ONLY_CAUSES]
    stalls_by_cause: Annotated[dict[CauseName, Count], ONLY_CAUSES]


class EvidenceOfStall(Struct, frozen=True):
    cause: CauseName
    thread: str
    begin_ns: Annotated[float, Meta(description="Time since the beginning of the stall.")]
    length_ns: Time
    text: str


class LongestStall(Struct, frozen=True):
    trace: str
    lock: str
    kind: StallKind
    tid: Annotated[
        Count,
        Meta(description="The waiting thread; for a free lock, the thread that acquires next."),
    ]
    thread: str
    begin_ns: Annotated[float, Meta(description="Time since the start of the trace.")]
    length_ns: Time
    open: Annotated[bool, Meta(description="True if the stall had not ended when the trace ended.")]
    overtakings: Count
    cause: CauseName
    shares: Annotated[dict[CauseName, Share], ONLY_CAUSES]
    evidence: list[EvidenceOfStall]


class ExplanationDocument(Struct, frozen=True, tag_field="record", tag="explanation", kw_only=True):
    """Version 1. A reader tolerates keys that are not described here."""

    schema: Literal[1]
    longer_than_ns: Annotated[
        float, Meta(gt=0, description="The shortest wait that counts as a stall.")
    ]
    traces: Count
    threads: Count
    stalls_too_early: Annotated[
        Count,
        Meta(
            description="Stalls that are not explained, because they began before the time that "
            "all rings cover."
        ),
    ]
    covered_shares: Annotated[
        list[Share],
        Meta(
            description="For each trace with overwritten rings, the share of its time that is "
            "explained."
        ),
    ]
    has_switches: Annotated[bool, Meta(description="Over all traces.")]
    has_wakeups: Annotated[bool, Meta(description="Over all traces.")]
    why_no_switches: list[str]
    why_no_wakeups: list[str]
    waited_for_processor_ns: Annotated[
        Time | None,
        Meta(
            description="Time in which threads waited for a processor; null if it is unknown "
            "which processors were idle.",
        ),
    ]
    idle_processor_meanwhile_ns: Annotated[
        Time | None, Meta(description="The part in which a processor was idle.")
    ]
    overhead: list[OverheadOfCell]
    locks: Annotated[
        list[LockTotal],
        Meta(description="An entry for each lock and kind of stalls, the most stalled first."),
    ]
    stalls: Annotated[list[LongestStall], Meta(description="The longest stalls.")]
    warnings: list[str]


class InjectedCause(Struct, frozen=True):
    times: AtLeastOne
    right_share: Share
    found: Annotated[dict[FoundName, AtLeastOne], ONLY_FOUND]


class ConfusionMatrix(
    Struct, frozen=True, tag_field="record", tag="confusion_matrix", kw_only=True
):
    """The output with --truth."""

    schema: Literal[1]
    right_share_wanted: Share
    holds: bool
    outside: Annotated[Count, Meta(description="Injected stalls that the rings no longer contain.")]
    injected: Annotated[dict[CauseName, InjectedCause], ONLY_CAUSES]
    wrong: list[str]


def document(explained: Explained) -> ExplanationDocument:
    totals = [total for kind in StallKind for total in explained.totals.of(kind)]
    return ExplanationDocument(
        schema=1,
        longer_than_ns=explained.longer_than_ns,
        traces=explained.traces,
        threads=explained.threads,
        stalls_too_early=explained.too_early,
        covered_shares=explained.covered_shares,
        has_switches=not explained.why_no_switches,
        has_wakeups=not (explained.why_no_wakeups or explained.why_no_switches),
        why_no_switches=list(explained.why_no_switches),
        why_no_wakeups=list(explained.why_no_wakeups),
        waited_for_processor_ns=_if(explained.knows_idle, explained.waited_ns),
        idle_processor_meanwhile_ns=_if(explained.knows_idle, explained.wasted_ns),
        overhead=[_overhead(each) for each in explained.overheads],
        locks=[_total(total) for total in totals],
        stalls=[_stall(long) for long in explained.longest],
        warnings=explained.warnings,
    )


def _if(known: bool, value: float) -> float | None:
    return float(value) if known else None


def _overhead(each: Overhead) -> OverheadOfCell:
    ratio = each.ratio
    return OverheadOfCell(
        each.cell, ratio.median, ratio.low, ratio.high, ratio.blocks, each.switches_per_s
    )


def _total(total: Total) -> LockTotal:
    return LockTotal(
        lock=total.lock,
        kind=total.kind,
        stalls=int(total.stalls),
        stalled_ns=float(total.stalled_ns),
        longest_ns=float(total.longest_ns),
        watched_ns=float(total.watched_ns),
        causes_ns={_name(each): float(total.by_cause_ns.get(each, 0.0)) for each in Cause},
        stalls_by_cause={_name(each): int(total.stalls_by_cause.get(each, 0)) for each in Cause},
    )


def _stall(long: LongStall) -> LongestStall:
    stall, trace = long.stall, long.explanation.trace
    thread = long.explanation.threads[stall.subject]
    shown = evidence(long.explanation, long.lock, stall)
    return LongestStall(
        trace=str(trace.path),
        lock=long.name,
        kind=stall.kind,
        tid=int(thread.tid),
        thread=thread.name,
        begin_ns=float(trace.ns(stall.begin)),
        length_ns=float(trace.ns(stall.length)),
        open=bool(stall.is_open),
        overtakings=int(stall.overtakings),
        cause=_name(stall.cause),
        shares={_name(each): float(stall.share(each)) for each in Cause if stall.amounts[each]},
        evidence=[
            EvidenceOfStall(
                _name(each.cause),
                each.thread,
                float(each.begin_ns),
                float(each.length_ns),
                each.text,
            )
            for each in shown
        ],
    )


def matrix_document(matrix: Matrix, right_share: float) -> ConfusionMatrix:
    counts = sorted(matrix.counts.items(), key=lambda each: -each[1])
    return ConfusionMatrix(
        schema=1,
        right_share_wanted=right_share,
        holds=bool(matrix.holds),
        outside=matrix.outside,
        injected={
            _name(cause): InjectedCause(
                times=matrix.injected(cause),
                right_share=float(matrix.right_share(cause)),
                found={
                    FoundName("none" if found is None else found.stored): count
                    for (injected, found), count in counts
                    if injected is cause
                },
            )
            for cause in matrix.causes
        },
        wrong=matrix.wrong,
    )


def _name(cause: Cause) -> CauseName:
    return CauseName(cause.stored)
