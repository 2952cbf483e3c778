# SPDX-License-Identifier: Apache-2.0
"""A long stall as a timeline: what each thread, the lock and each processor did around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockyard.explain.picture import LOOK, Shown
from lockyard.explain.strips import strips
from lockyard.page.model import Axis, Chart
from lockyard.report.units import duration

if TYPE_CHECKING:
    from lockyard.explain.session import LongStall

# The colour of each state, whether it is filled, and else its pattern: a reader who sees no colours
# tells states apart by these and by the hover.
DRAWN = {
    Shown.HELD: (2, True, ""),
    Shown.HELD_AWAY: (6, False, "x"),
    Shown.RELEASING: (7, True, ""),
    Shown.WAITS: (4, False, "/"),
    Shown.ASLEEP: (0, False, "."),
    Shown.AWAY: (3, False, "\\"),
    Shown.WOKEN: (1, False, "+"),
    Shown.FREE_WANTED: (6, False, "-"),
    Shown.GAP: (6, True, ""),
}
RUNS = "runs here"
AROUND = 0.06  # shown on either side at first, as a share of the stall


def timeline(place: int, long: LongStall) -> Chart:
    trace, stall = long.explanation.trace, long.stall
    found = strips(long.explanation, long.lock, stall)
    states = [
        {"name": LOOK[shown][2], "hue": hue, "solid": solid, "pattern": pattern}
        for shown, (hue, solid, pattern) in DRAWN.items()
    ]
    states.append({"name": RUNS, "hue": -1, "solid": False, "pattern": ""})
    numbers = {shown: number for number, shown in enumerate(DRAWN)}
    rows = [strip.label for strip in found]
    slices: list[list[Any]] = [
        [
            row,
            round(trace.ns(begin - stall.begin), 1),
            round(trace.ns(end - begin), 1),
            len(states) - 1 if shown is Shown.ELSEWHERE else numbers[shown],
            note,
        ]
        for row, strip in enumerate(found)
        for begin, end, shown, note in strip.slices
    ]
    used = sorted({each[3] for each in slices})
    renumbered = {number: at for at, number in enumerate(used)}
    for each in slices:
        each[3] = renumbered[each[3]]
    length = trace.ns(stall.length)
    return Chart(
        "timeline",
        f"Stall {place}: {duration(length)} · {long.name}",
        f"Timeline of {duration(length)} of {stall.kind.value}: mostly "
        f"{stall.cause.stored.replace('_', ' ')} ({stall.share(stall.cause):.0%}). The evidence is "
        "in a table below.",
        Axis("since the stall began", "ns"),
        Axis("thread, lock or processor"),
        subtitle=f"{long.source.path.name}; {stall.kind.value}, mainly "
        f"{stall.cause.stored.replace('_', ' ')}",
        data={
            "rows": rows,
            "states": [states[number] for number in used],
            "slices": slices,
            "from": 0,
            "to": round(length, 1),
            "range": [-AROUND * length, (1 + AROUND) * length],
        },
        wide=True,
    )
