# SPDX-License-Identifier: Apache-2.0
"""The types that a header declares, for messages about a type that it does not declare."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

MOST_NAMED = 4
MARKER = re.compile(r'^# \d+ "((?:[^"\\]|\\.)*)"([ \d]*)$')
SYSTEM = "3"  # the flag of a marker in front of lines of a system header
TEXTS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'')
ATTRIBUTES = (
    r"(?:(?:alignas|__attribute__|__extension__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*"
    r"|\[\[.*?\]\]\s*)*"
)
DECLARED = re.compile(
    r"(?P<template>\btemplate\s*<)"
    r"|\bnamespace\b\s*(?P<namespace>[\w:\s]*)\{"
    rf"|(?<!enum )\b(?:class|struct|union)\b\s*{ATTRIBUTES}(?P<type>\w+)\b(?P<rest>[^;{{}}()=]*)\{{"
    r"|\busing\s+(?P<alias>\w+)\s*="
    r"|\btypedef\b[^;{}]*?\b(?P<typedef>\w+)\s*;"
    r"|(?P<mark>[{};])"
)


@dataclass(frozen=True)
class Declared:
    name: str  # with its namespaces
    is_template: bool

    @property
    def shown(self) -> str:
        return f"{self.name}<...>" if self.is_template else self.name


def own_text(preprocessed: str, theirs: Sequence[Path]) -> str:
    """Returns the lines of the user's own headers. Lines of system headers, lines of headers in the
    folders `theirs`, and lines that were made from the options are left out."""
    not_own = (*(f"{each}/" for each in theirs), "--lock ")
    kept: list[str] = []
    is_own = False
    for line in preprocessed.splitlines():
        if marker := MARKER.match(line):
            is_own = SYSTEM not in marker[2].split() and not marker[1].startswith(not_own)
        elif is_own:
            kept.append(line)
    return "\n".join(kept)


def declared(text: str) -> list[Declared]:
    """Returns the types that preprocessed text declares in namespaces and classes."""
    return list(dict.fromkeys(_declared(TEXTS.sub('""', text))))


def _declared(text: str) -> Iterator[Declared]:
    scopes: list[str | None] = []  # null: code, in which no type has a name outside
    is_template = False
    at = 0
    while found := DECLARED.search(text, at):
        at = found.end()
        if found["template"]:
            at = _end_of_arguments(text, at)
            is_template = True
            continue
        name = found["type"] or found["alias"] or found["typedef"]
        if name and None not in scopes:
            whole = "::".join([*(each for each in scopes if each), name])
            yield Declared(whole, is_template)
        if found["namespace"] is not None:
            scopes.append(re.sub(r"\s|\binline\b", "", found["namespace"]))
        elif found["type"]:
            scopes.append(name)
        elif found["mark"] == "{":
            scopes.append(None)
        elif found["mark"] == "}" and scopes:
            scopes.pop()
        is_template = False


def _end_of_arguments(text: str, at: int) -> int:
    depth = 1
    while depth and at < len(text):
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        at += 1
    return at


def near(name: str, among: Iterable[Declared]) -> list[Declared]:
    """Returns the types that a wrong name may mean: those with the same last part, or a
    similar one, then those with a similar name, the most similar ones first."""
    bare = _bare(name)
    last = _last(bare)
    known = list({each.name: each for each in among}.values())
    similar = difflib.get_close_matches(last, {_last(each.name) for each in known}, MOST_NAMED)
    wanted = [
        *(each for part in similar for each in known if _last(each.name) == part),
        *(
            each
            for whole in difflib.get_close_matches(bare, [each.name for each in known], cutoff=0.8)
            for each in known
            if each.name == whole
        ),
    ]
    return list(dict.fromkeys(wanted))[:MOST_NAMED]


def find(name: str, among: Iterable[Declared]) -> Declared | None:
    """Returns the declaration that the name has without its template arguments."""
    return next((each for each in among if each.name == _bare(name)), None)


def _bare(name: str) -> str:
    """Returns the name without template arguments and the first `::`."""
    return re.sub(r"\s|<.*", "", name).removeprefix("::")


def _last(name: str) -> str:
    return name.rpartition("::")[2]
