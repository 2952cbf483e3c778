# SPDX-License-Identifier: Apache-2.0
"""What `lockyard profile` says of a process, for people."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING

from lockyard.field_kit.recorded import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockyard.field_kit.contention import Contention, Row

SHOWN_ROWS, SHOWN_PLACES = 10, 3
NAME_WIDTH, VERDICT_WIDTH = 30, 100
SMALL_SHARE = 0.01  # Below this share of the run, no lock is worth a change.
CONVOY = 0.1  # From so many futex calls for each acquisition on, wake-ups are the cost.
CONVOY_CAUSES = ("others first", "short", "woken late")


def lines(found: Contention) -> list[str]:
    """Returns the verdict first, then the evidence."""
    text = [_verdict(found), ""]
    if found.rows:
        text += [*_table(found.rows), ""]
        for row in found.rows[:SHOWN_PLACES]:
            text += _evidence(found, row)
    if found.idle:
        text += ["waits for events, which may be idleness:", *_table(found.idle), ""]
        text += [line for row in found.idle[:SHOWN_PLACES] for line in _wakers(found, row)]
    return [*text, *_counted(found)]


def _verdict(found: Contention) -> str:
    if not found.rows or not found.rows[0].waits:
        return "No lock made a thread wait."
    row, elapsed_ns = found.rows[0], found.process.elapsed_ns
    threads = row.wait_ns / elapsed_ns if elapsed_ns else 0.0
    if threads < SMALL_SHARE:
        return (
            "Leave the locks as they are: threads waited for none of them during more than "
            f"{SMALL_SHARE:.0%} of the run."
        )
    cause = found.main_cause(row)[0]
    advice, cost = _advice(found, row), f"{threads:.2g} threads waited on average"
    why = f", {found.share_of(row, cause):.0%} of it as {described(cause)}"
    if cause in ("unknown", "short") or len(f"{advice}: {cost}{why}") > VERDICT_WIDTH:
        why = ""
    return f"{advice}: {cost}{why}"


def _advice(found: Contention, row: Row) -> str:
    cause, call, holder = found.main_cause(row)
    name = cut(row.lock)
    where = "" if holder == UNKNOWN else f" in {cut(holder)}"
    if cause == "holder blocked":
        return f"Move {call} out of the section of {name}{where}"
    if cause == "holder preempted":
        return f"Run fewer threads, or hold {name} for less{where}"
    if cause in ("others first", "short"):
        return f"Try another lock for {name} ('lockyard try'), or split it"
    if cause == "woken late":
        return f"Leave a processor free for the waiters of {name}, or try a lock that spins"
    return f"Shorten the section of {name}{where}"


def described(cause: str) -> str:
    return {
        "short": "waits below 100 µs",
        "unknown": "cause unknown",
        "long section": "the holder ran in a long section",
        "holder preempted": "the holder had lost its processor",
        "holder blocked": "the holder was blocked",
        "others first": "others had it first",
        "woken late": "the waiter was woken late",
        "event came": "the event came late",
    }.get(cause, cause)


def _table(rows: list[Row]) -> list[str]:
    head = ("lock", "kind", "waits", "waited", "p50", "p99", "longest", "acquired", "hold")
    body = [
        (
            cut(row.lock) + (f" ({row.objects} locks)" if row.objects > 1 else ""),
            row.kind,
            str(row.waits),
            duration(row.wait_ns),
            duration(row.p50_ns),
            duration(row.p99_ns),
            duration(row.longest_ns),
            str(row.acquisitions) if row.acquisitions else "",
            duration(row.sampled_hold_ns / row.sampled_holds) if row.sampled_holds else "",
        )
        for row in rows[:SHOWN_ROWS]
    ]
    text = aligned([head, *body], left=2)
    if len(rows) > SHOWN_ROWS:
        text.append(f"and {len(rows) - SHOWN_ROWS} more, which -o FILE writes")
    return text


def aligned(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Returns the rows as a table, its first columns aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _evidence(found: Contention, row: Row) -> list[str]:
    text = [f"{cut(row.lock)}:"]
    for (waiter, holder), waits in islice(found.places(row).items(), SHOWN_PLACES):
        text.append(
            f"  {waiter} waited {_times(waits.count)}, {duration(waits.ns)} in all, behind {holder}"
        )
    for (cause, call, holder), waits in islice(found.causes(row).items(), SHOWN_PLACES):
        what = described(cause) + (f" in {call}" if call else "")
        where = f", in {holder}" if cause in ("holder blocked", "long section") else ""
        text.append(f"  {waits.ns / row.wait_ns:4.0%} {what}{where} ({_times(waits.count)})")
    if row.others_first and row.waits:
        text.append(
            f"  {row.others_first / row.waits:.1f} acquisitions by other threads in each wait"
        )
    calls = row.futex_calls_per_acquisition
    if calls >= CONVOY and found.main_cause(row)[0] in CONVOY_CAUSES:
        text.append(f"  {calls:.2f} futex calls for each acquisition: a convoy of wake-ups")
    if row.longest_hold_at:
        text.append(
            f"  longest sampled hold: {duration(row.longest_hold_ns)}, by {row.longest_hold_at}"
        )
    return [*text, ""]


def _wakers(found: Contention, row: Row) -> list[str]:
    places = found.places(row)
    if not places:
        return []
    (waiter, waker), waits = next(iter(places.items()))
    return [
        f"  {waiter} waited for {cut(row.lock)} {_times(waits.count)}, {duration(waits.ns)} in "
        f"all; woken by {waker}"
    ]


def _counted(found: Contention) -> list[str]:
    process = found.process
    program = os.path.basename(process.program)  # noqa: PTH119 - of the other process
    machine = f"load {process.load:.1f} on {process.processors} processors"
    text = (
        f"{program} ({process.pid}): {_counted_threads(process.threads)} used contended locks in "
        f"{duration(process.elapsed_ns)}; {machine}."
    )
    if process.lost:
        text += (
            f" {process.lost} events found no room, so the counts are too small; if the folder "
            "for temporary files is full, name another one by TMPDIR; if the program limits its "
            "file sizes or confines itself by seccomp, nothing helps."
        )
    return [text]


def _counted_threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def cut(name: str) -> str:
    return name if len(name) <= NAME_WIDTH else name[: NAME_WIDTH - 1] + "…"


def duration(ns: float) -> str:
    for limit, scale, unit in ((1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if ns < limit:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns / 1e9:.4g} s"
