# SPDX-License-Identifier: Apache-2.0
"""Tables of simulated figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lockyard.report.console import print_line, stdout_console, titled_table
from lockyard.report.units import duration, percent, rate
from lockyard.simulate.spread import DEPENDS_BEYOND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from lockyard.simulate.published import Agreement, Figure
    from lockyard.simulate.spread import Simulated, Spread

TITLES = {
    "operations_per_s": "per second",
    "run_mean_ns": "run",
    "wait_median_ns": "median wait",
    "wait_p99_ns": "99 %",
    "wait_max_ns": "longest wait",
    "idle_max_ns": "longest idle",
    "fairness": "fairness",
    "owner_switch_share": "owner switches",
    "waiting_share": "waiting",
    "parallelism": "parallelism",
    "slowdown": "slow-down",
    "slowdown_busy": "with busy threads",
    "slowdown_cpu": "slow-down in CPU time",
    "alone_ns": "alone",
    "cpu_share": "processor time of the others",
    "wait_mean_ns": "mean wait",
    "inverted_share": "inverted",
    "inversion_max_ns": "longest inversion",
    "rescues": "rescued",
    "low_operations_per_s": "rate of the others",
    "hog_cpu_share": "hog",
    "start_median_ns": "start, median",
    "start_p99_ns": "99 % start",
    "start_max_ns": "longest start",
    "submit_median_ns": "submit, median",
    "tasks_per_s_in_bursts": "rate in bursts",
    "gap_cpu_share": "processor time in pauses",
    "workers_cpu_per_task_ns": "processor time per task",
}
RANGE_ONLY = ("idle_max_ns",)  # a property of the background
SHARES = {
    "transfers_ns": "lines in transit",
    "line_queues_ns": "queues for lines",
    "wake_latency_ns": "wake-ups",
    "owner_off_ns": "owner off processor",
}
COUNTS = ("context_switches", "preemptions", "migrations", "yields", "sleeps")


def print_simulated(title: str, found: Sequence[Simulated], explain: bool) -> None:
    console = stdout_console()
    names = [name for name in TITLES if name in found[0].figures]
    table = titled_table(title)
    for column in ("lock", "scheduler", "threads"):
        table.add_column(column, justify="right" if column == "threads" else "left")
    for name in names:
        table.add_column(TITLES[name], justify="right")
    for each in found:
        shown = [_shown(name, each.figures[name]) for name in names]
        table.add_row(*_key(each), *shown)
    console.print(table)
    for each in found:
        for inputs, figures in _dependent(each, names).items():
            print_line(
                console,
                f"- {each.cell.lock}, {each.cell.scheduler}, {each.cell.threads} threads: depends "
                f"on {inputs}, by more than a factor of {DEPENDS_BEYOND:g}: {', '.join(figures)}",
            )
    if explain:
        console.print(_explained(found))


def print_swept(
    title: str, columns: Sequence[str], found: Sequence[tuple[Mapping[str, str], Simulated]]
) -> None:
    """Prints a row for each point; the mapping of a point has the values of `columns`."""
    console = stdout_console()
    names = [name for name in TITLES if name in found[0][1].figures]
    table = titled_table(title)
    for column in (*columns, "lock"):
        table.add_column(column, justify="left" if column == "lock" else "right")
    for name in names:
        table.add_column(TITLES[name], justify="right")
    for at, each in found:
        shown = [_shown(name, each.figures[name]) for name in names]
        table.add_row(*(Text(at[name]) for name in columns), Text(each.cell.lock), *shown)
    console.print(table)


def _dependent(of: Simulated, names: Sequence[str]) -> dict[str, list[str]]:
    """Returns the titles of figures that depend on inputs, by these inputs."""
    found: dict[str, list[str]] = {}
    for name in names:
        inputs = of.figures[name].depends_on
        if inputs and name not in RANGE_ONLY:
            found.setdefault(", ".join(inputs), []).append(TITLES[name])
    return found


def _key(of: Simulated) -> list[Text]:
    return [Text(of.cell.lock), Text(of.cell.scheduler), Text(str(of.cell.threads))]


def _shown(name: str, figure: Spread) -> Text:
    low, high = _in_unit(name, figure.low), _in_unit(name, figure.high)
    if name in RANGE_ONLY:
        return Text(f"{low} to {high}")
    value = _in_unit(name, figure.value)
    return Text(value if low == high else f"{value} ({low} to {high})")


def _in_unit(name: str, value: float) -> str:
    if name.endswith("_ns"):
        return duration(value)
    return rate(value) if name.endswith("_per_s") else f"{value:.2f}"


def _explained(found: Sequence[Simulated]) -> Table:
    """Shows what the threads' time went to, in percent of all threads' time, and what happened."""
    table = titled_table("where the time went, and events per virtual ms")
    for column in ("lock", "scheduler", "threads", *SHARES.values(), *COUNTS):
        table.add_column(column.replace("_", " "), justify="left" if column == "lock" else "right")
    for each in found:
        threads_ns = each.virtual_ns * each.cell.threads
        table.add_row(
            *_key(each),
            *(
                percent(
                    each.counted[name] / (each.virtual_ns if name == "owner_off_ns" else threads_ns)
                )
                for name in SHARES
            ),
            *(f"{each.counted[name] / each.virtual_ns * 1e6:.3g}" for name in COUNTS),
        )
    return table


def print_compared(
    title: str,
    reference: str,
    figures: Sequence[Figure],
    agreements: Sequence[Agreement],
    notes: Sequence[str] = (),
) -> None:
    """Prints figures next to their reference (published, measured), and how well they agree."""
    console = stdout_console()
    rows = titled_table(title)
    for column in ("table", "row", reference, "simulated", "factor"):
        rows.add_column(column, justify="left" if column in ("table", "row") else "right")
    for each in figures:
        factor = each.simulated / each.reference
        rows.add_row(
            each.table,
            Text(each.row),
            f"{each.reference:.4g}",
            f"{each.simulated:.4g}",
            f"{factor:.2f}",
        )
    console.print(rows)
    summary = titled_table("agreement")
    for column in ("table", "figures", "rank correlation", "median factor", "within a factor of 2"):
        summary.add_column(column, justify="left" if column == "table" else "right")
    for one in agreements:
        summary.add_row(
            one.table,
            str(one.figures),
            f"{one.rank_correlation:.2f}",
            f"{one.median_factor:.2f}",
            percent(one.within_factor_2),
        )
    console.print(summary)
    for note in notes:
        print_line(console, f"- {note}")
