# SPDX-License-Identifier: Apache-2.0
"""Checks the English of the repository against the rules in prose_rules.toml.

It reads Markdown, the comments and strings of C, C++ and Python, docstrings, and shell, CMake and
TOML files, of all files that Git tracks. Files that match a glob in prose_pending.txt may still
break rules; a glob whose files are all clean is a finding, so that the list can only shrink.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from findings import Finding, LintError, Outcome, read_text, report
from prose_text import Kind, Passage, language, passages

RULES = "prose_rules.toml"
PENDING = "prose_pending.txt"
_SENTENCE_START = r"(?:\A|(?<=[.!?;]))\s*"


class Rule(NamedTuple):
    """A pattern that no prose may contain, and what to write instead."""

    name: str
    pattern: re.Pattern[str]
    kinds: frozenset[Kind] | None  # None: the pattern is looked for in the code too
    wrong: str
    write: str

    def message(self, match: re.Match[str]) -> str:
        """The text of a finding: the words, what is wrong with them, what to write."""
        words = " ".join(match[0].split())
        return f"[{self.name}] `{words}`: {self.wrong}: write {self.write}"


class Hit(NamedTuple):
    """A finding and the rule that it breaks."""

    rule: str
    finding: Finding


def load_rules(path: Path) -> list[Rule]:
    """The rules of a file, in its order."""
    try:
        tables = tomllib.loads(read_text(path))["rule"]
        return [_rule(table) for table in tables]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, re.error) as error:
        raise LintError(f"{path} is not a list of rules: {error!r}") from error


def _rule(table: dict[str, str | list[str]]) -> Rule:
    where = table.get("where", [kind.value for kind in Kind])
    kinds = None if where == "everywhere" else frozenset(Kind(name) for name in where)
    # A blank in a pattern stands for any white space, so that a line break hides nothing.
    pattern = str(table["pattern"]).replace("{start}", _SENTENCE_START).replace(" ", r"\s+")
    flags = re.MULTILINE if table.get("case") else re.IGNORECASE
    return Rule(
        str(table["name"]),
        re.compile(pattern, flags),
        kinds,
        str(table["wrong"]),
        str(table["write"]),
    )


class Pending(NamedTuple):
    """A glob of files that need not be clean yet, and its line in the list."""

    line: int
    glob: str

    def covers(self, path: str) -> bool:
        """True if the glob matches the path; `*` matches within one folder only."""
        parts, globs = path.split("/"), self.glob.split("/")
        return len(parts) == len(globs) and all(map(fnmatchcase, parts, globs))


def load_pending(path: Path) -> list[Pending]:
    """The globs of the list; none where there is no list."""
    lines = read_text(path).splitlines() if path.exists() else []
    stripped = ((number, line.partition("#")[0].strip()) for number, line in enumerate(lines, 1))
    return [Pending(number, glob) for number, glob in stripped if glob]


def check_text(path: str, text: str, rules: Sequence[Rule]) -> Iterator[Hit]:
    """Every broken rule in one file."""
    name = PurePosixPath(path)
    found = passages(name, text)
    whole = [Passage(Kind.STRING, 1, text)] if language(name, text) else []
    for rule in rules:
        for passage in whole if rule.kinds is None else found:
            if rule.kinds is not None and passage.kind not in rule.kinds:
                continue
            for match in rule.pattern.finditer(passage.text):
                start = match.end() - len(match[0].lstrip())
                line = passage.line + passage.text.count("\n", 0, start)
                yield Hit(rule.name, Finding(path, line, rule.message(match)))


def tracked_files(root: Path) -> list[str]:
    """The files that Git tracks and that exist, by their paths from the root."""
    command = ["git", "-C", str(root), "ls-files", "-z"]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        raise LintError(f"cannot list the files of {root}: {listing.stderr.strip()}")
    return [name for name in listing.stdout.split("\0") if name and (root / name).is_file()]


def _readable(path: Path) -> str:
    """The text of a file; empty for a binary one, which has no prose."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def all_hits(root: Path, rules: Sequence[Rule]) -> tuple[list[Hit], int]:
    """Every broken rule in the repository, pending files included, and the number of files."""
    names = (name for name in tracked_files(root) if name != f"tools/lint/{RULES}")  # has examples
    texts = ((name, _readable(root / name)) for name in names)
    read = [(name, text) for name, text in texts if language(PurePosixPath(name), text)]
    return [hit for name, text in read for hit in check_text(name, text, rules)], len(read)


def unexcused(hits: Sequence[Hit], pending: Sequence[Pending], listing: str) -> list[Finding]:
    """The findings in files that must be clean, and the globs that excuse nothing."""
    kept = [
        hit.finding for hit in hits if not any(glob.covers(hit.finding.path) for glob in pending)
    ]
    dirty = {hit.finding.path for hit in hits}
    stale = [
        Finding(listing, glob.line, f"`{glob.glob}` matches no file with findings: remove the line")
        for glob in pending
        if not any(map(glob.covers, dirty))
    ]
    return kept + stale


def count_table(hits: Sequence[Hit], rules: Sequence[Rule]) -> str:
    """The number of findings by rule and folder, as aligned text."""
    counts = Counter((hit.rule, _folder(hit.finding.path)) for hit in hits)
    folders = sorted({folder for _, folder in counts})
    width = max((len(rule.name) for rule in rules), default=0)
    rows = [["rule", *folders, "all"]]
    for name in [rule.name for rule in rules]:
        row = [counts[name, folder] for folder in folders]
        rows.append([name, *map(str, row), str(sum(row))])
    sums = [sum(counts[rule.name, folder] for rule in rules) for folder in folders]
    rows.append(["all", *map(str, sums), str(sum(sums))])
    return "\n".join(
        row[0].ljust(width)
        + "".join(
            cell.rjust(len(head) + 2) for cell, head in zip(row[1:], rows[0][1:], strict=True)
        )
        for row in rows
    )


def _folder(path: str) -> str:
    return path.split("/")[0] if "/" in path else "."


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "root", nargs="?", type=Path, default=here.parents[1], help="the repository to check"
    )
    parser.add_argument("--count", action="store_true", help="print counts by rule and folder")
    parser.add_argument("--all", action="store_true", help="check pending files too")
    options = parser.parse_args(arguments)

    def check() -> Outcome:
        rules = load_rules(here / RULES)
        hits, files = all_hits(options.root, rules)
        if options.count:
            print(count_table(hits, rules))
            return Outcome([], files)
        listing = options.root / "tools" / "lint" / PENDING
        pending = [] if options.all else load_pending(listing)
        return Outcome(unexcused(hits, pending, f"tools/lint/{PENDING}"), files)

    return report("prose_lint", check)


if __name__ == "__main__":
    sys.exit(main())
