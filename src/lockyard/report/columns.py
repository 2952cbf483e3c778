# SPDX-License-Identifier: Apache-2.0
"""Table columns: their type, and the columns that several studies share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.report.units import MISSING, duration, energy, percent, rate, ratio
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
    """The table of a study."""

    title: str
    columns: Sequence[Column]
    maxima: str | None  # the value whose per-run maxima are compared, over equal numbers of runs
    compared: Compared  # the main figure, by which the best peer is chosen
    also_compared: Sequence[Compared] = ()
    of: str = "lock"


def by_value(title: str, key: str, more_is_better: bool = False) -> Compared:
    return Compared(title, lambda cell: cell.by_block(key), more_is_better, key)


RATE = by_value("rate", "operations_per_s", more_is_better=True)
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


def most_to_fewest(cell: CellSummary) -> str:
    """Returns the worst run's ratio; a run in which a thread got nothing is the worst and has
    none."""
    values = cell.values("operations_most_to_fewest")
    if len(values) < len(cell.runs):
        return MISSING
    return f"{max(values):.{0 if max(values) >= 100 else 2}f}"


RUNS = Column("runs", lambda cell: str(len(cell.runs)))
MEAN_RUN = mean_of_runs("mean run", "run_ns", 3)
TEAM = (
    Column("fairness", lambda cell: f"{cell.mean('fairness_jain') or 0:.2f}", 2),
    share("overlap", "overlap", 1),
)


def team_columns(histogram: str) -> list[Column]:
    return [RUNS, MEAN_RUN, *percentiles(histogram), maximum(f"{histogram}_max_ns"), *TEAM]


def beside_sleepers(cell: CellSummary) -> str:
    """Returns the ratio of a lock's pair with sleepers to its pair without, paired by block."""
    found = paired_ratio(
        cell.by_block("pair_beside_sleepers_ns"), cell.by_block("pair_after_threads_ns")
    )
    return ratio(found) if found else MISSING


def traced_to_plain(cell: CellSummary) -> str:
    """Returns the ratio of a run's traced half to its plain half, paired by block."""
    found = paired_ratio(
        cell.by_block("traced_operations_per_s"), cell.by_block("plain_operations_per_s")
    )
    return ratio(found) if found else MISSING


def kept(cell: CellSummary) -> str:
    """Returns the share of stamps kept in the worst run; later stamps overwrote the others."""
    shares = [
        1 - run["values"]["trace_lost_stamps"] / max(run["values"]["trace_stamps"], 1)
        for run in cell.runs
    ]
    return percent(min(shares, default=None))


def writes(cell: CellSummary) -> str:
    return rate(cell.median("writes_per_s")) if cell.parameters.get("writers") else MISSING


def switches(cell: CellSummary) -> str:
    switches = sum(cell.values("voluntary_switches")) + sum(cell.values("involuntary_switches"))
    operations = sum(cell.values("operations"))
    return f"{switches / operations:.3f}" if operations else MISSING


def energy_per_operation(cell: CellSummary) -> str:
    found = cell.median("energy_per_operation_j")
    return MISSING if found is None else energy(found)


def futex_calls(cell: CellSummary) -> str:
    found = cell.mean("futex_calls_per_operation")
    return MISSING if found is None else f"{found:.3f}"
