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
    rows = [
        (each.when, each.use, each.figure, each.against, each.confidence) for each in found.answers
    ]
    titles = ("wanted, sections, threads", "use", "figure", f"/ {found.reference}", "sure (blocks)")
    for place, title in enumerate(titles):
        widest = max(len(text) for text in (title, *(row[place] for row in rows)))
        # Where the screen is too narrow, only the names of locks are cut.
        least = None if title == "use" else widest
        table.add_column(title, no_wrap=True, overflow="ellipsis", min_width=least)
    for answer, row in zip(found.answers, rows, strict=True):
        *others, confidence = (Text(text) for text in row)
        confidence.stylize("" if answer.is_decided else "yellow")
        table.add_row(*others, confidence)
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
            f"decided: {found.decided} of {len(found.claims)} ratios ({share}), at 95 % each; "
            f"two names: alike{_open(found.answers)}"
        )


def _open(answers: Sequence[Answer]) -> str:
    if any(each.claim and each.claim.decision is Decision.OPEN for each in answers):
        return f'; "?": may differ from {REFERENCE}'
    return ""


def _cut(text: str) -> str:
    return text if len(text) <= COLUMNS else f"{text[: COLUMNS - 1]}…"
