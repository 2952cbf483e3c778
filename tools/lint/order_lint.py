# SPDX-License-Identifier: Apache-2.0
"""Checks that every atomic access writes its memory order and that every order is justified.

A non-relaxed order carries, directly above its statement or on its line,
    // order[label]: release; pairs [partner]; why it is needed
and the partner names it in return. A partner is a label of the same file, `other.hpp:label`
in a file of the same run, or `kernel`. A relaxed order carries
    // relaxed(reason): why it is enough
with a reason out of owner, locked, unpublished, revalidated, atomicity, fence, hint.
Lock headers use nothing but their world: no volatile, builtins, assembler or std::atomic.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cpp_text import Statements, blanked, comment_lines, without_requirements
from findings import LintError, Outcome, read_text, report
from order_code import banned_words, operator_accesses, unordered_accesses, used_orders
from order_notes import RELAXED_REASONS, Label, Note, RelaxedNote, read_notes
from order_pairs import OUTSIDE, Source, check_pairs

SUFFIXES = (".hpp", ".cpp")

_LOCK_HEADER = re.compile(r"include/lockyard/(?:spin|queue|park|event|resilient)/")


@dataclass
class Unit:
    """A statement's orders and the notes that speak for them."""

    orders: list[tuple[int, str]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def _units(text: str, code: str) -> dict[int | None, Unit]:
    """Orders and notes by statement; under None the notes that stand above no statement."""
    statements = Statements(code)
    comments = comment_lines(text)
    units: defaultdict[int | None, Unit] = defaultdict(Unit)
    for line, kind in used_orders(code):
        units[statements.of_line(line)].orders.append((line, kind))
    block: list[str] = []
    for line, said in sorted(comments.items()):
        block.append(said)
        beside = statements.of_line(line)
        below = statements.of_line(line + 1)
        if beside is None and below is None and line + 1 in comments:
            continue
        unit = units[below if beside is None else beside]
        unit.notes.extend(read_notes("\n".join(block), line - len(block) + 1))
        block.clear()
    return units


def _match_labels(source: Source, unit: Unit) -> None:
    """Each non-relaxed order needs a label of its kind, each label an order of its kind."""
    labels = [note for note in unit.notes if isinstance(note, Label)]
    missing = []
    for line, kind in unit.orders:
        label = next((label for label in labels if label.kind == kind), None)
        if label:
            labels.remove(label)
        elif kind != "relaxed":
            missing.append((line, kind))
    for (line, kind), label in zip(missing, labels, strict=False):
        said = label.kind or "no kind"
        source.add(
            label.line,
            f"order[{label.name}] says {said}, the code on line {line} says {kind}:"
            " make them agree",
        )
    for line, kind in missing[len(labels) :]:
        source.add(
            line,
            f"{kind} without its comment: write `// order[label]: {kind}; pairs [partner];"
            " <reason>` directly above, one for each order",
        )
    for label in labels[len(missing) :]:
        source.add(
            label.line,
            f"order[{label.name}] is stale, the code below has no such order: move or remove it",
        )


def _match_relaxed(source: Source, unit: Unit) -> None:
    """Relaxed orders and relaxed notes come together; a note speaks for its whole statement."""
    notes = [note.line for note in unit.notes if isinstance(note, RelaxedNote)]
    orders = [line for line, kind in unit.orders if kind == "relaxed"]
    if orders and not notes:
        source.add(
            orders[0],
            "relaxed without its comment: write `// relaxed(reason): <clause>` directly above,"
            f" the reason one of {', '.join(RELAXED_REASONS)}",
        )
    for line in [] if orders else notes:
        source.add(line, "relaxed(...) is stale, the code below is not relaxed: remove it")


def _read_source(path: Path) -> Source:
    """A file with everything found that needs no other file."""
    source = Source(path)
    text = read_text(path)
    code = without_requirements(blanked(text))
    source.add_all(unordered_accesses(code))
    source.add_all(operator_accesses(code))
    if _LOCK_HEADER.search(path.resolve().as_posix()):
        source.add_all(banned_words(code))
    units = _units(text, code)
    for unit in units.values():
        _match_labels(source, unit)
        _match_relaxed(source, unit)
    notes = sorted((note for unit in units.values() for note in unit.notes), key=lambda n: n.line)
    for note in notes:
        source.add_all((note.line, problem) for problem in note.problems)
        if isinstance(note, Label) and note.name == OUTSIDE:
            source.add(note.line, f"order[{OUTSIDE}] means a party outside: choose another word")
        elif isinstance(note, Label):
            first = source.labels.setdefault(note.name, note)
            if first is not note:
                source.add(note.line, f"order[{note.name}] is already on line {first.line}")
    return source


def _files(paths: Sequence[Path]) -> list[Path]:
    """The C++ files that the arguments name, each once."""
    files: dict[Path, Path] = {}
    for path in paths:
        if path.is_dir():
            found = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
        elif path.suffix in SUFFIXES:
            found = [path]
        else:
            raise LintError(f"{path} is neither a folder nor a {' or '.join(SUFFIXES)} file")
        for file in found:
            files.setdefault(file.resolve(), file)
    if not files:
        raise LintError("no C++ file in the folders given: nothing would be checked")
    return list(files.values())


def check(paths: Sequence[Path]) -> Outcome:
    """All findings in the files and folders given."""
    sources = [_read_source(path) for path in _files(paths)]
    for source in sources:
        check_pairs(source, sources)
    findings = sorted(finding for source in sources for finding in source.findings)
    return Outcome(findings, len(sources))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path, help="C++ files, or folders of them")
    options = parser.parse_args(arguments)
    return report("order_lint", lambda: check(options.paths))


if __name__ == "__main__":
    sys.exit(main())
