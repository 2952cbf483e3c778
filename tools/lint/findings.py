# SPDX-License-Identifier: Apache-2.0
"""The common parts of the lints: a finding, an error, and how both reach the user."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class LintError(Exception):
    """The lint cannot do its work: wrong arguments, or input that it cannot read."""


class Finding(NamedTuple):
    """One broken rule; sorts by place."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


class Outcome(NamedTuple):
    """The findings of a run and the number of files that it looked at."""

    findings: list[Finding]
    files: int


def read_text(path: Path) -> str:
    """The file's text, or a LintError that names the file."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LintError(f"cannot read {path}: {error}") from error


def report(tool: str, check: Callable[[], Outcome]) -> int:
    """Run the check, print its findings, return the exit status: 0 clean, 1 findings, 2 error."""
    try:
        outcome = check()
    except LintError as error:
        print(f"{tool}: {error}", file=sys.stderr)
        return 2
    for finding in sorted(outcome.findings):
        print(finding)
    print(f"{tool}: {outcome.files} files, {len(outcome.findings)} findings", file=sys.stderr)
    return 1 if outcome.findings else 0
