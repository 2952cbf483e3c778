# SPDX-License-Identifier: Apache-2.0
"""Marks calls whose result nothing reads, in the compiler's code for x86-64.

The checker needs far fewer executions for a system call whose result does not matter. The marks are
instructions without an effect behind the calls: one if the result is not read, another one if the
function returns it, so that it is up to the function's caller.
"""

from __future__ import annotations

import re
from enum import Enum

from lockyard.checks import assembly, x86_64

# virtual/plain/unread_results.cpp knows them, too.
UNREAD = f"\tnopl\t{int.from_bytes(b'unrd', 'little')}(%rax)"
RETURNED = f"\tnopl\t{int.from_bytes(b'retd', 'little')}(%rax)"

ARGUMENTS = frozenset({"rdi", "rsi", "rdx", "rcx", "r8", "r9"})
LOST_BY_CALLS = ARGUMENTS | {"rax", "r10", "r11"}
# These use no register that they do not name.
PLAIN = re.compile(
    r"(?:mov|lea|add|sub|and|or|xor|test|inc|dec|neg|not|sh[lr]|sa[lr]|set|cmov|push|pop)\w*|cmp[bwlq]?|cltq|"
    r"nop\w*|endbr64"
)
# The compiler's own, which have no result that a call of the system could be.
OWN = re.compile(r"call __tsan_\w+(?:@PLT)?")


class Fate(Enum):
    READ = None
    UNREAD = UNREAD
    RETURNED = RETURNED


def with_marks(text: str) -> str:
    may_throw = x86_64.HANDLER.search(text) is not None

    def marked(function: re.Match[str]) -> str:
        lines = function[2].split("\n")
        code, labels = x86_64.read(lines)
        has_frame = any(each.operands == ["%rsp", "%rbp"] for each in code)
        for number, each in enumerate(code):
            if each.is_call and not OWN.fullmatch(each.text):
                fate = _fate(code, labels, number, may_throw=may_throw)
                # The checker finds the caller by the frame.
                is_marked = fate is Fate.UNREAD or (fate is Fate.RETURNED and has_frame)
                lines[each.line] += f"\n{fate.value}" if is_marked else ""
        begin, end = (place - function.start() for place in function.span(2))
        return function[0][:begin] + "\n".join(lines) + function[0][end:]

    return assembly.BODY.sub(marked, text)


def _fate(
    code: list[x86_64.Instruction], labels: dict[str, int], call: int, *, may_throw: bool
) -> Fate:
    """Follows the result, and copies of it, on all ways from the call."""
    fate = Fate.UNREAD
    ways = [(call + 1, frozenset({"rax"}))]
    known = set(ways)
    while ways:
        place, holders = ways.pop()
        if place == len(code):
            return Fate.READ
        each = code[place]
        if each.operation == "ret":
            fate = Fate.RETURNED if "rax" in holders else fate
            continue
        left = _after(each, holders)
        # A handler may read what is kept while another function runs.
        is_kept = each.is_call and may_throw and not OWN.fullmatch(each.text) and left
        if left is None or is_kept:
            return Fate.READ
        after = [place + 1] if each.goes_on else []
        if each.to is not None and left:
            if each.to in labels:
                after.append(labels[each.to])
            elif each.to.startswith((".", "*")) or left & ARGUMENTS:
                return Fate.READ
        new = [(each, left) for each in after if left and (each, left) not in known]
        known.update(new)
        ways += new
    return fate


def _after(each: x86_64.Instruction, holders: frozenset[str]) -> frozenset[str] | None:
    """Returns the registers that hold the result after an instruction; None if that reads it."""
    read = holders & x86_64.registers_in(each.operands)
    left = holders
    if each.is_call:
        read |= holders & ARGUMENTS
        left = holders - LOST_BY_CALLS
    elif each.operation == "leave":
        left = holders - {"rbp"}
    elif each.target is not None and each.is_zero:
        read, left = frozenset(), holders - {each.target}
    elif each.target is not None and each.is_move:
        source = holders & x86_64.registers_in(each.operands[:-1])
        is_copy = each.operation.startswith("mov") and "(" not in each.operands[0]
        read = frozenset() if is_copy else source
        left = holders | {each.target} if source else holders - {each.target}
    elif each.to is None and each.goes_on and not PLAIN.fullmatch(each.operation):
        read = holders
    return None if read else left
