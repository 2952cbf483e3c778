# SPDX-License-Identifier: Apache-2.0
"""The report as text: the verdict, the machine, the harness's own cost, the tables, the file."""

from __future__ import annotations

import statistics
import textwrap
from typing import TYPE_CHECKING, Any

from lockyard import harness
from lockyard.advice.answers import advice
from lockyard.advice.screen import print_screen
from lockyard.records.overhead import overhead_of
from lockyard.report.clock import clock_line
from lockyard.report.console import TEXT_COLUMNS, print_line, stdout_console
from lockyard.report.published_stalls import published_stalls
from lockyard.report.reference import Against
from lockyard.report.summary import CellSummary, summarise
from lockyard.report.tables import tables
from lockyard.report.tails import tail_lines
from lockyard.report.units import duration, percent
from lockyard.report.verdict import verdict
from lockyard.studies import Setting, own_tables
from lockyard.studies.noise import noise_lines

if TYPE_CHECKING:
    from rich.console import Console

    from lockyard.advice.answers import Advice
    from lockyard.harness import Record
    from lockyard.measure.session import Measured
    from lockyard.report.verdict import Sentence

# The widest line of the verdict.
VERDICT_COLUMNS = 100


def print_report(measured: Measured, reference: str | None, tables_too: bool) -> None:
    """Prints the first screen, then the tables if they are wanted or if there is no answer."""
    console = stdout_console(TEXT_COLUMNS)
    catalog = harness.catalog()
    cells = summarise(measured.runs, catalog)
    found = advice(cells, catalog, _processors(measured.environment))
    if not found.answers:
        print_measured(measured, reference)
        return
    print_screen(found, cells, measured.environment, console, _footer(measured, found, tables_too))
    for line in _failures(cells):
        print_line(console, line)
    if tables_too:
        console.print()
        print_measured(measured, reference)


def _footer(measured: Measured, found: Advice, tables_too: bool) -> list[str]:
    if measured.path is None or tables_too:
        return []
    more = f" ({found.left_out} more answers)" if found.left_out > 0 else ""
    return [f"tables{more}: lockyard report --tables --from {measured.path}"]


def print_measured(measured: Measured, reference: str | None) -> None:
    console = stdout_console(TEXT_COLUMNS)
    catalog = harness.catalog()
    cells = summarise(measured.runs, catalog)
    against = Against.of(reference, catalog)
    processors = _processors(measured.environment)
    sentences = verdict(cells, catalog, processors, against)
    _print_verdict(sentences, console)
    for line in (
        *_machine(measured.environment),
        *noise_lines(cells),
        *_harness_cost(cells),
        *_time(measured.runs),
        *_not_counted(cells),
        *_failures(cells),
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    setting = Setting(catalog, against, console, processors)
    of_machine = [cell for cell in cells if cell.of_machine]
    of_locks = [cell for cell in cells if not cell.of_machine]
    for table in (
        *own_tables(of_machine, setting),
        *tables(cells, against, console),
        *own_tables(of_locks, setting),
        *published_stalls(of_locks, setting),
    ):
        console.print()
        console.print(table)
    _print_tails(cells, measured.environment, console)
    if measured.path is not None:
        console.print()
        console.print(f"records: {measured.path}", markup=False, highlight=False, soft_wrap=True)


def _print_tails(cells: list[CellSummary], environment: dict[str, Any], console: Console) -> None:
    lines = list(tail_lines(cells, {**environment, "yield_with_company_ns": _yield_ns(cells)}))
    if lines:
        console.print()
        print_line(console, "tails: lengths that many long waits have in common", style="bold")
        for line in lines:
            print_line(console, f"  {line}")


def _yield_ns(cells: list[CellSummary]) -> float | None:
    """Returns the cost of a yield to another thread, if the study costs was measured too."""
    found = (cell.median("yield_with_company_ns") for cell in cells if cell.study == "costs")
    return next(found, None)


def _print_verdict(sentences: list[Sentence], console: Console) -> None:
    """Prints each finding on a line of its own and wraps the evidence below it."""
    if not sentences:
        return
    columns = min(console.width, VERDICT_COLUMNS)
    print_line(console, "verdict", style="bold")
    for sentence in sentences:
        for text, first, others in (
            (sentence.text, "- ", "  "),
            (sentence.details, "    ", "    "),
        ):
            wrapper = textwrap.TextWrapper(
                columns, initial_indent=first, subsequent_indent=others, break_on_hyphens=False
            )
            for line in wrapper.wrap(text):
                print_line(console, line)
    console.print()


def _processors(environment: dict[str, Any]) -> int | None:
    """Returns the number of processors that threads may run on, if it is known."""
    return len(environment["harness"]["topology"]["usable"]) if environment else None


def _machine(environment: dict[str, Any]) -> list[str]:
    if not environment:
        return ["machine: the file holds no environment record"]
    topology = environment["harness"]["topology"]
    return [
        f"machine: {environment['cpu']['model']}, {topology['cores']} cores, "
        f"{topology['processors']} processors, Linux {environment['system']['kernel']}, "
        f"virtual: {environment['system']['hypervisor']}",
        clock_line(environment["clock"]),
        f"scheduler: {_slice(environment)}, {_throttle(environment['scheduler'])}",
    ]


def _slice(environment: dict[str, Any]) -> str:
    slice_ns = environment["harness"].get("default_slice_ns")
    return f"slice {duration(slice_ns)}" if slice_ns else "slice unknown"


def _throttle(scheduler: dict[str, Any]) -> str:
    """Says how much time real-time threads that never sleep leave to others."""
    runtime_us = scheduler.get("sched_rt_runtime_us")
    period_us = scheduler.get("sched_rt_period_us")
    if runtime_us is None or period_us is None:
        return "real-time throttle unknown"
    if int(runtime_us) < 0:
        return "real-time throttle off"
    return (
        f"real-time throttle at {duration(int(runtime_us) * 1e3)} of each "
        f"{duration(int(period_us) * 1e3)}"
    )


def harness_cost(cell: CellSummary) -> tuple[float, float, float]:
    """Returns the cost of an iteration of the measuring loop without its clock reads, and of the
    two reads: medians over the runs, each run with the cost that its reads had then."""
    runs = [run for run in cell.runs if run["values"]["operations"] > 0]
    iterations = [run["values"]["run_ns"] / run["values"]["operations"] for run in runs]
    early_ns = [run["clock"]["early_read_ns"] for run in runs]
    read_ns = [run["clock"]["read_ns"] for run in runs]
    beyond_ns = [
        iteration - early - read
        for iteration, early, read in zip(iterations, early_ns, read_ns, strict=True)
    ]
    return statistics.median(beyond_ns), statistics.median(early_ns), statistics.median(read_ns)


def _harness_cost(cells: list[CellSummary]) -> list[str]:
    for cell in cells:
        is_measure = (cell.study, cell.lock, cell.threads) == ("wait", "null_lock", 1)
        if is_measure and not cell.work and any(run["values"]["operations"] for run in cell.runs):
            beyond_ns, early_ns, read_ns = harness_cost(cell)
            return [
                f"harness: an iteration of wait around null_lock costs 2 clock reads "
                f"({duration(early_ns)} and {duration(read_ns)}) and {duration(beyond_ns)} "
                f"(medians of {len(cell.runs)} runs)"
            ]
    return []


def _time(runs: list[Record]) -> list[str]:
    found = overhead_of(runs)
    if found is None:
        return []
    around, between = found.around_runs_s / found.total_s, found.between_runs_s / found.total_s
    return [
        f"time: {found.total_s:.1f} s, of which {percent(found.overhead_share)} was not measuring "
        f"({percent(around)} starting and ending runs, {percent(between)} between runs)"
    ]


def _not_counted(cells: list[CellSummary]) -> list[str]:
    """Says why futex calls were not counted; the reason is the same for all cells."""
    reasons = (run["values"].get("futex_calls_missing") for cell in cells for run in cell.runs)
    found = next((reason for reason in reasons if reason), None)
    return [f"futex calls: not counted: {found}"] if found else []


def _failures(cells: list[CellSummary]) -> list[str]:
    lines = []
    unavailable: dict[str, list[str]] = {}  # one reason may apply to many cells
    for cell in cells:
        name = f"{cell.study} {cell.workload}".rstrip()
        if cell.lock:
            name = f"{name} of {cell.lock} with {cell.threads} threads"
        if not cell.checks_hold:
            failed = {
                check for run in cell.runs for check, held in run["checks"].items() if held is False
            }
            lines.append(f"BROKEN: {name} failed its checks ({', '.join(sorted(failed))})")
        if cell.lock and not cell.runs and cell.failure.startswith("unavailable:"):
            unavailable.setdefault(cell.failure, []).append(cell.lock)
        elif cell.failure:
            lines.append(f"{name}: {cell.failure}")
    for failure, locks in unavailable.items():
        lines.append(f"{', '.join(dict.fromkeys(locks))}: {failure}")
    return lines
