# SPDX-License-Identifier: Apache-2.0
"""The first screen of a report: at most 24 lines of 100 columns that answer which lock to use."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from lockyard.advice.claims import Decision
from lockyard.advice.questions import REFERENCE
from lockyard.report.console import print_line
from lockyard.report.units import percent
from lockyard.report.verdict.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from lockyard.advice.answers import Advice, Answer, Avoided
    from lockyard.report.summary import CellSummary

COLUMNS = 100
LINES = 24
# The lines that a sentence about the machine may take.
MACHINE_LINES = 3


def print_screen(
    found: Advice,
    cells: Sequence[CellSummary],
    environment: dict[str, Any],
    console: Console,
    footer: Sequence[str],
) -> None:
    for line in _title(environment):
        print_line(console, line, style="bold")
    console.print(_answers(found), width=min(console.width, COLUMNS))
    for line in (*_avoided(found), *_machine(cells), *_notes(found), *footer):
        print_line(console, line)


def _title(environment: dict[str, Any]) -> Iterator[str]:
    if not environment:
        yield "which lock to use (the file does not name the machine)"
        return
    topology, system = environment["harness"]["topology"], environment["system"]
    place = f"{len(topology['usable'])} processors, {environment['cpu']['model']}, Linux"
    kind = "" if system["hypervisor"] in (None, "none") else ", virtual"
    yield _cut(f"which lock to use here: {place} {system['kernel']}{kind}")


def _answers(found: Advice) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    titles = ("wanted, sections, threads", "use", "figure", f"/ {found.reference}", "95 % sure")
    for title in titles:
        table.add_column(title, no_wrap=True, overflow="ellipsis")
    for answer in found.answers:
        style = "" if answer.is_decided else "yellow"
        cells = (answer.when, answer.use, answer.figure, answer.against)
        table.add_row(*(Text(text) for text in cells), Text(answer.confidence, style=style))
    return table


def _avoided(found: Advice) -> Iterator[str]:
    if found.broken or found.avoided:
        yield "avoid"
    for text in found.broken:
        yield _cut(f"- {text}")
    for each in found.avoided:
        yield _avoid(each)


def _avoid(each: Avoided) -> str:
    """Names the lock, its figure, the reason, and the locks that are as bad, as far as they fit."""
    text = f"- {each.lock}, {each.threads} threads: {each.figure}, {each.against} times"
    for part in (f"; {each.why}" if each.why else "", _also(each.also)):
        if len(text) + len(part) <= COLUMNS:
            text += part
    return _cut(text)


def _also(locks: Sequence[str]) -> str:
    return f"; likewise {', '.join(locks)}" if locks else ""


def _machine(cells: Sequence[CellSummary]) -> Iterator[str]:
    for sentence in Machine.of(cells).sentences(stalls_shown=True):
        evidence = "; ".join(sentence.evidence)
        text = f"machine: {sentence.text} {evidence}".rstrip()
        lines = textwrap.wrap(text, COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
        yield from lines[:MACHINE_LINES]


def _notes(found: Advice) -> Iterator[str]:
    if found.sections:
        yield _cut(found.sections)
    if found.claims:
        share = percent(found.decided / len(found.claims))
        yield _cut(
            f"decided: {found.decided} of {len(found.claims)} ratios ({share})"
            f"{_open(found.answers)}"
        )


def _open(answers: Sequence[Answer]) -> str:
    if any(each.claim and each.claim.decision is Decision.OPEN for each in answers):
        return f'; "?" = not shown to differ from {REFERENCE}'
    return ""


def _cut(text: str) -> str:
    return text if len(text) <= COLUMNS else f"{text[: COLUMNS - 1]}…"
