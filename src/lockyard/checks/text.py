# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of lockyard check, and the interleaving of a failed execution."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

from lockyard.checks import lifetimes
from lockyard.checks.replay import replay_text
from lockyard.checks.result import Standing, not_covered, unseen
from lockyard.report.console import stdout_console

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from lockyard.checks.mutations import MutationResult
    from lockyard.checks.result import Result

COLOURS = {Standing.EXPECTED: "green", Standing.FAILED: "red", Standing.INCONCLUSIVE: "yellow"}
LANE = "│   "


def print_results(results: Sequence[Result]) -> None:
    console = stdout_console()
    if results:
        console.print(_table(results))
        if any(each.verdict == "passed" for each in results):
            _print_line(console, f"A pass does not cover: {not_covered(results)}.")
    for name in unseen(results):
        _print_line(console, f"not seen by the checker: {name}")
    for line in dict.fromkeys(line for each in results for line in each.spins):
        _print_line(
            console,
            f"{line} is treated as a spin: a thread that repeats it waits until a value changes.",
        )
    for result in results:
        if result.standing is Standing.FAILED:
            print_failure(console, result)


def print_replayed(result: Result) -> None:
    console = stdout_console()
    _print_line(console, f"{result.check.label}: {_verdict(result)}")
    _print_interleaving(console, result)


def print_mutations(results: Sequence[MutationResult]) -> None:
    if not results:
        return
    console = stdout_console()
    console.print(_mutation_table(results))
    killed = sum(each.killed for each in results)
    excused = sum(each.reason is not None and not each.killed for each in results)
    others = len(results) - killed - excused
    if not results[0].mutation.is_own:
        console.print(
            f"{killed} of {len(results)} mutants killed, {excused} survived with a listed reason, "
            f"{others} without"
        )
        return
    console.print(f"{killed} of {len(results)} mutants killed")
    for each in results:
        if each.outcome == "survived":
            _print_line(console, f"{each.mutation.place}: {_needless(each)}")


def _needless(of: MutationResult) -> str:
    """Says that a client of the user's lock does not need an order, or a wake."""
    clients = of.mutation.clients
    if all(each.group == "client" for each in clients):
        by = "this client"
    else:
        sizes = [shape for one in clients for shape in one.sizes()]
        largest = max(sizes, key=lambda shape: (shape.threads, shape.acquisitions))
        by = f"any client (the largest: {largest.threads} threads x {largest.acquisitions})"
    return f"this `{of.mutation.dropped}` is not needed by {by}: {of.mutation.change}"


def print_failure(console: Console, result: Result) -> None:
    expected = result.check.client.expected
    remark = "" if expected == "passed" else f" (expected: {expected})"
    _print_line(console, f"\n{result.check.label}: {_verdict(result)}{remark}")
    _print_interleaving(console, result)
    if result.choices:
        text = shlex.quote(replay_text(result.check, result.choices))
        _print_line(
            console, f"  replay: lockyard check {result.check.client.in_command} --replay {text}"
        )


def _verdict(result: Result) -> str:
    return f"{result.verdict}: {result.what}" if result.what else result.verdict


def _print_line(console: Console, text: str) -> None:
    """Prints the text unchanged: a command must not be broken into lines."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _table(results: Iterable[Result]) -> Table:
    shows_expected = any(each.check.client.expected != "passed" for each in results)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    # The path of a client may be longer than a line.
    table.add_column("client", overflow="fold", min_width=12)
    table.add_column("size", no_wrap=True)
    if shows_expected:
        table.add_column("expected", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for title in ("executions", "states"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("coverage", overflow="fold", min_width=10)
    table.add_column("s", justify="right", no_wrap=True)
    for each in results:
        expected = [each.check.client.expected] if shows_expected else []
        table.add_row(
            escape(each.check.client.name),
            each.check.size.words,
            *expected,
            f"[{COLOURS[each.standing]}]{each.verdict}[/]",
            f"{each.executions:,}",
            f"{each.states:,}",
            escape(each.coverage),
            f"{each.seconds:.2f}",
        )
    return table


def _mutation_table(results: Iterable[MutationResult]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for title in ("mutant", "outcome", "by", "verdict or reason"):
        table.add_column(title, overflow="fold" if title == "mutant" else "ellipsis")
    for each in results:
        last = each.last
        source = "" if each.killed or each.mutation.is_own else each.mutation.key.source
        why = each.reason or last.left_out or source
        table.add_row(
            escape(each.mutation.summary),
            f"[{COLOURS[each.standing]}]{each.outcome}[/]",
            escape(last.check.label if each.killed else f"{each.checks} checks"),
            escape(last.verdict if each.killed else why),
        )
    return table


def _print_interleaving(console: Console, result: Result) -> None:
    """Prints a line for each step with a lane for each thread. Lines that others refer to have
    numbers."""
    steps = result.steps
    wheres = [step["where"] or "" for step in steps]
    width = max(map(len, wheres), default=0)
    named = {line for step in steps for line in _mentioned(step)}
    digits = len(str(max(named, default=0)))
    for number, (step, where) in enumerate(zip(steps, wheres, strict=True)):
        thread = step["thread"]
        lane = f"{LANE * thread}T{thread}  " if thread < result.lanes else "end "
        label = str(number) if number in named else ""
        text = f"{step['text']}{_remarks(step)}"
        _print_line(console, f"  {label:>{digits}} {where:<{width}}  {lane}{text}")
    if result.check.size.destroys and (advice := lifetimes.advice(steps)):
        _print_line(console, f"  {advice}")


def _mentioned(step: dict[str, Any]) -> list[int]:
    """Returns the lines that the text of a step names."""
    conflict = step.get("conflicts_with")
    return [*step.get("after", ()), *([] if conflict is None else [conflict])]


def _remarks(step: dict[str, Any]) -> str:
    """Returns what the step could have read instead, and what happens before it."""
    values = dict.fromkeys(each["value"] for each in step.get("could_read", ()))
    remarks = [f"could read {' or '.join(values)}"] if values else []
    if after := step.get("after"):
        remarks.append(f"after {', '.join(map(str, sorted(after)))}")
    if (conflict := step.get("conflicts_with")) is not None:
        remarks.append(f"the other access is {conflict}; neither happens before the other")
    return f"  [{'; '.join(remarks)}]" if remarks else ""
