# SPDX-License-Identifier: Apache-2.0
"""Table columns: their type, and the columns that several studies share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.report.units import MISSING, duration, percent, rate, ratio
from lockyard.stats import paired_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockyard.report.summary import CellSummary


@dataclass(frozen=True)
class Column:
    title: str
    cell: Callable[[CellSummary], str]
    importance: int = 9  # on a narrow terminal, the least important columns are dropped first


@dataclass(frozen=True)
class Compared:
    """A figure of a run whose ratio to the reference is shown."""

    title: str
    of: Callable[[CellSummary], dict[int, float]]  # by block
    more_is_better: bool = False
    key: str = ""  # the name among the run's values; empty for a duration


@dataclass(frozen=True)
class Layout:
    """The table of a study: a row for each lock, and a table for each setting."""

    title: str
    columns: Sequence[Column]
    compared: Compared  # the main figure, by which the best peer is chosen
    also_compared: Sequence[Compared] = ()
    maxima: str | None = None  # the value whose per-run maxima are compared, over as many runs
    of: str = "lock"


def by_value(title: str, key: str, more_is_better: bool = False) -> Compared:
    return Compared(title, lambda cell: cell.by_block(key), more_is_better, key)


RATE = by_value("rate", "operations_per_s", more_is_better=True)
PARALLELISM = by_value("parallelism", "parallelism", more_is_better=True)
READS = by_value("reads", "reads_per_s", more_is_better=True)
RUN = by_value("run", "run_ns")
WAIT_P999 = Compared("p99.9", lambda cell: cell.percentile_by_block("wait", 0.999))


def percentile(title: str, histogram: str, share: float, importance: int) -> Column:
    return Column(
        title, lambda cell: duration(cell.histogram(histogram).percentile(share)), importance
    )


def percentiles(histogram: str) -> list[Column]:
    return [
        percentile("p50", histogram, 0.5, 9),
        percentile("p99", histogram, 0.99, 8),
        percentile("p99.9", histogram, 0.999, 4),
    ]


def maximum(key: str, title: str = "max", importance: int = 9) -> Column:
    return Column(title, lambda cell: duration(cell.maximum(key)), importance)


def share(title: str, key: str, importance: int) -> Column:
    return Column(title, lambda cell: percent(cell.mean(key)), importance)


def median(title: str, key: str, importance: int = 9) -> Column:
    return Column(title, lambda cell: duration(cell.median(key)), importance)


def median_rate(title: str, key: str, importance: int = 9) -> Column:
    return Column(title, lambda cell: rate(cell.median(key)), importance)


def mean_of_runs(title: str, key: str, importance: int = 9) -> Column:
    return Column(title, lambda cell: duration(cell.mean(key)), importance)


RUNS = Column("runs", lambda cell: str(len(cell.runs)))
MEAN_RUN = mean_of_runs("mean run", "run_ns", 3)
TEAM = (
    Column("fairness", lambda cell: f"{cell.mean('fairness_jain') or 0:.2f}", 2),
    share("overlap", "overlap", 1),
)


def team_columns(histogram: str) -> list[Column]:
    return [
        RUNS,
        MEAN_RUN,
        Column("min", lambda cell: duration(cell.histogram(histogram).least), 0),
        Column("mean", lambda cell: duration(cell.histogram(histogram).mean), 0),
        *percentiles(histogram),
        maximum(f"{histogram}_max_ns"),
        *TEAM,
    ]


def most_to_fewest(cell: CellSummary) -> str:
    """Returns the worst run's ratio; a run in which a thread got nothing is the worst and has
    none."""
    values = cell.values("operations_most_to_fewest")
    if len(values) < len(cell.runs):
        return MISSING
    return f"{max(values):.{0 if max(values) >= 100 else 2}f}"


def switches(cell: CellSummary) -> str:
    switches = sum(cell.values("voluntary_switches")) + sum(cell.values("involuntary_switches"))
    operations = sum(cell.values("operations"))
    return f"{switches / operations:.3f}" if operations else MISSING


def rate_layout(title: str, *others: Column) -> Layout:
    """Makes the layout of a study that counts operations without reading a clock."""
    return Layout(
        title=title,
        columns=[
            RUNS,
            median_rate("rate", "operations_per_s"),
            Column("fairness", lambda cell: f"{cell.mean('fairness_jain') or 0:.3f}", 7),
            Column("most to\nfewest", most_to_fewest, 8),
            share("owner\nswitches", "owner_switch_share", 5),
            share("processor\ntime", "cpu_share", 6),
            *others,
            Column("context switches\nper operation", switches, 4),
            share("overlap", "overlap", 1),
        ],
        compared=RATE,
    )


def ratio_of_values(of: str, to: str) -> Callable[[CellSummary], str]:
    """Makes a column: the ratio of two values of the same run, with its interval over the runs."""

    def text(cell: CellSummary) -> str:
        found = paired_ratio(cell.by_block(of), cell.by_block(to))
        return ratio(found) if found else MISSING

    return text
