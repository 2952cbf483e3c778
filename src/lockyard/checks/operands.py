# SPDX-License-Identifier: Apache-2.0
"""Finds accesses of C code that no instrumentation shows: a shared struct as a call's operand.

GCC instruments loads and stores, and neither the arguments nor the target of a call. For C++ the
option -fno-elide-constructors makes a copy of each such operand; C has no such option. The
compiler's dump of the code after the instrumentation has these calls. In C++ an object may still be
made in its place by the function that returns it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

DUMP = "-fdump-tree-tsan-lineno"
DUMP_CXX = "-fdump-tree-tsan"
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


# The compiler instruments no access of a builtin function, such as one for one instruction.
BUILTIN = re.compile(r"(?<![\w.])__builtin_(\w+) \(|\.\w*(?:LOAD|STORE)\w* \(")
WITHOUT_ACCESS = re.compile(
    r"__(?:tsan|ubsan)_\w+|(?:return|frame)_address|eh_\w+|unwind_resume|cxa_end_cleanup|constant_p|expect\w*|"
    r"alloca\w*|stack_\w+|va_(?:start|end)|ia32_pause|unreachable|trap|abort|prefetch|object_size|"
    r"(?:clz|clrsb|ctz|ffs|popcount|parity|bswap)\w*|"
    r"str(?:n?cmp|n?len|chr|rchr|str)|memchr"  # calls of the checker
)
# In the dump of C++ code: a local variable, and a call's target and operands.
LOCAL_CXX = re.compile(r"  (?!static |extern )[^ ].*[ *&]([\w.$]+)(?: ?\[.*\])?;$")
CALL_CXX = re.compile(r"\s+(?:(.+?) = (?:\{v\} )?)?[^ {].*? \((.*)\);(?: \[[^\]]+\])*$")
# The function's own result: its caller's code says what that is.
RESULT = re.compile(r"<retval>|\*_\d+\(D\)")
BASE_CXX = re.compile(RESULT.pattern + r"|(?:\w+(?:\.\d+)?)?")
# In the name of a function: the type of a pointer to a function.
POINTER = re.compile(r"\(\*\)\([^()]*\)")
# The compiler fills a new variable, which no other thread uses yet (virtual/plain/visible.txt).
UNWRITTEN = " = .DEFERRED_INIT ("
IN_MEMORY = re.compile(r"\*|MEM\b|[^&]*->")


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


def has_silent_builtin(dump: str) -> bool:
    """Returns whether a builtin function may access memory."""
    return any(
        not (name and WITHOUT_ACCESS.fullmatch(name))
        for name in BUILTIN.findall(TEXT.sub("0", dump))
    )


def is_silent(dump: str) -> bool:
    """Returns whether the C++ code has a call whose target or operand may be shared memory."""
    own: set[str] = set()
    for line in POINTER.sub("", TEXT.sub("0", dump)).splitlines():
        if UNWRITTEN in line:
            continue
        if line.startswith(";; Function"):
            own = set()
        elif local := LOCAL_CXX.match(line):
            own.add(local[1])
        elif call := CALL_CXX.match(line):
            target = call[1] or "<retval>"
            base = BASE_CXX.findall(target)[0]
            if not (SEEN.fullmatch(target) or RESULT.fullmatch(base) or base in own):
                return True
            if any(IN_MEMORY.match(each) for each in call[2].split(", ")):
                return True
    return False


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
