# SPDX-License-Identifier: Apache-2.0
"""Finds accesses of C code that no instrumentation shows: a shared struct as a call's operand.

GCC instruments loads and stores, and neither the arguments nor the target of a call. For C++ the
option -fno-elide-constructors makes a copy of each such operand; C has no such option. The
compiler's dump of the code after the instrumentation has these calls.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

DUMP = "-fdump-tree-tsan-lineno"
PLACE = re.compile(r"\[([^\]\s]+):(\d+):\d+(?: discrim \d+)?\] ")
TEXT = re.compile(r'"(?:\\.|[^"\\])*"')
CALL = re.compile(r"(?:(\S+) = )?([A-Za-z_]\w*) \((.*)\);(?: \[[\w ]+\])*$")
LOCAL = re.compile(r"[\w *.]*[ *]([A-Za-z_][\w.]*)(?: \[.*\])?;$")
# Registers of the compiler's code, constants and addresses.
SEEN = re.compile(r"\w*_\d+(?:\(D\))?|[-+\d.].*|&.*|\(.*|[{<].*")


def check(whose: str, dump: str, assembler: str) -> None:
    """Raises UsageError for the first call with such an operand."""
    objects = set(re.findall(r"\.type\s+([\w.]+), @object", assembler))
    for where, called, operand in hidden(dump):
        if operand.isidentifier() and operand not in objects:
            continue  # a function's address
        raise UsageError(
            f"{whose}: {where} passes or stores the struct `{operand}` as an operand of the call "
            f"of `{called}`, which the checker cannot see, so nothing was checked; copy the struct "
            "to or from a local variable in a statement of its own"
        )


def hidden(dump: str) -> Iterator[tuple[str, str, str]]:
    """Yields the place, the called function and the operand."""
    own: set[str] = set()
    for line in dump.splitlines():
        if line.startswith(";; Function"):
            own = set()
        elif not line.startswith(" "):
            own.update(re.findall(r"(\w+)[,)]", line))  # the parameters
        elif local := LOCAL.match(line.strip()):
            own.add(local[1])
        elif place := PLACE.search(line):
            called = CALL.match(TEXT.sub("0", PLACE.sub("", line.strip())))
            if called is None or called[2].startswith("__builtin_"):
                continue
            operands = [each for each in (called[1], *called[3].split(", ")) if each]
            for each in operands:
                if not SEEN.fullmatch(each) and each not in own:
                    yield f"{place[1]}:{place[2]}", called[2], each
