# SPDX-License-Identifier: Apache-2.0
"""The study noise: the line of every report, and its table."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from lockyard.report.console import machine_table
from lockyard.report.naming import Naming
from lockyard.report.units import MISSING, duration
from lockyard.report.watch import listed, watches_of
from lockyard.studies import Shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.table import Table

    from lockyard.report.summary import CellSummary
    from lockyard.report.watch import Watch
    from lockyard.studies import Setting

NOISE = "noise"


def noise_lines(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Yields a line for each set of conditions under which the machine was watched."""
    naming = Naming.of(cells)
    for cell in cells:
        watches = watches_of(cell)
        if cell.study != NOISE or not watches:
            continue
        under = " · ".join(naming.conditions(cell))
        name = f"noise ({under})" if under else "noise"
        each = "; ".join(_line_of(cpu, watch) for cpu, watch in watches.items())
        seen_ns = [watch.watched_ns for watch in watches.values() if not watch.shortfall]
        if seen_ns:
            mean_ns = statistics.fmean(seen_ns)
            yield f"{name}: {duration(mean_ns)} watched without a lock: {each}"
        else:
            yield f"{name}: {each}"


def _line_of(cpu: int, watch: Watch) -> str:
    if watch.shortfall:
        return f"cpu{cpu} unavailable ({watch.shortfall})"
    return (
        f"cpu{cpu} {watch.lost.explained} lost, longest {duration(watch.longest_ns)}, "
        f"steal {watch.steal.explained}"
    )


def _noise_table(cell: CellSummary, title: str) -> Table:
    columns = ("core", "watched", "gaps\nper second", "lost", "longest", "steal")
    table = machine_table(f"{title}: gaps over 1 µs", *columns, "behind other\nthreads")
    reasons: dict[str, list[int]] = {}
    for cpu, watch in watches_of(cell).items():
        saw = not watch.shortfall
        table.add_row(
            f"cpu{cpu}",
            duration(watch.watched_ns),
            f"{watch.gaps_per_s:.0f}" if saw else MISSING,
            str(watch.lost) if saw else MISSING,
            duration(watch.longest_ns) if saw else MISSING,
            str(watch.steal),
            str(watch.run_delay),
        )
        shares = {"lost": watch.lost, "steal": watch.steal, "behind other threads": watch.run_delay}
        for name, share in shares.items():
            if share.reason:
                reasons.setdefault(f"{name}: {share.reason}", []).append(cpu)
    if reasons:
        each = (f"{listed(cpus)} {reason}" for reason, cpus in reasons.items())
        table.caption = f"unavailable: {'; '.join(each)}"
    return table


def noise_tables(cells: Sequence[CellSummary], _setting: Setting) -> Iterable[Table]:
    naming = Naming.of(cells)
    for cell in cells:
        if cell.runs:
            yield _noise_table(cell, f"{NOISE} · {naming.setting(cell)}")


SHOWN = Shown(tables=noise_tables)
