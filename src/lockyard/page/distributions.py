# SPDX-License-Identifier: Apache-2.0
"""Distributions of waits and of free-but-wanted times, as the value at each percentile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.page.cells import by_setting, in_words
from lockyard.page.model import Axis, Chart, Choice, Missing, Section, Series, short
from lockyard.report.naming import counted
from lockyard.report.units import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lockyard.page.cells import Records
    from lockyard.page.model import Block
    from lockyard.records.histogram import Histogram
    from lockyard.report.summary import CellSummary

MOST_POINTS = 90  # a screen cannot show more of a line
MOST_SIDE_BY_SIDE = 4  # more charts become a choice


@dataclass(frozen=True)
class Shown:
    study: str
    histograms: tuple[str, str]  # the study's, and its published form's
    title: str
    value: str
    lead: str


WAIT = Shown(
    "wait",
    ("wait", "wait"),
    "Waiting",
    "wait",
    "How long a thread waits from its call to the acquisition. Read a line at 99.9 %: of a "
    "thousand waits, the longest lasts at least as long. Lower is better, and the right end shows "
    "the stalls.",
)
IDLE = Shown(
    "idle",
    ("idle_wanted", "idle_published"),
    "Free but wanted",
    "time",
    "How long the lock lies free although a thread waits for it. Times below 1 µs are left out: no "
    "thread could have been woken faster.",
)


def section(records: Records, shown: Shown) -> Section:
    cells = records.of(shown.study)
    charts = dict(_charts(records, cells, shown))
    blocks = together("threads and conditions", charts)
    if not charts:
        command = f"lockyard measure {shown.study} --threads 1,16 --out FILE"
        blocks.append(Missing(f"the study {shown.study}", command))
    return Section(shown.title, blocks, shown.lead)


def together(label: str, charts: dict[str, Chart]) -> list[Block]:
    """Returns a few charts side by side, and more as a choice."""
    if len(charts) <= MOST_SIDE_BY_SIDE:
        return list(charts.values())
    return [Choice(label, charts)]


def _charts(
    records: Records, cells: Sequence[CellSummary], shown: Shown
) -> Iterator[tuple[str, Chart]]:
    for setting, group in by_setting(cells, _setting(records)).items():
        name = shown.histograms[group[0].as_published]
        lines = [
            line
            for cell in group
            if (line := percentile_line(cell.lock, cell.histogram(name))) is not None
        ]
        if not lines:
            continue
        worst = max(lines, key=lambda line: line.y[-1] or 0)
        best = min(lines, key=lambda line: line.y[-1] or 0)
        least = min(len(cell.runs) for cell in group)
        most = max(len(cell.runs) for cell in group)
        runs = f"{least} to {most} runs" if least != most else counted(least, "run")
        names = in_words([line.name for line in lines])
        yield (
            setting,
            Chart(
                "lines",
                f"{shown.title} · {setting}",
                f"{shown.value.capitalize()} by percentile for {names}. The longest is "
                f"{duration(worst.y[-1])}, with {worst.name}; the shortest maximum is "
                f"{duration(best.y[-1])}, with {best.name}.",
                Axis(f"share of the {shown.value}s that are shorter", "nines", zero=True),
                Axis(shown.value, "ns", log=True),
                lines,
                f"{runs} of each lock together",
                data={"plain": True},
            ),
        )


def _setting(records: Records) -> Callable[[CellSummary], str]:
    def of(cell: CellSummary) -> str:
        form = " · as published" if cell.as_published else ""
        return records.naming.setting(cell) + form

    return of


def percentile_line(name: str, histogram: Histogram) -> Series | None:
    """Returns the values at the percentiles, thinned evenly over the plotted width, or None if
    there is no sample. A value of 0 cannot be on a logarithmic axis and becomes 1 ns."""
    total = histogram.total
    if not total:
        return None
    shorter, points = 0, []
    for value, count in sorted(histogram.counts.items()):
        points.append((-math.log10(1 - shorter / total), max(value, 1.0)))
        shorter += count
    last = points[-1][1]
    points.append((math.log10(total) if total > 1 else 0.3, last))
    width = points[-1][0] or 1.0
    by_place = {round(nines / width * MOST_POINTS): (nines, value) for nines, value in points}
    kept = [points[0], *list(by_place.values())[1:]]
    return Series(
        name, [short(nines) for nines, _ in kept], [short(value) for _, value in kept], mark=name
    )
