# SPDX-License-Identifier: Apache-2.0
"""The page of `profile`: what to change, the causes of the waiting, its lengths and its moments."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from lockyard.field_kit.profile_text import described, lines
from lockyard.page.distributions import percentile_line
from lockyard.page.model import Advice, Axis, Chart, Missing, Page, Section, Series, Table, short
from lockyard.records.histogram import Histogram
from lockyard.report.naming import counted
from lockyard.report.units import duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.field_kit.contention import Contention, LongWait, Row
    from lockyard.page.model import Block

MOST_LOCKS = 12  # charts show so many, the most costly first; tables show all
MOST_THREADS = 24  # rows of the chart of long waits
MOST_WAITS = 3000  # slices of the same chart, the longest first


def page_of(processes: Sequence[Contention]) -> Page:
    sections = [section for found in processes for section in _sections(found, len(processes) > 1)]
    marked = list(dict.fromkeys(row.lock for found in processes for row in _shown(found)))
    title = "Locks that make threads wait"
    names = ", ".join(_program(found) for found in processes)
    return Page(title, names or "no process", sections, marked, marked)


def _program(found: Contention) -> str:
    name = os.path.basename(found.process.program)  # noqa: PTH119 - it is a text, no path here
    return f"{name} ({found.process.pid})"


def _shown(found: Contention) -> list[Row]:
    return found.rows[:MOST_LOCKS]


def _sections(found: Contention, named: bool) -> Iterator[Section]:
    suffix = f" · {_program(found)}" if named else ""
    verdict, *evidence = [line for line in lines(found) if line.strip()]
    lead = f"{counted(found.process.threads, 'thread')} of {duration(found.process.elapsed_ns)}"
    yield Section(f"Advice{suffix}", [Advice(verdict, evidence[-1] if evidence else "")], lead)
    charts: list[Block] = []
    if found.rows:
        charts += [*_causes(found), *_lengths(found)]
    if found.long_waits:
        charts.append(_moments(found))
    else:
        command = "lockyard profile --page FILE -- PROGRAM"
        charts.append(Missing("waits of at least 100 µs", command))
    yield Section(f"Waiting{suffix}", charts)
    yield Section(f"Tables{suffix}", [*_tables(found)])


def _causes(found: Contention) -> Iterator[Chart]:
    rows = _shown(found)
    by_cause: dict[str, dict[str, float]] = {}
    for row in rows:
        for (cause, _, _), waits in found.causes(row).items():
            of_lock = by_cause.setdefault(described(cause), {})
            of_lock[row.lock] = of_lock.get(row.lock, 0.0) + waits.ns
    ordered = sorted(by_cause.items(), key=lambda item: -sum(item[1].values()))
    if not ordered:
        return
    names = list(dict.fromkeys(row.lock for row in rows))
    first = rows[0]
    yield Chart(
        "stack",
        "Time that threads waited, by cause",
        f"Waiting time by lock and cause; most of it with {first.lock}: {duration(first.wait_ns)}, "
        f"mainly {described(found.main_cause(first)[0])}.",
        Axis("threads' time waited", "ns"),
        Axis("lock", names=names),
        [
            Series(cause, [short(of_lock.get(name, 0.0)) for name in names], names)
            for cause, of_lock in ordered
        ],
        data={"places": {cause: place for place, (cause, _) in enumerate(ordered, start=1)}},
        wide=True,
    )


def _lengths(found: Contention) -> Iterator[Chart]:
    series = []
    for row in _shown(found):
        histogram = Histogram()
        histogram.add(
            {
                "sub_bucket_bits": row.wait.sub_bucket_bits,
                "scale": row.wait.scale,
                "counts": row.wait.counts,
            }
        )
        line = percentile_line(row.lock, histogram)
        if line is not None:
            series.append(line)
    if series:
        yield Chart(
            "lines",
            "Lengths of the waits",
            f"Wait at each percentile, for {counted(len(series), 'lock')}.",
            Axis("share of the waits that are shorter", "nines", zero=True),
            Axis("wait", "ns", log=True),
            series,
            data={"plain": True},
            wide=True,
        )


def _moments(found: Contention) -> Chart:
    """Draws each long wait in the row of its thread; the cause is its colour and pattern."""
    waits = sorted(found.long_waits, key=lambda wait: -wait.wait_ns)[:MOST_WAITS]
    totals: dict[int, float] = {}
    for wait in waits:
        totals[wait.thread] = totals.get(wait.thread, 0.0) + wait.wait_ns
    threads = sorted(totals, key=lambda thread: -totals[thread])[:MOST_THREADS]
    names = {wait.thread: f"{wait.thread_name} {wait.thread}" for wait in waits}
    causes = list(dict.fromkeys(wait.cause for wait in waits))
    rows = {thread: place for place, thread in enumerate(threads)}
    slices: list[list[Any]] = [
        [
            rows[wait.thread],
            round(wait.begin_ns),
            round(wait.wait_ns),
            causes.index(wait.cause),
            _note(wait),
        ]
        for wait in waits
        if wait.thread in rows
    ]
    begin = min(each[1] for each in slices)
    end = max(each[1] + each[2] for each in slices)
    left_out = len(found.long_waits) - len(slices)
    room = max((end - begin) * 0.02, 1)
    patterns = ("/", "x", "-", ".", "\\", "+", "|")
    return Chart(
        "timeline",
        "Long waits of each thread",
        f"{counted(len(slices), 'wait')} of at least 100 µs, {counted(len(rows), 'thread')}; the "
        f"longest lasts {duration(waits[0].wait_ns)}, for {waits[0].lock}.",
        Axis("since the process started", "ns"),
        Axis("thread"),
        subtitle=f"{left_out} shorter ones are left out" if left_out else "",
        data={
            "rows": [names[thread] for thread in threads],
            "states": [
                {
                    "name": described(cause),
                    "hue": place % 8,
                    "solid": False,
                    "pattern": patterns[place % len(patterns)],
                }
                for place, cause in enumerate(causes)
            ],
            "slices": slices,
            "from": begin,
            "to": end,
            "range": [math.floor(begin - room), math.ceil(end + room)],
        },
        wide=True,
    )


def _note(wait: LongWait) -> str:
    place = f" at {wait.waiter_place}" if wait.waiter_place else ""
    holder = f", behind {wait.holder_place}" if wait.holder_place else ""
    return f"{wait.lock}{place}{holder}"


def _tables(found: Contention) -> Iterator[Table]:
    for title, rows in (("locks", found.rows), ("waits for events", found.idle)):
        if rows:
            yield Table(
                title,
                ["lock", "kind", "waits", "waited", "p50", "p99", "longest", "acquired"],
                [
                    [
                        row.lock, row.kind, str(row.waits), duration(row.wait_ns),
                        duration(row.p50_ns), duration(row.p99_ns), duration(row.longest_ns),
                        str(row.acquisitions),
                    ]
                    for row in rows
                ],
                open=True,
            )  # fmt: skip
    places = [
        [
            row.lock, waiter, holder, str(waits.count), duration(waits.ns),
            percent(waits.ns / row.wait_ns if row.wait_ns else None),
        ]
        for row in found.rows
        for (waiter, holder), waits in found.places(row).items()
    ]  # fmt: skip
    if places:
        yield Table(
            "places of waiters and holders",
            ["lock", "waiter", "holder", "waits", "waited", "share"],
            places,
        )
