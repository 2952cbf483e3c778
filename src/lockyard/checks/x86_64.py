# SPDX-License-Identifier: Apache-2.0
"""Reads the compiler's code for x86-64, in AT&T syntax."""

from __future__ import annotations

import re
from dataclasses import dataclass

# As the compiler names them in 64, 32, 16 and 8 bits.
NAMES = {
    **{f"r{n}x": (f"r{n}x", f"e{n}x", f"{n}x", f"{n}l", f"{n}h") for n in "abcd"},
    **{f"r{n}": (f"r{n}", f"e{n}", n, f"{n}l") for n in ("si", "di", "bp", "sp")},
    **{f"r{n}": (f"r{n}", f"r{n}d", f"r{n}w", f"r{n}b") for n in range(8, 16)},
}
WHOLE = {name: of for of, names in NAMES.items() for name in names[:2]}
REGISTERS = {name: of for of, names in NAMES.items() for name in names}

LABEL = re.compile(r"^([\w.$]+):")
# Tables of exception handlers name them as distances.
HANDLER = re.compile(r"^\s*\.uleb128\s+(\.L\w+)-", re.MULTILINE)
NAME = re.compile(r"%(\w+)")
# These write their last operand without reading it.
MOVES = re.compile(r"(?:mov(?:abs)?[lq]?|mov[sz][bwl][lq]|lea[lq]?|pop[q]?)")


@dataclass
class Instruction:
    line: int
    text: str
    operation: str
    operands: list[str]
    to: str | None = None  # the label of a jump, or the function
    goes_on: bool = True

    @property
    def is_call(self) -> bool:
        return self.operation.startswith("call")

    @property
    def target(self) -> str | None:
        """The register that is written as a whole, if the last operand is one."""
        return WHOLE.get(self.operands[-1].removeprefix("%")) if self.operands else None

    @property
    def is_move(self) -> bool:
        return self.target is not None and MOVES.fullmatch(self.operation) is not None

    @property
    def is_zero(self) -> bool:
        same = len(self.operands) == 2 and self.operands[0] == self.operands[1]
        return self.target is not None and same and self.operation in {"xorl", "xorq"}


def registers_in(operands: list[str]) -> frozenset[str]:
    found = NAME.findall(",".join(operands))
    return frozenset(REGISTERS[name] for name in found if name in REGISTERS)


def read(lines: list[str]) -> tuple[list[Instruction], dict[str, int]]:
    """Returns a function's instructions, and which of them each label stands before."""
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    for number, line in enumerate(lines):
        text = line.split("#")[0].strip()
        if label := LABEL.match(text):
            labels[label[1]] = len(code)
        elif text and not text.startswith("."):
            code.append(_instruction(number, " ".join(text.split())))
    return code, labels


def _instruction(line: int, text: str) -> Instruction:
    operation, _, rest = text.partition(" ")
    made = Instruction(line, text, operation, [])
    made.operands = [each.strip() for each in re.split(r",(?![^(]*\))", rest)] if rest else []
    if operation.startswith("j") or operation == "notrack":
        made.to = made.operands[0] if operation != "notrack" else "*"  # an indirect jump
        made.goes_on = operation not in {"jmp", "notrack"}
    elif operation in {"ret", "ud2", "hlt"}:
        made.goes_on = False
    return made
