# SPDX-License-Identifier: Apache-2.0
"""The list of mutants that no check can kill, each with the reason why.

An entry names the file, the weakening and the text of the source line, so that the line may move.
Equal lines of one file share an entry. If no headers are installed next to the command, the line
number stands in for the text.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lockyard.errors import MissingCapabilityError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockyard.checks.mutations import MutationResult

PACKAGE = Path(__file__).parents[1]
LIST = PACKAGE / "data" / "surviving_mutants.txt"
# The headers of an installation, and of the source tree.
INCLUDES = (PACKAGE / "include", PACKAGE.parents[1] / "include")


class Key(NamedTuple):
    file: str
    weakening: str
    source: str

    def __str__(self) -> str:
        return f"{self.file}: {self.weakening}: {self.source}"


@cache
def _lines(file: str) -> list[str]:
    include = next((each for each in INCLUDES if each.is_dir()), None)
    paths = [] if include is None else list(include.rglob(file))
    return paths[0].read_text().splitlines() if len(paths) == 1 else []


def source_text(file: str, line: int) -> str:
    """Returns the text of a source line; empty if there is no such header, or more than one."""
    lines = _lines(file)
    return lines[line - 1].strip() if 1 <= line <= len(lines) else ""


def read_list(path: Path = LIST) -> dict[Key, str]:
    """Reads stanzas, separated by empty lines: `file: weakening`, the source line, the reason."""
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("#"))
    listed: dict[Key, str] = {}
    for stanza in text.split("\n\n"):
        lines = [line.strip() for line in stanza.splitlines() if line.strip()]
        if not lines:
            continue
        file, colon, weakening = lines[0].partition(": ")
        if not colon or len(lines) < 3:
            raise MissingCapabilityError(
                f"{path}: '{lines[0]}' is not an entry of three parts (file: weakening; the source "
                "line; the reason), so surviving mutants cannot be judged; fix it, or reinstall "
                "lockyard"
            )
        listed[Key(file, weakening, lines[1])] = " ".join(lines[2:])
    return listed


def stale_entries(listed: Iterable[Key], results: Iterable[MutationResult]) -> list[str]:
    """Returns an error for each entry that excuses no mutant any longer. Entries of headers that no
    checked lock uses are not judged."""
    outcomes: dict[Key, set[str]] = {}
    files: set[str] = set()
    for each in results:
        outcomes.setdefault(each.mutation.key, set()).add(each.outcome)
        files.add(each.mutation.key.file)
    return [
        f"{key}: is listed as surviving, but "
        + ("is killed" if key in outcomes else "there is no such mutation")
        + f"; remove it from {LIST.name}"
        for key in listed
        if outcomes.get(key, {"killed"}) == {"killed"}
        and (key.file in files or not _lines(key.file))
    ]
