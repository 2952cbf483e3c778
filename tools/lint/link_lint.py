# SPDX-License-Identifier: Apache-2.0
"""Checks that the files and pages that other files name are there.

Every link of a Markdown file outside docs leads to a file, and to a heading of that file if it
names one; every page of docs that any other file names exists. MkDocs checks the links within docs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from findings import Finding, LintError, Outcome, read_text, report

if TYPE_CHECKING:
    from collections.abc import Iterator

MANUAL = "docs"
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:")  # a scheme, such as https:
_PAGE = re.compile(r"(?<![\w./-])docs/[\w./-]+\.md\b")
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


def check(root: Path) -> Outcome:
    paths = tracked(root)
    findings: list[Finding] = []
    for path in paths:
        text = _text(root / path)
        findings += _pages(root, path, text)
        if path.endswith(".md") and not path.startswith(f"{MANUAL}/"):
            findings += _links(root, path, text)
    return Outcome(findings, len(paths))


def tracked(root: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=root, capture_output=True, text=True, timeout=60, check=False
    )
    if listed.returncode != 0:
        raise LintError(f"cannot list the files of {root}: {listed.stderr.strip()}")
    # Tests name pages that are not there on purpose.
    return [path for path in listed.stdout.splitlines() if not path.startswith("tests/")]


def _text(path: Path) -> str:
    """Returns the file's text; nothing of files that are deleted, or that hold no text."""
    if not path.is_file():
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def _pages(root: Path, path: str, text: str) -> Iterator[Finding]:
    for found in _PAGE.finditer(text):
        if not (root / found[0]).is_file():
            yield Finding(path, _line(text, found), f"there is no page {found[0]}")


def _links(root: Path, path: str, text: str) -> Iterator[Finding]:
    text = _FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    for found in _LINK.finditer(text):
        link = found[1]
        if _ELSEWHERE.match(link):
            continue
        name, _, heading = link.partition("#")
        target = root / path if not name else (root / path).parent / name
        if not target.exists():
            yield Finding(path, _line(text, found), f"the link {link} leads nowhere")
        elif heading and heading not in _headings(target):
            yield Finding(path, _line(text, found), f"the link {link} names no heading")


def _headings(path: Path) -> set[str]:
    """Returns the names by which links reach the headings of a page."""
    text = _FENCE.sub("", read_text(path))
    words = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in _HEADING.findall(text))
    return {re.sub(r"\s+", "-", each) for each in words}


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start()) + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=Path())
    arguments = parser.parse_args()
    return report("link_lint", lambda: check(arguments.root))


if __name__ == "__main__":
    sys.exit(main())
