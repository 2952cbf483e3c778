# SPDX-License-Identifier: Apache-2.0
"""The page of `check`: the results, and failing executions as lanes that a reader steps through."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from lockyard.checks.replay import replay_text
from lockyard.checks.result import Standing, not_covered, unseen
from lockyard.page.model import Advice, Execution, Page, Remark, Section, Table
from lockyard.report.naming import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockyard.checks.mutations import MutationResult
    from lockyard.checks.result import Result
    from lockyard.page.model import Block

MOST_EXECUTIONS = 40
# A line of a checker that gives no facts about it: the operation, its word, what it saw.
LINE = re.compile(
    r"(?P<kind>[a-z- ]+?) [a-z_]+ (?:of|to|on) (?P<word>.+?): (?P<value>-?\w+)"
    r"(?: \((?:by T(?P<by>\d+)|initial)\))?(?: becomes (?P<written>-?\w+))?$"
)


def page_of(results: Sequence[Result], mutated: Sequence[MutationResult]) -> Page:
    failed = [each for each in results if each.standing is Standing.FAILED]
    # A fault that a check was expected to find is worth stepping through, too.
    found = [each for each in results if each.steps and each not in failed]
    shown = [*failed, *found][:MOST_EXECUTIONS]
    sections = [Section("Advice", list(_advice(results, mutated)))]
    if shown:
        sections.append(
            Section(
                "Failing executions",
                [_execution(each) for each in shown],
                "Each column is a thread. Step with the buttons or the arrow keys: an arrow leads "
                "from the write that a step reads, and from what is known to happen before it.",
            )
        )
    tables = [_results(results)] if results else []
    tables += [_mutations(mutated)] if mutated else []
    remarks = [Remark(f"A pass does not cover: {not_covered(results)}.")]
    remarks += [Remark(f"not seen by the checker: {name}") for name in unseen(results)]
    sections.append(Section("Results", [*tables, *remarks]))
    checks = counted(len(results) + len(mutated), "check")
    return Page("Locks checked in every execution", checks, sections)


def _advice(results: Sequence[Result], mutated: Sequence[MutationResult]) -> Iterator[Block]:
    for each in results:
        if each.standing is Standing.FAILED:
            what = f": {each.what}" if each.what else ""
            yield Advice(
                f"Do not use {each.check.client.name} before this is fixed: {each.verdict}{what}.",
                f"{each.check.size.words}; expected: {each.check.client.expected}.",
            )
    for one in mutated:
        if one.standing is Standing.FAILED:
            yield Advice(
                f"Strengthen the checks: the mutant '{one.mutation.words}' survived.",
                f"{counted(one.checks, 'check')} did not find it.",
            )
    for standing, text in (
        (Standing.INCONCLUSIVE, "did not finish, and count as neither passed nor failed"),
        (Standing.EXPECTED, "ended as expected"),
    ):
        standings = [each.standing for each in results] + [each.standing for each in mutated]
        number = standings.count(standing)
        if number:
            yield Remark(f"{counted(number, 'check')} {text}.")


def _execution(result: Result) -> Execution:
    threads = result.check.size.threads
    steps = [_step(at, step, threads, result.steps) for at, step in enumerate(result.steps)]
    command = ""
    if result.choices:
        text = shlex.quote(replay_text(result.check, result.choices))
        command = f"lockyard check {result.check.client.in_command} --replay {text}"
    return Execution(
        result.check.label,
        f"{result.verdict}: {result.what}" if result.what else result.verdict,
        [f"T{thread}" for thread in range(threads)],
        steps,
        command,
    )


def _step(
    at: int, step: dict[str, Any], threads: int, steps: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    facts = step if "word" in step else _facts(step, at, steps)
    written = facts.get("written")
    read_from = facts.get("reads_from")
    conflict = facts.get("conflicts_with")
    sources = [read_from, conflict, *facts.get("after", ())]
    thread = step["thread"]
    return {
        "lane": thread if thread < threads else None,
        "where": step["where"] or "",
        "text": step["text"],
        "edges": {
            "from": sorted({each for each in sources if each is not None and each < at}),
            "word": facts.get("word") or "",
            "value": written,
            "by": f"T{thread}" if thread < threads else None,
            "also": [_other(each, steps) for each in facts.get("could_read", ())],
        },
    }


def _other(message: dict[str, Any], steps: Sequence[dict[str, Any]]) -> str:
    by = message["written_by"]
    origin = "initial" if by is None else f"by T{steps[by]['thread']}, step {by + 1}"
    return f"{message['value']} ({origin})"


def _facts(step: dict[str, Any], at: int, steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Reads the facts from the text of a line, for a checker that states no others."""
    found = LINE.match(step["text"])
    if found is None:
        return {}
    kind, word, by = found["kind"], found["word"], found["by"]
    written = found["written"] or (found["value"] if kind == "store" else None)
    source = None
    if by is not None:
        for earlier in range(at - 1, -1, -1):
            other = LINE.match(steps[earlier]["text"])
            is_write = other and (other["written"] or other["kind"] == "store")
            if is_write and other and other["word"] == word:
                value = other["written"] or other["value"]
                if steps[earlier]["thread"] == int(by) and value == found["value"]:
                    source = earlier
                    break
    return {"word": word, "written": written, "reads_from": source}


def _results(results: Sequence[Result]) -> Table:
    columns = ["client", "size", "expected", "verdict", "executions", "states", "coverage", "s"]
    rows = [
        [
            each.check.client.name,
            each.check.size.words,
            each.check.client.expected,
            each.verdict if each.standing is not Standing.FAILED else f"FAILED: {each.verdict}",
            f"{each.executions:,}",
            f"{each.states:,}",
            each.coverage,
            f"{each.seconds:.2f}",
        ]
        for each in results
    ]
    return Table("checks", columns, rows, open=True)


def _mutations(results: Sequence[MutationResult]) -> Table:
    rows = [
        [
            each.mutation.words,
            each.outcome,
            each.last.check.label if each.killed else counted(each.checks, "check"),
            each.last.verdict if each.killed else each.reason or each.last.left_out,
        ]
        for each in results
    ]
    return Table("mutants", ["mutant", "outcome", "by", "verdict or reason"], rows)
