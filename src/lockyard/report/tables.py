# SPDX-License-Identifier: Apache-2.0
"""One table for each study, with the losers in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from lockyard.report.units import MISSING, duration, percent, ratio
from lockyard.stats import paired_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console

    from lockyard.report.summary import CellSummary


@dataclass(frozen=True)
class Column:
    title: str
    cell: Callable[[CellSummary], str]
    optional: bool = False  # left out where the terminal is too narrow


@dataclass(frozen=True)
class Layout:
    """How a study is shown."""

    title: str
    columns: Sequence[Column]
    maxima: str | None  # whose per-run maxima are compared, at equal numbers of runs
    compared: str  # whose ratio to the reference is shown
    compared_title: str


def _percentiles(histogram: str, prefix: str = "") -> list[Column]:
    def column(title: str, share: float) -> Column:
        return Column(
            f"{prefix}{title}", lambda cell: duration(cell.histogram(histogram).percentile(share))
        )

    return [column("p50", 0.5), column("p99", 0.99), column("p99.9", 0.999)]


def _maximum(key: str, prefix: str = "") -> Column:
    return Column(f"{prefix}max", lambda cell: duration(cell.maximum(key)))


def _share(title: str, key: str) -> Column:
    return Column(title, lambda cell: percent(cell.mean(key)))


RUNS = Column("runs", lambda cell: str(len(cell.runs)))
MEAN_RUN = Column("mean run", lambda cell: duration(cell.mean("run_ns")))
TEAM = (
    Column("fairness", lambda cell: f"{cell.mean('fairness_jain') or 0:.2f}", optional=True),
    Column("overlap", lambda cell: percent(cell.mean("overlap")), optional=True),
)

LAYOUTS = {
    "wait": Layout(
        title="wait: from the call to the acquisition",
        columns=[RUNS, MEAN_RUN, *_percentiles("wait"), _maximum("wait_max_ns"), *TEAM],
        maxima="wait_max_ns",
        compared="operations_per_s",
        compared_title="rate",
    ),
    "idle": Layout(
        title="idle while wanted, past 1 µs: from the end of a release to the next acquisition, if "
        "somebody waited",
        columns=[
            RUNS,
            MEAN_RUN,
            _share("of the time", "idle_wanted_share"),
            *_percentiles("idle_wanted"),
            _maximum("idle_wanted_max_ns"),
            _share("in release: of the time", "idle_in_release_share"),
            replace(_maximum("idle_in_release_max_ns", "in release: "), optional=True),
            replace(_maximum("idle_published_max_ns", "as published: "), optional=True),
            *TEAM,
        ],
        maxima="idle_wanted_max_ns",
        compared="operations_per_s",
        compared_title="rate",
    ),
    "idle as published": Layout(
        title="idle as published: from just before a release to the next acquisition, whether "
        "wanted or not",
        columns=[
            RUNS,
            MEAN_RUN,
            *_percentiles("idle_published"),
            _maximum("idle_published_max_ns"),
            *TEAM,
        ],
        maxima="idle_published_max_ns",
        compared="run_ns",
        compared_title="run",
    ),
    "uncontended": Layout(
        title="uncontended: lock and unlock by the only thread",
        columns=[
            RUNS,
            Column(
                "never a 2nd thread", lambda cell: duration(cell.median("pair_before_threads_ns"))
            ),
            Column(
                "after a 2nd thread", lambda cell: duration(cell.median("pair_after_threads_ns"))
            ),
        ],
        maxima=None,
        compared="pair_after_threads_ns",
        compared_title="after",
    ),
}
LAYOUTS["wait as published"] = Layout(
    title="wait as published: from the call to the acquisition",
    columns=LAYOUTS["wait"].columns,
    maxima="wait_max_ns",
    compared="run_ns",
    compared_title="run",
)


def tables(
    cells: Iterable[CellSummary], against: str | None, console: Console
) -> Iterable[Table | Text]:
    groups: dict[tuple[str, int], list[CellSummary]] = {}
    for cell in cells:
        name = f"{cell.study} as published" if cell.as_published else cell.study
        groups.setdefault((name, cell.threads), []).append(cell)
    for (name, threads), group in groups.items():
        layout = LAYOUTS.get(name)
        if layout is None:
            yield Text(f"{name}: this version has no table for it; the records hold its values")
            continue
        yield _fitting(layout, threads, group, against, console)


def _fitting(
    layout: Layout,
    threads: int,
    cells: Sequence[CellSummary],
    against: str | None,
    console: Console,
) -> Table:
    """Leaves optional columns out, from the right, until the table fits the terminal."""
    columns = list(layout.columns)
    left_out: list[str] = []
    while True:
        table = _table(replace(layout, columns=columns), threads, cells, against)
        optional = [column for column in columns if column.optional]
        if not optional or console.measure(table).maximum <= console.width:
            break
        columns.remove(optional[-1])
        left_out.append(optional[-1].title)
    if left_out:
        table.caption = f"too narrow for: {', '.join(reversed(left_out))}"
    return table


def _table(
    layout: Layout, threads: int, cells: Sequence[CellSummary], against: str | None
) -> Table:
    reference = next((cell for cell in cells if cell.lock == against and cell.runs), None)
    equal_runs = min((len(cell.runs) for cell in cells if cell.runs), default=0)
    count = "1 thread" if threads == 1 else f"{threads} threads"
    table = Table(
        title=f"{layout.title} · {count}",
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("lock", no_wrap=True)
    for column in layout.columns:
        table.add_column(column.title, justify="right")
    if layout.maxima:
        table.add_column(f"longest of each of the first {equal_runs} runs", justify="right")
    if reference:
        table.add_column(f"{layout.compared_title} / {against} \\[95 %]", justify="right")
    for cell in cells:
        table.add_row(*_row(layout, cell, equal_runs, reference))
    return table


def _row(
    layout: Layout, cell: CellSummary, equal_runs: int, reference: CellSummary | None
) -> list[str | Text]:
    if not cell.runs:
        return [Text(cell.lock), Text(cell.trouble.split(":")[0], style="red")]
    row: list[str | Text] = [_name(cell)]
    row += [column.cell(cell) for column in layout.columns]
    if layout.maxima:
        row.append(", ".join(duration(value) for value in cell.longest(layout.maxima, equal_runs)))
    if reference:
        row.append(Text(_compared(layout, cell, reference)))
    return row


def _compared(layout: Layout, cell: CellSummary, reference: CellSummary) -> str:
    if cell is reference:
        return "the reference"
    found = paired_ratio(cell.by_block(layout.compared), reference.by_block(layout.compared))
    return ratio(found) if found else MISSING


def _name(cell: CellSummary) -> Text:
    name = Text(cell.lock)
    if not cell.checks_hold:
        name.append(" BROKEN", style="bold red")
    if cell.trouble:
        name.append(f" ({cell.trouble.split(':')[0]})", style="red")
    if cell.cut_short:
        name.append(f" ({cell.cut_short} cut short)", style="yellow")
    return name
