# SPDX-License-Identifier: Apache-2.0
"""Causes of stalls as bars, and the longest stalls as timelines that zoom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.errors import LockyardError
from lockyard.explain.causes import Cause
from lockyard.explain.evidence import evidence
from lockyard.explain.stalls import StallKind
from lockyard.page.model import Axis, Chart, Missing, Remark, Section, Series, Table, short
from lockyard.page.timeline import timeline
from lockyard.records import traces_beside
from lockyard.report.naming import counted
from lockyard.report.units import duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lockyard.explain.session import Explained, LongStall
    from lockyard.explain.totals import Total
    from lockyard.page.model import Block

TOP = 6
LONGER_THAN_NS = 10e3
TITLES = {
    StallKind.WAIT: "Causes of long waits",
    StallKind.IDLE: "Causes of times in which the lock was free but wanted",
}
NAMES = {
    Cause.HELD_RUNNING: "long hold",
    Cause.MACHINE_GAP: "the machine",
    Cause.HOLDER_PREEMPTED_IN_RELEASE: "holder preempted in release",
}
MISSING = Missing("causes and timelines of stalls", "lockyard measure stalls --out FILE")
LEAD = (
    "Each moment of a stall has a cause with evidence in the trace, or counts as unexplained. "
    "Timelines show who held the lock, who waited, and where threads did not run."
)


def section_of_records(path: Path | None) -> Section:
    """Explains the traces next to the records, if there are any."""
    title = "Causes of stalls"
    if path is None or not traces_beside(path).is_dir():
        return Section(title, [MISSING], LEAD)
    from lockyard.explain.session import Wanted, explained
    from lockyard.explain.source import found

    try:
        result = explained(found(path, None, None), Wanted((), TOP, LONGER_THAN_NS))
    except LockyardError as error:
        return Section(title, [Remark(str(error)), MISSING], LEAD)
    return Section(title, [*causes(result), *timelines(result.longest)], LEAD)


def name_of(cause: Cause) -> str:
    return NAMES.get(cause, cause.stored.replace("_", " "))


def causes(explained: Explained) -> Iterator[Block]:
    for kind in (StallKind.WAIT, StallKind.IDLE):
        totals = [each for each in explained.totals.of(kind) if each.stalled_ns]
        if totals:
            yield _causes(kind, totals, explained.longer_than_ns)
    for kind in (StallKind.WAIT, StallKind.IDLE):
        totals = explained.totals.of(kind)
        if totals:
            yield _table(kind, totals)


def _causes(kind: StallKind, totals: Sequence[Total], longer_than_ns: float) -> Chart:
    locks = [total.lock for total in totals]
    seen = [c for c in Cause if any(total.by_cause_ns.get(c) for total in totals)]
    seen.sort(key=lambda c: -sum(total.by_cause_ns.get(c, 0.0) for total in totals))
    series = [
        Series(
            name_of(cause),
            [short(100 * (total.share(cause) or 0.0)) for total in totals],
            locks,
            notes=[
                f"{duration(total.by_cause_ns.get(cause, 0.0))} of {duration(total.stalled_ns)}"
                for total in totals
            ],
        )
        for cause in seen
    ]
    first = totals[0]
    main = max(seen, key=lambda cause: first.by_cause_ns.get(cause, 0.0))
    return Chart(
        "stack",
        TITLES[kind],
        f"Shares of the stalled time by cause. With {first.lock}, which stalled most "
        f"({duration(first.stalled_ns)}), {name_of(main)} takes {percent(first.share(main))}.",
        Axis("share of the stalled time", "percent"),
        Axis("lock", names=locks),
        series,
        f"stalls from {duration(longer_than_ns)} on",
        data={"places": {name_of(cause): int(cause) for cause in seen}},
        wide=True,
    )


def _table(kind: StallKind, totals: Sequence[Total]) -> Table:
    seen = [cause for cause in Cause if any(total.by_cause_ns.get(cause) for total in totals)]
    rows = [
        [
            total.lock,
            str(total.stalls),
            duration(total.stalled_ns),
            duration(total.longest_ns),
            *(percent(total.share(cause)) for cause in seen),
        ]
        for total in totals
    ]
    heads = ["lock", "stalls", "stalled", "longest", *(name_of(cause) for cause in seen)]
    return Table(TITLES[kind], heads, rows, "Shares are of the stalled time.", open=True)


def timelines(longest: Sequence[LongStall]) -> Iterator[Block]:
    for place, long in enumerate(longest, start=1):
        yield timeline(place, long)
    for place, long in enumerate(longest, start=1):
        found = evidence(long.explanation, long.lock, long.stall)
        rows = [
            [name_of(e.cause), e.thread, duration(e.begin_ns), duration(e.length_ns), e.text]
            for e in found
        ]
        title = f"evidence for stall {place}, {duration(long.length_ns)} with {long.name}"
        yield Table(title, ["cause", "thread", "begins after", "lasts", "what happened"], rows)


def headline(explained: Explained) -> str:
    traces = counted(explained.traces, "trace")
    return f"{traces}, stalls from {duration(explained.longer_than_ns)} on"
