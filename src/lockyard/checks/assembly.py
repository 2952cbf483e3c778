# SPDX-License-Identifier: Apache-2.0
"""Finds instructions that the checker would not see: inline assembly, and atomic instructions that
a compiler's builtin function stands for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Hints, which change nothing that another thread can see.
HARMLESS = re.compile(
    r"(rep;?\s*)?nop|pause|rep;?\s*|yield|wfe|sevl?|isb( sy)?|prefetch\w*\b.*|endbr64"
)
# Other code has none of these: for each atomic access and fence the compiler calls the checker.
HIDDEN = re.compile(
    r"\s(lock\b.*|[lms]fence\b|xbegin\b.*|xacquire\b.*|xrelease\b.*|umwait\b.*|monitorx?\b.*|dmb\b.*|"
    r"ldaxr\w*\b.*|stlxr\w*\b.*|cas\w*\b.*|ldadd\w*\b.*|swp\w*\b.*)$"
)


def check(whose: str, text: str) -> None:
    """Raises UsageError for the first instruction that the checker cannot follow."""
    for where, instruction in _found(text):
        raise UsageError(
            f"{whose}: {where} has the instruction `{instruction}`, as inline assembly or by a "
            "builtin function, which the checker cannot follow, so nothing was checked; write it "
            "with std::atomic, or leave it out under a macro given by --flags"
        )


def _found(text: str) -> Iterator[tuple[str, str]]:
    files: dict[str, str] = {}
    where, is_inline = "the code", False
    for line in text.splitlines():
        words = line.strip()
        if match := re.match(r'\.file (\d+) (?:"[^"]*" )?"([^"]*)"', words):
            files[match[1]] = match[2]
        elif match := re.match(r"\.loc (\d+) (\d+)", words):
            where = f"{files.get(match[1], 'the code')}:{match[2]}"
        elif words in ("#APP", "#NO_APP"):
            is_inline = words == "#APP"
        elif match := re.match(r'# (\d+) "(.+)" 1$', words):
            where = f"{match[2]}:{match[1]}"
        elif is_inline and not words.startswith(("#", ".")):
            for each in (part.strip() for part in words.split(";")):
                if each and not HARMLESS.fullmatch(each):
                    yield where, each
        elif not is_inline and (hidden := HIDDEN.match(line.split("#")[0].rstrip())):
            yield where, " ".join(hidden[1].split())
