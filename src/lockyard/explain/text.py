# SPDX-License-Identifier: Apache-2.0
"""Prints explanations: the causes of each lock's stalled time, and timelines of long stalls."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from rich.text import Text

from lockyard.explain.causes import Cause
from lockyard.explain.evidence import evidence
from lockyard.explain.picture import LOOK, picture
from lockyard.explain.stalls import StallKind
from lockyard.page.in_terminal import cause_bars
from lockyard.report.console import print_line, stdout_console, titled_table
from lockyard.report.naming import counted
from lockyard.report.units import duration, percent, rate, ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.table import Table

    from lockyard.explain.picture import Row
    from lockyard.explain.session import Explained, LongStall
    from lockyard.explain.totals import Overhead, Total

COLUMNS_IN_PIPE = 72
LEAST_COLUMNS = 24
LEGEND_COLUMNS = 3
TARGET_SWITCHES_PER_S = 20_000  # up to here, tracing is designed to cost less than 3 %

TITLES = {
    StallKind.IDLE: "free but wanted: causes",
    StallKind.WAIT: "long waits: causes",
}
# The columns of the table of causes, and the tables that show each even if it has no time.
COLUMNS: tuple[tuple[str, tuple[Cause, ...], tuple[StallKind, ...]], ...] = (
    (
        "holder\npreempted",
        (Cause.HOLDER_PREEMPTED, Cause.HOLDER_PREEMPTED_IN_RELEASE),
        (StallKind.IDLE, StallKind.WAIT),
    ),
    ("of that\nin release", (Cause.HOLDER_PREEMPTED_IN_RELEASE,), ()),
    ("holder\nasleep", (Cause.HOLDER_ASLEEP,), ()),
    ("waiter not\nrunning", (Cause.WAITER_NOT_RUNNING,), (StallKind.IDLE, StallKind.WAIT)),
    (
        "woken\nlate",
        (Cause.WOKEN_LATE, Cause.WAKEUP_IN_FLIGHT, Cause.WOKEN_NOT_RUNNING),
        (StallKind.IDLE, StallKind.WAIT),
    ),
    ("of that\nin flight", (Cause.WAKEUP_IN_FLIGHT,), ()),
    ("of that\nnot running", (Cause.WOKEN_NOT_RUNNING,), ()),
    ("falls\nasleep", (Cause.FALLS_ASLEEP,), ()),
    ("timed\nsleep", (Cause.TIMED_SLEEP,), ()),
    ("barging", (Cause.BARGING,), (StallKind.WAIT,)),
    ("long\nhold", (Cause.HELD_RUNNING,), (StallKind.WAIT,)),
    ("migration", (Cause.MIGRATION,), ()),
    ("the\nmachine", (Cause.MACHINE_GAP,), (StallKind.IDLE, StallKind.WAIT)),
    ("unexplained", (Cause.UNEXPLAINED,), (StallKind.IDLE, StallKind.WAIT)),
)


def print_explained(explained: Explained) -> None:
    console = stdout_console()
    for line in head_lines(explained):
        print_line(console, line)
    for kind in (StallKind.IDLE, StallKind.WAIT):
        totals = explained.totals.of(kind)
        if totals:
            console.print()
            console.print(_table(kind, totals, explained.longer_than_ns))
            _print_bars(totals, console)
    if explained.longest:
        console.print()
        print_line(console, "the longest stalls", style="bold")
        for stall in explained.longest:
            _print_stall(console, stall)
        console.print(_legend(), soft_wrap=True)


def _print_bars(totals: Sequence[Total], console: Console) -> None:
    """Draws the shares of the causes, which a reader takes in faster than a table."""
    named = [
        (total.lock, cause.stored.replace("_", " "), total.share(cause) or 0.0)
        for total in totals
        for cause in sorted(Cause, key=lambda each: -total.by_cause_ns.get(each, 0.0))
        if total.by_cause_ns.get(cause)
    ]
    for line in cause_bars([total for total in totals if total.stalled_ns], named, console):
        console.print(line, no_wrap=True, overflow="crop", highlight=False)


def head_lines(explained: Explained) -> Iterable[str]:
    watched = sum(total.watched_ns for total in explained.totals.of(StallKind.WAIT))
    yield (
        f"{counted(explained.traces, 'trace')}, {counted(explained.threads, 'thread')}, "
        f"{duration(watched)} of locks watched; stalls from {duration(explained.longer_than_ns)} on"
    )
    if explained.covered_shares:
        ends = (percent(min(explained.covered_shares)), percent(max(explained.covered_shares)))
        yield (
            f"the rings of {counted(len(explained.covered_shares), 'trace')} overwrote their "
            f"oldest events, so only the time that all rings cover is explained, "
            f"{' to '.join(dict.fromkeys(ends))} of the whole; not explained: "
            f"{counted(explained.too_early, 'stall')} that began earlier"
        )
    for reason in explained.why_no_switches:
        yield f"no switch records, so it is unknown which threads ran: {reason}"
    for reason in explained.why_no_wakeups:
        yield (
            f"no wake-up records, so 'woken late' is not divided and migrations count as "
            f"preemptions: {reason}"
        )
    if explained.knows_idle and explained.waited_ns:
        share = explained.wasted_ns / explained.waited_ns
        yield (
            f"threads waited {duration(explained.waited_ns)} for a processor; during "
            f"{percent(share)} of that another processor was idle"
        )
    for each in explained.overheads:
        yield _overhead(each)


def _overhead(each: Overhead) -> str:
    counts = (
        ""
        if each.switches_per_s < TARGET_SWITCHES_PER_S
        else ", more than the 20 k/s that tracing is designed for"
    )
    return (
        f"overhead of tracing {each.cell}: throughput traced / plain {ratio(each.ratio)}, "
        f"{rate(each.switches_per_s)} switches{counts}"
    )


def _table(kind: StallKind, totals: Sequence[Total], longer_than_ns: float) -> Table:
    table = titled_table(f"{TITLES[kind]} (stalls from {duration(longer_than_ns)} on)")
    shown = [
        (title, causes)
        for title, causes, always in COLUMNS
        if kind in always or any(total.share(*causes) for total in totals)
    ]
    table.add_column("lock", no_wrap=True)
    for title in ("stalls", "time", "longest"):
        table.add_column(title, justify="right", no_wrap=True)
    for title, _ in shown:
        table.add_column(title, justify="right")
    for total in totals:
        table.add_row(
            Text(total.lock),
            f"{total.stalls}",
            duration(total.stalled_ns),
            duration(total.longest_ns) if total.stalls else "",
            *(_share(total, causes) for _, causes in shown),
        )
    return table


def _share(total: Total, causes: tuple[Cause, ...]) -> str:
    share = total.share(*causes)
    return "" if share == 0 else percent(share)


def _print_stall(console: Console, long: LongStall) -> None:
    stall, trace = long.stall, long.explanation.trace
    who = long.explanation.threads[stall.subject].label
    what = f"{who} waited" if stall.kind is StallKind.WAIT else f"free but wanted by {who} for"
    still = ", until the trace ended" if stall.is_open else ""
    console.print()
    print_line(
        console,
        f"{long.name}: {what} {duration(trace.ns(stall.length))}{still}: {shares(long)}",
        style="bold",
    )
    columns = _columns(console)
    painted = picture(long.explanation, long.lock, stall, columns)
    width = max(len(row.label) for row in painted.rows)
    console.print(_ruler(painted.begin_column, painted.end_column, width, long), soft_wrap=True)
    for row in painted.rows:
        console.print(_painted(row, width), soft_wrap=True)
    if painted.left_out:
        print_line(console, f"  {'':{width}}  and {painted.left_out} more threads")
    for each in evidence(long.explanation, long.lock, stall):
        print_line(console, f"  {duration(each.length_ns):>8} {words(each.cause)}: {each.text}")


def shares(long: LongStall) -> str:
    """Returns the causes with their shares of the stall, the largest first."""
    stall = long.stall
    found = sorted(
        (cause for cause in Cause if stall.amounts[cause]), key=lambda c: -stall.share(c)
    )
    weighty = [cause for cause in found if stall.share(cause) >= 0.01] or found[:1]
    return ", ".join(f"{words(cause)} {percent(stall.share(cause))}" for cause in weighty)


def words(cause: Cause) -> str:
    return cause.stored.replace("_", " ")


def _columns(console: Console) -> int:
    if not console.is_terminal:
        return COLUMNS_IN_PIPE
    wide = shutil.get_terminal_size().columns
    return max(LEAST_COLUMNS, min(wide - 30, 120))


def _ruler(begin: int, end: int, width: int, long: LongStall) -> Text:
    length = duration(long.explanation.trace.ns(long.stall.length))
    inner = max(end - begin - 1, 0)
    middle = f" {length} " if inner > len(length) + 1 else ""
    return Text(f"  {'':{width}}  {' ' * begin}|{middle:─^{inner}}|", style="dim")


def _painted(row: Row, width: int) -> Text:
    text = Text(f"  {row.label:{width}}  ")
    for glyph, style in zip(row.cells, row.styles, strict=True):
        text.append(glyph, style=style)
    return text


def _legend() -> Text:
    text = Text()
    explained = [each for each in LOOK.values() if each[2]]
    for index, (glyph, style, meaning) in enumerate(explained):
        text.append("\n  " if index % LEGEND_COLUMNS == 0 else "")
        text.append(glyph, style=style)
        text.append(f" {meaning:26}")
    text.append("\n  letters in the rows of processors: the thread that ran there most of the time")
    return text
