# SPDX-License-Identifier: Apache-2.0
"""Prints a history: what drifts first, then a row for each series, or its chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lockyard.report.console import TEXT_COLUMNS, print_line, stdout_console, titled_table
from lockyard.report.naming import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    from lockyard.history.cache import Cached
    from lockyard.history.query import Series

# At most this many series are shown, the drifting ones first.
SHOWN = 40
DRIFTS_SHOWN = 10
LEAST_P = 0.0001  # smaller chances are not told apart
BARS = "▁▂▃▄▅▆▇█"
LONGEST_PLOT = 60


def print_history(folder: Path, cached: Cached, found: Sequence[Series], as_plot: bool) -> None:
    console = stdout_console(TEXT_COLUMNS)
    for line in (*_summary(folder, cached, found), *_drifts(found)):
        print_line(console, line)
    ordered = sorted(found, key=lambda each: not each.drifts)
    for machine in dict.fromkeys(each.machine for each in ordered):
        of_machine = [each for each in ordered[:SHOWN] if each.machine == machine]
        if not of_machine:
            continue
        console.print()
        if as_plot:
            print_line(console, machine, style="bold")
            for series in of_machine:
                _plot(series, console)
        else:
            console.print(_table(machine, of_machine))
    if len(ordered) > SHOWN:
        print_line(
            console,
            f"{len(ordered) - SHOWN} more series: name locks, studies or figures, or use --json",
        )


def _summary(folder: Path, cached: Cached, found: Sequence[Series]) -> Iterator[str]:
    points = [point for series in found for point in series.points]
    files = {point.file for point in points}
    first, last = min(p.started for p in points)[:10], max(p.started for p in points)[:10]
    kernels = sorted({point.kernel for point in points if point.kernel})
    anew = f", {cached.made} read anew" if cached.made else ""
    yield (
        f"{folder}: {counted(len(files), 'file')} of {cached.records}{anew}, {first} to {last}, "
        f"{counted(len({each.machine for each in found}), 'machine')}"
    )
    if kernels:
        yield f"kernels: {', '.join(kernels)}"


def _drifts(found: Sequence[Series]) -> Iterator[str]:
    shown = [series for series in found if series.drifts and series.trend is not None]
    if not shown:
        yield (
            f"no drift is shown in {counted(len(found), 'series').removesuffix('s')} "
            "(of five files or more, tested together at 5 %)"
        )
        return
    several = len({each.machine for each in found}) > 1
    for series in sorted(shown, key=lambda each: abs(_size(each)), reverse=True)[:DRIFTS_SHOWN]:
        trend = series.trend
        assert trend is not None  # noqa: S101 - as filtered above
        p = f"p {trend.p:.2g}" if trend.p >= LEAST_P else f"p < {LEAST_P:g}"
        values = " to ".join(series.figure.text(value) for value in (trend.first, trend.last))
        yield f"- {series.verdict}: {series.name}"
        yield (
            f"    {trend.ratio:.2f} times, {values}, {counted(trend.files, 'file')}, {p}"
            f"{_kernels(series)}{f', {series.machine}' if several else ''}"
        )
    if len(shown) > DRIFTS_SHOWN:
        yield f"{len(shown) - DRIFTS_SHOWN} more drift"


def _size(series: Series) -> float:
    return abs(series.trend.ratio - 1) if series.trend else 0.0


def _kernels(series: Series) -> str:
    """Names the kernels that the files passed through, since a kernel may be the cause."""
    seen = list(dict.fromkeys(point.kernel for point in series.points if point.kernel))
    return f", Linux {' to '.join((seen[0], seen[-1]))}" if len(seen) > 1 else ""


def _table(machine: str, found: Sequence[Series]) -> Table:
    table = titled_table(machine)
    for title in ("study", "lock", "threads", "figure", "files", "first", "last", "drift"):
        table.add_column(title, justify="left" if title in ("study", "lock", "figure") else "right")
    for series in found:
        trend = series.trend
        if trend is None:
            continue
        study = f"{series.study} · {series.setting}" if series.setting else series.study
        values = (trend.first, trend.last)
        table.add_row(
            *(Text(text) for text in (study, series.lock, str(series.threads), series.figure.name)),
            str(trend.files),
            *(series.figure.text(value) for value in values),
            Text(series.verdict, style="red" if series.verdict == "worse" else ""),
        )
    return table


def _plot(series: Series, console: Console) -> None:
    """Prints a bar for each file, from the lowest to the highest value."""
    values = [point.value for point in series.points][-LONGEST_PLOT:]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    bars = "".join(BARS[round((value - low) / span * (len(BARS) - 1))] for value in values)
    dates = f"{series.points[-len(values)].started[:10]} to {series.points[-1].started[:10]}"
    verdict = f", {series.verdict}" if series.verdict else ""
    print_line(console, series.name)
    print_line(
        console,
        f"  {bars}  {series.figure.text(low)} to {series.figure.text(high)}, {dates}{verdict}",
    )
