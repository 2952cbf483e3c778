# SPDX-License-Identifier: Apache-2.0
"""The comments that justify a memory order: `order[label]: ...` and `relaxed(reason): ...`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from cpp_text import line_at
from order_code import KINDS

RELAXED_REASONS = ("owner", "locked", "unpublished", "revalidated", "atomicity", "fence", "hint")

_NOTE = re.compile(r"\border\[(?P<label>[^\]]*)\]\s*:|\brelaxed\((?P<reason>[^)]*)\)\s*:")
_LABEL = re.compile(r"\s*(\w+)\s*;\s*pairs\s*\[([^\]]*)\]\s*(?:;(.*)|$)", re.DOTALL)
_WORD = re.compile(r"\w")


@dataclass
class Note:
    """A justification; `problems` says what is wrong with its form, whatever the code does."""

    line: int
    problems: list[str] = field(default_factory=list)


@dataclass
class RelaxedNote(Note):
    """Why a relaxed order is enough."""


@dataclass
class Label(Note):
    """Why a non-relaxed order is needed, and who is at the other end."""

    name: str = ""
    kind: str = ""
    partners: list[str] = field(default_factory=list)


def read_notes(text: str, first_line: int) -> Iterator[Note]:
    """The notes in a comment block; each reaches to the next one or to the end."""
    starts = list(_NOTE.finditer(text))
    for match, following in zip_longest(starts, starts[1:]):
        line = first_line + line_at(text, match.start()) - 1
        body = text[match.end() : following.start() if following else None]
        if match["label"] is None:
            yield _read_relaxed(line, match["reason"].strip(), body)
        else:
            yield _read_label(line, match["label"].strip(), body)


def _read_relaxed(line: int, reason: str, clause: str) -> RelaxedNote:
    note = RelaxedNote(line)
    if reason not in RELAXED_REASONS:
        known = ", ".join(RELAXED_REASONS)
        note.problems.append(f"relaxed({reason}) is not a known reason: write one of {known}")
    if not _WORD.search(clause):
        note.problems.append(f"relaxed({reason}) has no clause: write why it holds here")
    return note


def _read_label(line: int, name: str, body: str) -> Label:
    parts = _LABEL.match(body)
    if not re.fullmatch(r"[\w.-]+", name) or not parts or parts[1] not in KINDS:
        # Keep the kind that was meant, so that one slip is not reported a second time.
        meant = re.search("|".join(KINDS), body)
        note = Label(line, name=name, kind=meant[0] if meant else "")
        note.problems.append(
            "malformed: write order[label]: <kind>; pairs [a, b]; <reason>"
            f" with one of the kinds {', '.join(KINDS)}"
        )
        return note
    partners = [partner for partner in re.split(r"[\s,]+", parts[2]) if partner]
    note = Label(line, name=name, kind=parts[1], partners=partners)
    reason = parts[3] or ""
    if not _WORD.search(reason):
        note.problems.append(f"order[{name}] has no reason: write `; <reason>` after the pairs")
    elif note.kind == "seq_cst" and not re.search(r"(?i)\b(?:cycle|test)", reason):
        note.problems.append(
            f"order[{name}] is seq_cst: name the cycle that it forbids"
            " or the test that fails without it"
        )
    if not partners:
        note.problems.append(f"order[{name}] pairs with nothing: name its partner, or kernel")
    return note
