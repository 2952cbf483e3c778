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
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')
CALL = re.compile(
    r"(?:(.+?) =(?: ?\{v\})? )?([A-Za-z_][\w.]*(?:\(D\))?) \((.*)\);(?: \[[^\]]+\])*$"
)
LOCAL = re.compile(
    r"  (?!return |goto )(static |extern )?[\w *.]*[ *]([A-Za-z_][\w.]*)(?: ?\[.*\])?(?: = \{.*)?;$"
)
PARAMETER = re.compile(r"(?<!struct )(?<!union )\b(\w+)[,)]")
# The variable that an operand is, or is a part of.
BASE = re.compile(r"(?:MEM(?: <.*>)? ?\[\(.*\)&|(?!MEM\b))(\w+(?:\.\d+)?)(?:[.\[\] ].*)?")
# Registers of the compiler's code, constants and addresses; not `(*rows)[1]`.
SEEN = re.compile(r"(?:\w*(?:\.\d+)?|\w+\$[\w$]+)_\d+(?:\(D\))?|[-+\d.].*|&.*|\((?!\*).*|[{<].*")
# A function's address has a place before it in the dump; a variable's name has none.
ADDRESS = re.compile(PLACE.pattern + r"([A-Za-z_]\w*)(?=[,)])")
FUNCTION = re.compile(r"\.type\s+(\w+), [@%]function")
OBJECT = re.compile(r"\.type\s+(\w+), [@%]object|\.comm\s+(\w+),")
# What other files define: variables and functions.
ELSEWHERE = re.compile(r"\b(\w+)@GOT|:got:(\w+)")


def check(whose: str, dump: str, assembler: str) -> None:
    """Raises UsageError for the first call with such an operand."""
    for where, called, operand in hidden(TEXT.sub("0", dump), TEXT.sub("0", assembler)):
        raise UsageError(
            f"{whose}: {where} passes or stores the struct `{operand}` as an operand of the call "
            f"of `{called}`, which the checker cannot see, so nothing was checked; copy the struct "
            "to or from a local variable in a statement of its own"
        )


def functions(dump: str, assembler: str) -> set[str]:
    """Returns the functions that are defined here, or whose address is an operand."""
    addresses = {match[2] for match in ADDRESS.findall(dump)}
    return (addresses | set(FUNCTION.findall(assembler))) - names(OBJECT, assembler)


def names(pattern: re.Pattern[str], assembler: str) -> set[str]:
    return {name for match in pattern.findall(assembler) for name in match if name}


def hidden(dump: str, assembler: str) -> Iterator[tuple[str, str, str]]:
    """Yields the place, the called function and the operand."""
    symbols = set(re.findall(r"[A-Za-z_]\w*", assembler))
    harmless = functions(dump, assembler)
    # A local variable of the same name hides one of these, and the dump does not tell them apart.
    hidden_ones = names(OBJECT, assembler) | names(ELSEWHERE, assembler)
    own: set[str] = set()
    shared: set[str] = set()
    for line in dump.splitlines():
        if line.startswith(";; Function"):
            own, shared = set(harmless), set()
        elif not line.startswith(" "):
            own.update(set(PARAMETER.findall(line)) - hidden_ones)
        elif local := LOCAL.match(line):
            (shared if local[1] or local[2] in hidden_ones else own).add(local[2])
        elif place := PLACE.search(line):
            called = CALL.match(PLACE.sub("", line.strip()))
            if called is None or called[2].startswith("__builtin_"):
                continue
            for each in (called[1], *called[3].split(", ")):
                # A variable's name may look like a register's: `node_1`.
                if not each or (SEEN.fullmatch(each) and each not in symbols):
                    continue
                base = BASE.fullmatch(each)
                if base is None or base[1] not in own - shared:
                    yield f"{place[1]}:{place[2]}", called[2], each
