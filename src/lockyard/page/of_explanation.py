# SPDX-License-Identifier: Apache-2.0
"""The page of `explain`: the main causes, the longest stalls as timelines, and the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.explain.causes import Cause
from lockyard.explain.stalls import StallKind
from lockyard.explain.text import head_lines
from lockyard.page import stalls
from lockyard.page.model import Advice, Missing, Page, Remark, Section
from lockyard.report.naming import counted
from lockyard.report.units import duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockyard.explain.session import Explained
    from lockyard.page.model import Block

# Remedies for the cause of most of the stalled time.
REMEDIES = {
    Cause.HOLDER_PREEMPTED: "run fewer threads than processors, or hold the lock for less",
    Cause.HOLDER_PREEMPTED_IN_RELEASE: "run fewer threads than processors",
    Cause.HOLDER_ASLEEP: "move system calls and sleeps out of the section",
    Cause.WOKEN_LATE: "leave a processor free for waiters, or use a lock that spins first",
    Cause.WAKEUP_IN_FLIGHT: "leave a processor free for waiters, or use a lock that spins first",
    Cause.WOKEN_NOT_RUNNING: "leave a processor free for waiters",
    Cause.WAITER_NOT_RUNNING: "run fewer threads than processors",
    Cause.BARGING: "use a fair lock, or hold this one less often",
    Cause.MIGRATION: "pin the threads",
    Cause.MACHINE_GAP: "look at the machine first: 'lockyard doctor'",
    Cause.HELD_RUNNING: "shorten the section",
    Cause.FALLS_ASLEEP: "use a lock that spins longer before it sleeps",
    Cause.TIMED_SLEEP: "use a lock whose release wakes a sleeper",
    Cause.UNEXPLAINED: "trace with switch records ('lockyard doctor' names the rights)",
}
TITLES = {StallKind.WAIT: "long waits", StallKind.IDLE: "times free but wanted"}


def page_of(explained: Explained, source: str) -> Page:
    longest = list(stalls.timelines(explained.longest))
    sections = [
        Section("Advice", list(_advice(explained))),
        Section("Causes of stalls", list(stalls.causes(explained)), stalls.LEAD),
        Section(
            "The longest stalls",
            longest
            or [Missing("a stall of that length", "lockyard explain FILE --longer-than 1us")],
            "Dashed lines mark the beginning and end of a stall. Drag, or press + and -, to zoom.",
        ),
        Section(
            "Traces",
            [Remark(line) for line in (*head_lines(explained), *explained.warnings)],
        ),
    ]
    return Page("Causes of long stalls", f"{source} · {stalls.headline(explained)}", sections)


def _advice(explained: Explained) -> Iterator[Block]:
    """Yields the remedy for the main cause of each lock's stalls, the most stalled lock first."""
    totals = [
        total
        for kind in (StallKind.WAIT, StallKind.IDLE)
        for total in explained.totals.of(kind)
        if total.stalled_ns
    ]
    for total in sorted(totals, key=lambda each: -each.stalled_ns):
        main = max(Cause, key=lambda cause: total.by_cause_ns.get(cause, 0.0))
        yield Advice(
            f"{total.lock}: {REMEDIES[main]}.",
            f"{percent(total.share(main))} of its {TITLES[total.kind]} is "
            f"'{stalls.name_of(main)}'; {counted(total.stalls, 'stall')}, "
            f"{duration(total.stalled_ns)} in all, the longest {duration(total.longest_ns)}.",
        )
    if not totals:
        yield Remark(f"no stall of {duration(explained.longer_than_ns)} or more")
