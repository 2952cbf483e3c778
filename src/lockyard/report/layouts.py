# SPDX-License-Identifier: Apache-2.0
"""What the table of each study shows, and by what its locks are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.report.company import (
    gaps,
    median_rate,
    of_waits,
    published_slowdown,
    rescued,
    within_runs,
)
from lockyard.report.units import MISSING, duration, energy, percent, rate, ratio
from lockyard.report.wakeup import cycles, negatives, power, published_cycles
from lockyard.stats import paired_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockyard.report.summary import CellSummary


@dataclass(frozen=True)
class Column:
    title: str
    cell: Callable[[CellSummary], str]
    importance: int = 9  # where the terminal is too narrow, the least important goes first


@dataclass(frozen=True)
class Compared:
    """A figure of a run whose ratio to the reference is shown."""

    title: str
    of: Callable[[CellSummary], dict[int, float]]  # by block
    more_is_better: bool = False
    key: str = ""  # of the run's values; else it is a duration


@dataclass(frozen=True)
class Layout:
    """How a study is shown."""

    title: str
    columns: Sequence[Column]
    maxima: str | None  # whose per-run maxima are compared, at equal numbers of runs
    compared: Compared  # by which the best of several is chosen, too
    also_compared: Sequence[Compared] = ()
    of: str = "lock"


def by_value(title: str, key: str, more_is_better: bool = False) -> Compared:
    return Compared(title, lambda cell: cell.by_block(key), more_is_better, key)


RATE = by_value("rate", "operations_per_s", more_is_better=True)
READS = by_value("reads", "reads_per_s", more_is_better=True)
RUN = by_value("run", "run_ns")
WAIT_P999 = Compared("p99.9", lambda cell: cell.percentile_by_block("wait", 0.999))


def _percentile(title: str, histogram: str, share: float, importance: int) -> Column:
    return Column(
        title, lambda cell: duration(cell.histogram(histogram).percentile(share)), importance
    )


def _percentiles(histogram: str) -> list[Column]:
    return [
        _percentile("p50", histogram, 0.5, 9),
        _percentile("p99", histogram, 0.99, 8),
        _percentile("p99.9", histogram, 0.999, 4),
    ]


def _maximum(key: str, title: str = "max", importance: int = 9) -> Column:
    return Column(title, lambda cell: duration(cell.maximum(key)), importance)


def _share(title: str, key: str, importance: int) -> Column:
    return Column(title, lambda cell: percent(cell.mean(key)), importance)


def _median(title: str, key: str, importance: int = 9) -> Column:
    return Column(title, lambda cell: duration(cell.median(key)), importance)


def _mean_of_runs(title: str, key: str, importance: int = 9) -> Column:
    return Column(title, lambda cell: duration(cell.mean(key)), importance)


def _most_to_fewest(cell: CellSummary) -> str:
    """The worst run's; a run in which a thread got nothing has none, and is the worst."""
    values = cell.values("operations_most_to_fewest")
    if len(values) < len(cell.runs):
        return MISSING
    return f"{max(values):.{0 if max(values) >= 100 else 2}f}"


RUNS = Column("runs", lambda cell: str(len(cell.runs)))
MEAN_RUN = Column("mean run", lambda cell: duration(cell.mean("run_ns")), 3)
TEAM = (
    Column("fairness", lambda cell: f"{cell.mean('fairness_jain') or 0:.2f}", 2),
    _share("overlap", "overlap", 1),
)


def _team_columns(histogram: str) -> list[Column]:
    return [RUNS, MEAN_RUN, *_percentiles(histogram), _maximum(f"{histogram}_max_ns"), *TEAM]


def _beside_sleepers(cell: CellSummary) -> str:
    """Of one lock, and paired by block."""
    found = paired_ratio(
        cell.by_block("pair_beside_sleepers_ns"), cell.by_block("pair_after_threads_ns")
    )
    return ratio(found) if found else MISSING


def _traced_to_plain(cell: CellSummary) -> str:
    """The halves of one run, paired by block."""
    found = paired_ratio(
        cell.by_block("traced_operations_per_s"), cell.by_block("plain_operations_per_s")
    )
    return ratio(found) if found else MISSING


def _kept(cell: CellSummary) -> str:
    """Of the stamps, in the worst run; the others were overwritten by later ones."""
    shares = [
        1 - run["values"]["trace_lost_stamps"] / max(run["values"]["trace_stamps"], 1)
        for run in cell.runs
    ]
    return percent(min(shares, default=None))


def _writes(cell: CellSummary) -> str:
    return rate(cell.median("writes_per_s")) if cell.conditions.get("writers") else MISSING


def _switches(cell: CellSummary) -> str:
    switches = sum(cell.values("voluntary_switches")) + sum(cell.values("involuntary_switches"))
    operations = sum(cell.values("operations"))
    return f"{switches / operations:.3f}" if operations else MISSING


def _wakeup(title: str, values: str) -> Layout:
    """By one of the two stamps of who publishes."""
    return Layout(
        title=title,
        columns=[
            RUNS,
            _median("median", f"{values}_median_ns"),
            Column("cycles", lambda cell: cycles(cell, f"{values}_median_ns")),
            Column("published:\ncycles", published_cycles, 7),
            Column("mean", lambda cell: duration(cell.mean(f"{values}_mean_ns")), 5),
            Column(
                "min", lambda cell: duration(min(cell.values(f"{values}_min_ns"), default=None))
            ),
            _maximum(f"{values}_max_ns"),
            Column("deviation", lambda cell: duration(cell.mean(f"{values}_deviation_ns")), 5),
            _share("processor\nwhile waiting", "waiting_cpu_share", 8),
            Column("power", power, 6),
            Column("left alone", lambda cell: duration(cell.mean("idle_ns")), 3),
            Column("negative,\nstamp before", lambda cell: negatives(cell, "wakeup"), 2),
            Column("negative,\nstamp after", lambda cell: negatives(cell, "published"), 4),
        ],
        maxima=None,
        compared=by_value("median", f"{values}_median_ns"),
        of="way to wait",
    )


def _energy(cell: CellSummary) -> str:
    found = cell.median("energy_per_operation_j")
    return MISSING if found is None else energy(found)


def _futex_calls(cell: CellSummary) -> str:
    found = cell.mean("futex_calls_per_operation")
    return MISSING if found is None else f"{found:.3f}"


def _rate(title: str, *others: Column) -> Layout:
    """Of what is counted without a look at the clock."""
    return Layout(
        title=title,
        columns=[
            RUNS,
            Column("rate", lambda cell: rate(cell.median("operations_per_s"))),
            Column("fairness", lambda cell: f"{cell.mean('fairness_jain') or 0:.3f}", 7),
            Column("most to\nfewest", _most_to_fewest, 8),
            _share("owner\nswitches", "owner_switch_share", 5),
            _share("processor\ntime", "cpu_share", 6),
            *others,
            Column("context switches\nper operation", _switches, 4),
            _share("overlap", "overlap", 1),
        ],
        maxima=None,
        compared=RATE,
    )


LAYOUTS = {
    "wait": Layout(
        title="wait: from the call to the acquisition",
        columns=_team_columns("wait"),
        maxima="wait_max_ns",
        compared=RATE,
        also_compared=(WAIT_P999,),
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
        compared=RATE,
    ),
    "throughput": _rate(
        "throughput: operations per second, no clock read around the lock",
        _share("of the waiting\non a processor", "spin_share", 6),
        Column("futex calls\nper operation", _futex_calls, 6),
        Column("energy per\noperation", _energy, 5),
    ),
    "response": Layout(
        title="response: to the acquisition, from the call (wait) and from when it was due "
        "(response)",
        columns=[
            RUNS,
            Column("arrivals", lambda cell: rate(cell.median("scheduled_per_s")), 8),
            Column("capacity", lambda cell: rate(cell.median("capacity_per_s")), 6),
            *(
                _percentile(f"{histogram}\n{name}", histogram, share, 9)
                for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
                for histogram in ("wait", "response")
            ),
            _maximum("wait_max_ns", "wait\nmax"),
            _maximum("response_max_ns", "response\nmax"),
            _percentile("until done\np99", "completion", 0.99, 4),
            _share("unserved", "unserved_share", 7),
            _percentile("called\nlate: p99", "lateness", 0.99, 5),
            _share("processor\ntime", "cpu_share", 3),
        ],
        maxima="response_max_ns",
        compared=Compared("p99", lambda cell: cell.percentile_by_block("response", 0.99)),
        also_compared=(Compared("p50", lambda cell: cell.percentile_by_block("response", 0.5)),),
    ),
    "torture": _rate(
        "torture: operations per second of locktorture's writers",
        Column("long holds\na run", lambda cell: f"{cell.mean('long_holds') or 0:.1f}", 6),
    ),
    "scale": _rate(
        "scale: operations per second on several locks, as will-it-scale has them",
    ),
    "stalls": Layout(
        title="stalls: what writing a trace costs (why waits are long: lockyard explain)",
        columns=[
            RUNS,
            Column("plain", lambda cell: rate(cell.median("plain_operations_per_s"))),
            Column("traced", lambda cell: rate(cell.median("traced_operations_per_s"))),
            Column("traced / plain\n[95 % interval]", _traced_to_plain),
            Column("switches:\ntraced", lambda cell: rate(cell.median("switches_per_s")), 8),
            Column("plain", lambda cell: rate(cell.median("plain_switches_per_s")), 7),
            Column("stamps kept", _kept, 5),
            Column(
                "switches\nlost", lambda cell: f"{sum(cell.values('trace_lost_switches')):g}", 4
            ),
            Column("traces", lambda cell: str(len(cell.values("trace"))), 6),
            _share("overlap", "overlap", 1),
        ],
        maxima=None,
        compared=by_value("traced", "traced_operations_per_s", more_is_better=True),
        also_compared=(by_value("plain", "plain_operations_per_s", more_is_better=True),),
    ),
    "readers": Layout(
        title="readers: reads per second, the writers' wait, and the pair of one reader alone",
        columns=[
            RUNS,
            Column("reads", lambda cell: rate(cell.median("reads_per_s"))),
            Column("writes", _writes, 7),
            Column("writer\nmean", lambda cell: duration(cell.mean("write_wait_mean_ns")), 8),
            _percentile("writer\np50", "write_wait", 0.5, 6),
            _percentile("writer\np99", "write_wait", 0.99, 8),
            _percentile("writer\np99.9", "write_wait", 0.999, 4),
            _maximum("write_wait_max_ns", "writer\nmax", 7),
            _percentile("reader\np99", "read_wait", 0.99, 5),
            _median("reader alone:\na pair", "pair_ns", 8),
            _share("processor\ntime", "cpu_share", 6),
        ],
        maxima=None,
        compared=READS,
        also_compared=(
            by_value("writer's mean", "write_wait_mean_ns"),
            Compared("writer's p99", lambda cell: cell.percentile_by_block("write_wait", 0.99)),
            by_value("pair", "pair_ns"),
        ),
    ),
    "wakeup": _wakeup(
        "wakeup: from just before the announcement until the worker goes on", "wakeup"
    ),
    "wakeup as published": _wakeup(
        "wakeup as published: from just after the announcement until the worker goes on",
        "published",
    ),
    "wait as published": Layout(
        title="wait as published: from the call to the acquisition",
        columns=_team_columns("wait"),
        maxima="wait_max_ns",
        compared=RUN,
    ),
    "idle as published": Layout(
        title="idle as published: from just before a release to the next acquisition, whether "
        "wanted or not",
        columns=_team_columns("idle_published"),
        maxima="idle_published_max_ns",
        compared=RUN,
    ),
    "workers": Layout(
        title="workers: from submitting a task to its start, in bursts with pauses",
        columns=[
            RUNS,
            *_percentiles("start"),
            _maximum("start_max_ns"),
            _percentile("submit\np50", "submit", 0.5, 6),
            _percentile("submit\np99", "submit", 0.99, 2),
            Column("rate in\nbursts", lambda cell: rate(cell.median("tasks_per_s_in_bursts")), 7),
            _share("processor time\nin pauses", "gap_cpu_share", 9),
            _median("processor time\nper task", "workers_cpu_per_task_ns", 5),
        ],
        maxima="start_max_ns",
        compared=Compared("p50", lambda cell: cell.percentile_by_block("start", 0.5)),
        also_compared=(Compared("p99", lambda cell: cell.percentile_by_block("start", 0.99)),),
        of="pool",
    ),
    "bystander": Layout(
        title="bystander: multiplications of matrices beside threads that bang on the lock",
        columns=[
            RUNS,
            Column("slow-down\n[95 % interval]", within_runs("banging_ns", "alone_ns")),
            Column("published:\nslow-down", published_slowdown, 8),
            Column("beside busy threads\n[95 % interval]", within_runs("busy_ns", "alone_ns"), 7),
            Column(
                "in its own time\n[95 % interval]",
                within_runs("banging_cpu_ns", "alone_cpu_ns"),
                6,
            ),
            _median("alone", "alone_ns", 5),
            _percentile("p99\nalone", "alone", 0.99, 2),
            _percentile("p99 beside\nthe lock", "banging", 0.99, 3),
            Column("the lock's\nrate", median_rate("operations_per_s"), 4),
            _share("processor time\nof the others", "cpu_share", 3),
        ],
        maxima=None,
        compared=by_value("slow-down", "slowdown"),
    ),
    "background": Layout(
        title="background: work of low priority beside threads that want the lock",
        columns=[
            RUNS,
            Column("gaps", gaps, 8),
            Column("work done\n[95 % interval]", within_runs("beside_units_per_s", "units_per_s")),
            Column("foreground\nalone", median_rate("operations_per_s"), 6),
            Column("foreground\nbeside work", median_rate("beside_operations_per_s"), 5),
            Column(
                "beside / alone\n[95 % interval]",
                within_runs("beside_operations_per_s", "operations_per_s"),
            ),
            _share("processor time\nof the work", "background_cpu_share", 4),
        ],
        maxima=None,
        compared=by_value("work done", "background_share", more_is_better=True),
        also_compared=(
            by_value("foreground", "beside_operations_per_s", more_is_better=True),
            by_value("foreground kept", "foreground_kept", more_is_better=True),
        ),
    ),
    "priority": Layout(
        title="priority: the wait of the one urgent thread",
        columns=[
            RUNS,
            _mean_of_runs("mean", "wait_mean_ns"),
            *_percentiles("wait"),
            _maximum("wait_max_ns"),
            Column("inverted", of_waits("inverted_waits")),
            _percentile("inversion\np50", "inversion", 0.5, 6),
            _maximum("inversion_max_ns", "inversion\nmax", 8),
            Column("rescued", rescued, 8),
            Column("rate of\nthe others", median_rate("low_operations_per_s"), 5),
            _share("processor time\nof the hog", "hog_cpu_share", 2),
        ],
        maxima="wait_max_ns",
        compared=by_value("mean", "wait_mean_ns"),
    ),
    "uncontended": Layout(
        title="uncontended: lock and unlock by the only thread",
        columns=[
            RUNS,
            _median("never a\n2nd thread", "pair_before_threads_ns"),
            _median("after a\n2nd thread", "pair_after_threads_ns"),
            _median("in turn over\n64 locks", "pair_of_64_ns", 8),
            _median("beside\nsleepers", "pair_beside_sleepers_ns", 8),
            Column("beside sleepers / after\n[95 % interval]", _beside_sleepers, 5),
        ],
        maxima=None,
        compared=by_value("after", "pair_after_threads_ns"),
        also_compared=(by_value("of 64", "pair_of_64_ns"),),
    ),
}
