# SPDX-License-Identifier: Apache-2.0
"""The table of each study: its columns, and the figures by which its locks are compared."""

from __future__ import annotations

from lockyard.report.columns import (
    MEAN_RUN,
    RATE,
    READS,
    RUN,
    RUNS,
    TEAM,
    WAIT_P999,
    Column,
    Compared,
    Layout,
    beside_sleepers,
    by_value,
    energy_per_operation,
    futex_calls,
    kept,
    maximum,
    mean_of_runs,
    median,
    median_rate,
    most_to_fewest,
    percentile,
    percentiles,
    share,
    switches,
    team_columns,
    traced_to_plain,
    writes,
)
from lockyard.report.company import (
    gaps,
    of_waits,
    published_slowdown,
    rescued,
    within_runs,
)
from lockyard.report.units import duration
from lockyard.report.wakeup import cycles, negatives, power, published_cycles


def _wakeup(title: str, values: str) -> Layout:
    """Makes the layout for one of the publisher's two time stamps."""
    return Layout(
        title=title,
        columns=[
            RUNS,
            median("median", f"{values}_median_ns"),
            Column("cycles", lambda cell: cycles(cell, f"{values}_median_ns")),
            Column("published:\ncycles", published_cycles, 7),
            mean_of_runs("mean", f"{values}_mean_ns", 5),
            Column(
                "min", lambda cell: duration(min(cell.values(f"{values}_min_ns"), default=None))
            ),
            maximum(f"{values}_max_ns"),
            mean_of_runs("deviation", f"{values}_deviation_ns", 5),
            share("processor\nwhile waiting", "waiting_cpu_share", 8),
            Column("power", power, 6),
            mean_of_runs("left alone", "idle_ns", 3),
            Column("negative,\nstamp before", lambda cell: negatives(cell, "wakeup"), 2),
            Column("negative,\nstamp after", lambda cell: negatives(cell, "published"), 4),
        ],
        maxima=None,
        compared=by_value("median", f"{values}_median_ns"),
        of="way to wait",
    )


def _rate(title: str, *others: Column) -> Layout:
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
        maxima=None,
        compared=RATE,
    )


LAYOUTS = {
    "wait": Layout(
        title="wait: from the call to the acquisition",
        columns=team_columns("wait"),
        maxima="wait_max_ns",
        compared=RATE,
        also_compared=(WAIT_P999,),
    ),
    "idle": Layout(
        title="idle (free but wanted), past 1 µs: from the end of a release to the next "
        "acquisition, while a thread waited",
        columns=[
            RUNS,
            MEAN_RUN,
            share("of the time", "idle_wanted_share", 9),
            *percentiles("idle_wanted"),
            maximum("idle_wanted_max_ns"),
            share("in release:\nof the time", "idle_in_release_share", 5),
            maximum("idle_in_release_max_ns", "in release:\nmax", 2),
            maximum("idle_published_max_ns", "as published:\nmax", 2),
            *TEAM,
        ],
        maxima="idle_wanted_max_ns",
        compared=RATE,
    ),
    "throughput": _rate(
        "throughput: operations per second, no clock read around the lock",
        share("of the waiting\non a processor", "spin_share", 6),
        Column("futex calls\nper operation", futex_calls, 6),
        Column("energy per\noperation", energy_per_operation, 5),
    ),
    "response": Layout(
        title="response: time to the acquisition, from the call (wait) and from when it was due "
        "(response)",
        columns=[
            RUNS,
            median_rate("arrivals", "scheduled_per_s", 8),
            median_rate("capacity", "capacity_per_s", 6),
            *(
                percentile(f"{histogram}\n{name}", histogram, share, 9)
                for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
                for histogram in ("wait", "response")
            ),
            maximum("wait_max_ns", "wait\nmax"),
            maximum("response_max_ns", "response\nmax"),
            percentile("until done\np99", "completion", 0.99, 4),
            share("unserved", "unserved_share", 7),
            percentile("calls\nlate: p99", "lateness", 0.99, 5),
            share("processor\ntime", "cpu_share", 3),
        ],
        maxima="response_max_ns",
        compared=Compared("p99", lambda cell: cell.percentile_by_block("response", 0.99)),
        also_compared=(Compared("p50", lambda cell: cell.percentile_by_block("response", 0.5)),),
    ),
    "torture": _rate(
        "torture: operations per second of writers that work as locktorture's",
        Column("long holds\nper run", lambda cell: f"{cell.mean('long_holds') or 0:.1f}", 6),
    ),
    "scale": _rate(
        "scale: operations per second on several locks, as in will-it-scale",
    ),
    "stalls": Layout(
        title="stalls: the cost of writing a trace (lockyard explain shows why waits are long)",
        columns=[
            RUNS,
            median_rate("plain", "plain_operations_per_s"),
            median_rate("traced", "traced_operations_per_s"),
            Column("traced / plain\n[95 % interval]", traced_to_plain),
            median_rate("switches:\ntraced", "switches_per_s", 8),
            median_rate("plain", "plain_switches_per_s", 7),
            Column("stamps kept", kept, 5),
            Column(
                "switches\nlost", lambda cell: f"{sum(cell.values('trace_lost_switches')):g}", 4
            ),
            Column("traces", lambda cell: str(len(cell.values("trace"))), 6),
            share("overlap", "overlap", 1),
        ],
        maxima=None,
        compared=by_value("traced", "traced_operations_per_s", more_is_better=True),
        also_compared=(by_value("plain", "plain_operations_per_s", more_is_better=True),),
    ),
    "readers": Layout(
        title="readers: reads per second, the writers' waits, and the pair of one reader alone",
        columns=[
            RUNS,
            median_rate("reads", "reads_per_s"),
            Column("writes", writes, 7),
            mean_of_runs("writer\nmean", "write_wait_mean_ns", 8),
            percentile("writer\np50", "write_wait", 0.5, 6),
            percentile("writer\np99", "write_wait", 0.99, 8),
            percentile("writer\np99.9", "write_wait", 0.999, 4),
            maximum("write_wait_max_ns", "writer\nmax", 7),
            percentile("reader\np99", "read_wait", 0.99, 5),
            median("one reader:\na pair", "pair_ns", 8),
            share("processor\ntime", "cpu_share", 6),
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
        "wakeup: from just before the publication until the worker continues", "wakeup"
    ),
    "wakeup as published": _wakeup(
        "wakeup as published: from just after the publication until the worker continues",
        "published",
    ),
    "wait as published": Layout(
        title="wait as published: from the call to the acquisition",
        columns=team_columns("wait"),
        maxima="wait_max_ns",
        compared=RUN,
    ),
    "idle as published": Layout(
        title="idle as published: from just before a release to the next acquisition, whether "
        "wanted or not",
        columns=team_columns("idle_published"),
        maxima="idle_published_max_ns",
        compared=RUN,
    ),
    "workers": Layout(
        title="workers: from submitting a task to its start, in bursts with pauses",
        columns=[
            RUNS,
            *percentiles("start"),
            maximum("start_max_ns"),
            percentile("submit\np50", "submit", 0.5, 6),
            percentile("submit\np99", "submit", 0.99, 2),
            median_rate("rate in\nbursts", "tasks_per_s_in_bursts", 7),
            share("processor time\nin pauses", "gap_cpu_share", 9),
            median("processor time\nper task", "workers_cpu_per_task_ns", 5),
        ],
        maxima="start_max_ns",
        compared=Compared("p50", lambda cell: cell.percentile_by_block("start", 0.5)),
        also_compared=(Compared("p99", lambda cell: cell.percentile_by_block("start", 0.99)),),
        of="pool",
    ),
    "bystander": Layout(
        title="bystander: matrix multiplications next to threads that contend for the lock",
        columns=[
            RUNS,
            Column("slow-down\n[95 % interval]", within_runs("banging_ns", "alone_ns")),
            Column("published:\nslow-down", published_slowdown, 8),
            Column("with busy threads\n[95 % interval]", within_runs("busy_ns", "alone_ns"), 7),
            Column(
                "slow-down in CPU time\n[95 % interval]",
                within_runs("banging_cpu_ns", "alone_cpu_ns"),
                6,
            ),
            median("alone", "alone_ns", 5),
            percentile("p99\nalone", "alone", 0.99, 2),
            percentile("p99 with\nthe lock", "banging", 0.99, 3),
            median_rate("the lock's\nrate", "operations_per_s", 4),
            share("processor time\nof the others", "cpu_share", 3),
        ],
        maxima=None,
        compared=by_value("slow-down", "slowdown"),
    ),
    "background": Layout(
        title="background: low-priority work next to threads that want the lock",
        columns=[
            RUNS,
            Column("gaps", gaps, 8),
            Column("work done\n[95 % interval]", within_runs("beside_units_per_s", "units_per_s")),
            median_rate("foreground\nalone", "operations_per_s", 6),
            median_rate("foreground\nwith work", "beside_operations_per_s", 5),
            Column(
                "with work / alone\n[95 % interval]",
                within_runs("beside_operations_per_s", "operations_per_s"),
            ),
            share("processor time\nof the work", "background_cpu_share", 4),
        ],
        maxima=None,
        compared=by_value("work done", "background_share", more_is_better=True),
        also_compared=(
            by_value("foreground", "beside_operations_per_s", more_is_better=True),
            by_value("foreground kept", "foreground_kept", more_is_better=True),
        ),
    ),
    "priority": Layout(
        title="priority: the waits of the one urgent thread",
        columns=[
            RUNS,
            mean_of_runs("mean", "wait_mean_ns"),
            *percentiles("wait"),
            maximum("wait_max_ns"),
            Column("inverted", of_waits("inverted_waits")),
            percentile("inversion\np50", "inversion", 0.5, 6),
            maximum("inversion_max_ns", "inversion\nmax", 8),
            Column("rescued", rescued, 8),
            median_rate("rate of\nthe others", "low_operations_per_s", 5),
            share("processor time\nof busy threads", "hog_cpu_share", 2),
        ],
        maxima="wait_max_ns",
        compared=by_value("mean", "wait_mean_ns"),
    ),
    "uncontended": Layout(
        title="uncontended: lock and unlock by the only thread",
        columns=[
            RUNS,
            median("never a\n2nd thread", "pair_before_threads_ns"),
            median("after a\n2nd thread", "pair_after_threads_ns"),
            median("in turn over\n64 locks", "pair_of_64_ns", 8),
            median("with\nsleepers", "pair_beside_sleepers_ns", 8),
            Column("with sleepers / after\n[95 % interval]", beside_sleepers, 5),
        ],
        maxima=None,
        compared=by_value("after", "pair_after_threads_ns"),
        also_compared=(by_value("of 64", "pair_of_64_ns"),),
    ),
}
