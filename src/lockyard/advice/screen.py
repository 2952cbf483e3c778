# SPDX-License-Identifier: Apache-2.0
"""The first screen of a report: at most 24 lines of 100 columns that answer which lock to use."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from rich.text import Text

from lockyard.advice.answers import WANTED
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
GAP = 2  # between columns
USE, LEAST_NAME = 1, 12  # the column of locks, and its least width


def print_screen(
    found: Advice,
    cells: Sequence[CellSummary],
    environment: dict[str, Any],
    console: Console,
    footer: Sequence[str],
) -> None:
    for line in _title(environment):
        print_line(console, line, style="bold")
    for row in _answers(found, console.width):
        console.print(row, soft_wrap=True)
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


def _answers(found: Advice, width: int) -> Iterator[Text]:
    """Yields a line for each answer; on a narrow terminal, only the names of locks are cut."""
    titles = (
        "goal, sections, threads",
        "use",
        "figure",
        f"/ {found.reference}",
        "clear (blocks)",
    )
    rows = [
        titles,
        *(
            (each.when, each.use, each.figure, each.against, each.confidence)
            for each in found.answers
        ),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    spare = min(width, COLUMNS) - sum(widths) - GAP * (len(widths) - 1)
    widths[USE] = max(widths[USE] + min(spare, 0), LEAST_NAME)
    for place, row in enumerate(rows):
        cells = [_cut(text, size).ljust(size) for text, size in zip(row, widths, strict=True)]
        line = Text((" " * GAP).join(cells).rstrip(), style="" if place else "bold")
        if place and not found.answers[place - 1].is_decided:
            line.highlight_words([row[-1]], style="yellow")
        yield line


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
        decided = f"decided: {found.decided} of {len(found.claims)} ratios ({share}), each at 95 %"
        yield _cut("; ".join([decided, *_open(found.answers)]))
    if alike := _alike(found.answers):
        yield _cut(f"two names: alike; shown to differ by less than a factor of {alike}")


def _open(answers: Sequence[Answer]) -> Iterator[str]:
    if any(each.claim and each.claim.decision is Decision.OPEN for each in answers):
        yield f'"?": may differ from {REFERENCE}'


def _alike(answers: Sequence[Answer]) -> str:
    """Returns the margins within which locks are said to be alike."""
    aims = {
        WANTED[each.claim.aim.name]: each.claim.aim.alike
        for each in answers
        if each.claim and each.claim.decision is Decision.ALIKE
    }
    return ", ".join(f"{margin:g} ({name})" for name, margin in aims.items())


def _cut(text: str, width: int = COLUMNS) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
