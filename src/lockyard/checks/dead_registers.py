# SPDX-License-Identifier: Apache-2.0
"""Clears registers that hold values which are used no more, in the compiler's code for x86-64.

The checker compares a thread's registers and stack with what they were, to recognise loops that
wait. A value that is left over from the last turn of a loop would make two states differ that are
the same. So before each call the registers are cleared that calls preserve and that nothing reads
afterwards (live-variable analysis).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lockyard.checks import assembly

# As the compiler names them in 64, 32, 16 and 8 bits.
NAMES = {
    "rbx": ("rbx", "ebx", "bx", "bl", "bh"),
    **{f"r{n}": (f"r{n}", f"r{n}d", f"r{n}w", f"r{n}b") for n in (12, 13, 14, 15)},
}
WHOLE = {name: of for of, names in NAMES.items() for name in names[:2]}
REGISTERS = {name: of for of, names in NAMES.items() for name in names}
ALL = frozenset(NAMES)
NONE: frozenset[str] = frozenset()

LABEL = re.compile(r"^([\w.$]+):")
NAME = re.compile(r"%(\w+)")
# Tables of exception handlers name them as distances.
HANDLER = re.compile(r"^\s*\.uleb128\s+(\.L\w+)-", re.MULTILINE)
# These write their last operand without reading it.
MOVES = re.compile(r"(?:mov(?:abs)?[lq]?|mov[sz][bwl][lq]|lea[lq]?|pop[q]?)")
# These may use registers that they do not name.
UNNAMED = re.compile(
    r"cpuid|.*cmpxchg.*|loop\w*|x?save\w*|xrstor\w*|rep\w*|syscall|sysenter|int\w*"
)
# The last instruction of a sequence that the linker may replace as a whole.
OF_LINKER = re.compile(r"__tls_get_addr|@tls", re.IGNORECASE)
# Calls that may come back a second time, when registers are used otherwise.
TWICE = re.compile(r"call\s+(?:\w*setjmp\w*|v?fork|getcontext)(?:@PLT)?$")


@dataclass
class Instruction:
    line: int
    text: str
    reads: frozenset[str] = NONE
    writes: frozenset[str] = NONE
    to: str | None = None  # the label of a jump
    goes_on: bool = True
    needed: frozenset[str] = NONE  # registers that are read later, before it

    @property
    def is_call(self) -> bool:
        return self.text.startswith("call")


def without_dead_values(text: str) -> str:
    handlers = frozenset(HANDLER.findall(text))

    def cleared(function: re.Match[str]) -> str:
        body = "\n".join(_cleared(function[2].split("\n"), handlers))
        begin, end = (place - function.start() for place in function.span(2))
        return function[0][:begin] + body + function[0][end:]

    return assembly.BODY.sub(cleared, text)


def _cleared(lines: list[str], handlers: frozenset[str]) -> list[str]:
    code, labels = _read(lines)
    if any(TWICE.match(each.text) for each in code):
        return lines
    at_handlers = _find_needed(code, labels, handlers)
    made = list(lines)
    for number, each in enumerate(code):
        if not each.is_call or OF_LINKER.search(each.text):
            continue
        after = code[number + 1].needed if number + 1 < len(code) else ALL
        dead = ALL - after - at_handlers - each.reads
        clears = [f"\txorl\t%{NAMES[of][1]}, %{NAMES[of][1]}" for of in sorted(dead)]
        made[each.line] = "\n".join([*clears, lines[each.line]])
    return made


def _read(lines: list[str]) -> tuple[list[Instruction], dict[str, int]]:
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    for number, line in enumerate(lines):
        text = line.split("#")[0].strip()
        if label := LABEL.match(text):
            labels[label[1]] = len(code)
        elif text and not text.startswith("."):
            code.append(_instruction(number, text))
    return code, labels


def _instruction(line: int, text: str) -> Instruction:
    made = Instruction(line, " ".join(text.split()))
    operation, _, rest = made.text.partition(" ")
    made.reads = _named_in(rest)
    operands = [each.strip() for each in re.split(r",(?![^(]*\))", rest)]
    last = WHOLE.get(operands[-1].removeprefix("%"))
    if ";" in text or UNNAMED.fullmatch(operation):
        made.reads = ALL
    elif last is not None and (
        MOVES.fullmatch(operation)
        or (operation in {"xorl", "xorq"} and len(operands) == 2 and operands[0] == operands[1])
    ):
        sources = "" if operation.startswith("xor") else ",".join(operands[:-1])
        made.reads = _named_in(sources)
        made.writes = frozenset({last}) - made.reads
    elif operation.startswith("j") and operation != "jmp":
        made.to = operands[0]
    elif operation in {"jmp", "notrack"}:
        made.to = operands[0]
        made.goes_on = False
    elif operation in {"ret", "ud2", "hlt"}:
        made.goes_on = False
    return made


def _named_in(operands: str) -> frozenset[str]:
    return frozenset(REGISTERS[name] for name in NAME.findall(operands) if name in REGISTERS)


def _find_needed(
    code: list[Instruction], labels: dict[str, int], handlers: frozenset[str]
) -> frozenset[str]:
    """Finds for each instruction the registers that are read later; returns the handlers' ones."""

    def at(place: int | None) -> frozenset[str]:
        return ALL if place is None or place >= len(code) else code[place].needed

    at_handlers = NONE
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(code))):
            each = code[number]
            after = at(number + 1) if each.goes_on else NONE
            if each.to is not None:
                after |= at(labels.get(each.to))
            elif not each.goes_on:
                after |= ALL
            if each.is_call:
                after |= at_handlers
            needed = (after - each.writes) | each.reads
            if needed != each.needed:
                each.needed, changed = needed, True
        now = NONE.union(*(at(labels[each]) for each in handlers if each in labels))
        if now != at_handlers:
            at_handlers, changed = now, True
    return at_handlers
