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

from lockyard.checks import assembly, x86_64

ALL = frozenset({"rbx", "r12", "r13", "r14", "r15"})
NONE: frozenset[str] = frozenset()

# These may use registers that they do not name.
UNNAMED = re.compile(
    r"cpuid|.*cmpxchg.*|loop\w*|x?save\w*|xrstor\w*|rep\w*|syscall|sysenter|int\w*"
)
# The last instruction of a sequence that the linker may replace as a whole.
OF_LINKER = re.compile(r"__tls_get_addr|@tls", re.IGNORECASE)
# Calls that may come back a second time, when registers are used otherwise.
TWICE = re.compile(r"call\s+(?:\w*setjmp\w*|v?fork|getcontext)(?:@PLT)?$")


@dataclass
class Use:
    reads: frozenset[str] = NONE
    writes: frozenset[str] = NONE
    needed: frozenset[str] = NONE  # registers that are read later, before it


def without_dead_values(text: str) -> str:
    handlers = frozenset(x86_64.HANDLER.findall(text))

    def cleared(function: re.Match[str]) -> str:
        body = "\n".join(_cleared(function[2].split("\n"), handlers))
        begin, end = (place - function.start() for place in function.span(2))
        return function[0][:begin] + body + function[0][end:]

    return assembly.BODY.sub(cleared, text)


def _cleared(lines: list[str], handlers: frozenset[str]) -> list[str]:
    code, labels = x86_64.read(lines)
    if any(TWICE.match(each.text) for each in code):
        return lines
    uses = [_use(each) for each in code]
    at_handlers = _find_needed(code, uses, labels, handlers)
    made = list(lines)
    for number, each in enumerate(code):
        if not each.is_call or OF_LINKER.search(each.text):
            continue
        after = uses[number + 1].needed if number + 1 < len(code) else ALL
        dead = ALL - after - at_handlers - uses[number].reads
        clears = [
            f"\txorl\t%{name}, %{name}" for name in sorted(x86_64.NAMES[of][1] for of in dead)
        ]
        made[each.line] = "\n".join([*clears, lines[each.line]])
    return made


def _use(of: x86_64.Instruction) -> Use:
    made = Use(reads=x86_64.registers_in(of.operands) & ALL)
    if ";" in of.text or UNNAMED.fullmatch(of.operation):
        made.reads = ALL
    elif of.target is not None and (of.is_move or of.is_zero):
        made.reads = NONE if of.is_zero else x86_64.registers_in(of.operands[:-1]) & ALL
        made.writes = frozenset({of.target}) - made.reads
    return made


def _find_needed(
    code: list[x86_64.Instruction],
    uses: list[Use],
    labels: dict[str, int],
    handlers: frozenset[str],
) -> frozenset[str]:
    """Finds for each instruction the registers that are read later; returns the handlers' ones."""

    def at(place: int | None) -> frozenset[str]:
        return ALL if place is None or place >= len(code) else uses[place].needed

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
            needed = (after - uses[number].writes) | uses[number].reads
            if needed != uses[number].needed:
                uses[number].needed, changed = needed, True
        now = NONE.union(*(at(labels[each]) for each in handlers if each in labels))
        if now != at_handlers:
            at_handlers, changed = now, True
    return at_handlers
