# SPDX-License-Identifier: Apache-2.0
"""One table for each study, with the losers in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from lockyard.report.console import PIPE_WIDTH, titled_table
from lockyard.report.naming import Naming
from lockyard.report.units import MISSING, duration, percent, ratio
from lockyard.stats import paired_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console
    from rich.table import Table

    from lockyard.report.summary import CellSummary


@dataclass(frozen=True)
class Column:
    title: str
    cell: Callable[[CellSummary], str]
    importance: int = 9  # where the terminal is too narrow, the least important goes first


@dataclass(frozen=True)
class Layout:
    """How a study is shown."""

    title: str
    columns: Sequence[Column]
    maxima: str | None  # whose per-run maxima are compared, at equal numbers of runs
    compared: str  # whose ratio to the reference is shown
    compared_title: str


def _percentiles(histogram: str) -> list[Column]:
    def column(title: str, share: float, importance: int) -> Column:
        return Column(
            title, lambda cell: duration(cell.histogram(histogram).percentile(share)), importance
        )

    return [column("p50", 0.5, 9), column("p99", 0.99, 8), column("p99.9", 0.999, 4)]


def _maximum(key: str, title: str = "max", importance: int = 9) -> Column:
    return Column(title, lambda cell: duration(cell.maximum(key)), importance)


def _share(title: str, key: str, importance: int) -> Column:
    return Column(title, lambda cell: percent(cell.mean(key)), importance)


def _median(title: str, key: str) -> Column:
    return Column(title, lambda cell: duration(cell.median(key)))


RUNS = Column("runs", lambda cell: str(len(cell.runs)))
MEAN_RUN = Column("mean run", lambda cell: duration(cell.mean("run_ns")), 3)
TEAM = (
    Column("fairness", lambda cell: f"{cell.mean('fairness_jain') or 0:.2f}", 2),
    _share("overlap", "overlap", 1),
)
LONGEST_IMPORTANCE = 7
RATIO_IMPORTANCE = 6


def _team_columns(histogram: str) -> list[Column]:
    return [RUNS, MEAN_RUN, *_percentiles(histogram), _maximum(f"{histogram}_max_ns"), *TEAM]


LAYOUTS = {
    "wait": Layout(
        title="wait: from the call to the acquisition",
        columns=_team_columns("wait"),
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
            _share("of the time", "idle_wanted_share", 9),
            *_percentiles("idle_wanted"),
            _maximum("idle_wanted_max_ns"),
            _share("in release:\nof the time", "idle_in_release_share", 5),
            _maximum("idle_in_release_max_ns", "in release:\nmax", 2),
            _maximum("idle_published_max_ns", "as published:\nmax", 2),
            *TEAM,
        ],
        maxima="idle_wanted_max_ns",
        compared="operations_per_s",
        compared_title="rate",
    ),
    "wait as published": Layout(
        title="wait as published: from the call to the acquisition",
        columns=_team_columns("wait"),
        maxima="wait_max_ns",
        compared="run_ns",
        compared_title="run",
    ),
    "idle as published": Layout(
        title="idle as published: from just before a release to the next acquisition, whether "
        "wanted or not",
        columns=_team_columns("idle_published"),
        maxima="idle_published_max_ns",
        compared="run_ns",
        compared_title="run",
    ),
    "uncontended": Layout(
        title="uncontended: lock and unlock by the only thread",
        columns=[
            RUNS,
            _median("never a\n2nd thread", "pair_before_threads_ns"),
            _median("after a\n2nd thread", "pair_after_threads_ns"),
        ],
        maxima=None,
        compared="pair_after_threads_ns",
        compared_title="after",
    ),
}


def tables(
    cells: Sequence[CellSummary], against: str | None, console: Console
) -> Iterable[Table | Text]:
    """Of the studies of locks: a table for each set of conditions, and one that sets these against
    each other."""
    naming = Naming.of(cells)
    studies: dict[tuple[str, int], dict[str, list[CellSummary]]] = {}
    for cell in cells:
        if not cell.of_machine:
            name = f"{cell.study} as published" if cell.as_published else cell.study
            settings = studies.setdefault((name, cell.threads), {})
            settings.setdefault(naming.setting(cell), []).append(cell)
    for (name, _), settings in studies.items():
        layout = LAYOUTS.get(name)
        if layout is None:
            yield Text(f"{name}: this version has no table for it; the records hold its values")
            continue
        for setting, group in settings.items():
            columns = [*layout.columns, *_compared_columns(layout, group, against)]
            yield _fitting(f"{layout.title} · {setting}", columns, group, console)
        if len(settings) > 1:
            yield _conditions_compared(name, layout, settings, console)


def _conditions_compared(
    name: str, layout: Layout, settings: dict[str, list[CellSummary]], console: Console
) -> Table:
    """Each lock under each set of conditions, paired by block with itself under the first."""
    title, *_ = settings
    first = {cell.lock: cell for cell in settings[title]}
    ordered = [
        cell
        for lock in dict.fromkeys(cell.lock for group in settings.values() for cell in group)
        for group in settings.values()
        for cell in group
        if cell.lock == lock
    ]
    named = {id(cell): setting for setting, group in settings.items() for cell in group}

    def ratio_of(key: str) -> Callable[[CellSummary], str]:
        def text(cell: CellSummary) -> str:
            reference = first.get(cell.lock)
            return _ratio(key, cell, reference) if reference and reference.runs else MISSING

        return text

    columns = [
        Column("conditions", lambda cell: named[id(cell)]),
        Column(f"{layout.compared_title} / first\n[95 % interval]", ratio_of(layout.compared)),
    ]
    if layout.maxima is not None:
        columns.append(
            Column("longest of a run / first\n[95 % interval]", ratio_of(layout.maxima), 8)
        )
    return _fitting(f"{name}: conditions against each other", columns, ordered, console)


def _compared_columns(
    layout: Layout, cells: Sequence[CellSummary], against: str | None
) -> Iterable[Column]:
    """What sets the locks of a table against each other."""
    if layout.maxima is not None:
        key = layout.maxima
        runs = min((len(cell.runs) for cell in cells if cell.runs), default=0)
        yield Column(
            f"longest of each of\nthe first {runs} runs",
            lambda cell: ", ".join(duration(value) for value in cell.longest(key, runs)),
            LONGEST_IMPORTANCE,
        )
    reference = next((cell for cell in cells if cell.lock == against and cell.runs), None)
    if reference is not None:
        yield Column(
            f"{layout.compared_title} / {against}\n[95 % interval]",
            lambda cell: _ratio(layout.compared, cell, reference),
            RATIO_IMPORTANCE,
        )


def _ratio(key: str, cell: CellSummary, reference: CellSummary) -> str:
    if cell is reference:
        return "the reference"
    found = paired_ratio(cell.by_block(key), reference.by_block(key))
    return ratio(found) if found else MISSING


def _fitting(
    title: str, columns: Sequence[Column], cells: Sequence[CellSummary], console: Console
) -> Table:
    """Leaves columns out until the table fits; what is left out is named."""
    shown = list(columns)
    unlimited = console.options.update(width=PIPE_WIDTH)
    while True:
        table = _table(title, shown, cells)
        least = min(shown, key=lambda column: column.importance)
        if least.importance == Column.importance:
            break
        if console.measure(table, options=unlimited).maximum <= console.width:
            break
        shown.remove(least)
    left_out = [column.title.replace("\n", " ") for column in columns if column not in shown]
    if left_out:
        table.caption = f"too narrow for: {', '.join(left_out)}"
    return table


def _table(title: str, columns: Sequence[Column], cells: Sequence[CellSummary]) -> Table:
    table = titled_table(title)
    table.add_column("lock", no_wrap=True)
    for column in columns:
        table.add_column(Text(column.title), justify="right", no_wrap=True)
    for cell in cells:
        if cell.runs:
            table.add_row(_name(cell), *(Text(column.cell(cell)) for column in columns))
        else:
            table.add_row(Text(cell.lock), Text(cell.trouble.split(":")[0], style="red"))
    return table


def _name(cell: CellSummary) -> Text:
    name = Text(cell.lock)
    if not cell.checks_hold:
        name.append(" BROKEN", style="bold red")
    if cell.trouble:
        name.append(f" ({cell.trouble.split(':')[0]})", style="red")
    if cell.cut_short:
        name.append(f" ({cell.cut_short} cut short)", style="yellow")
    return name
