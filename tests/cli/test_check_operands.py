# SPDX-License-Identifier: Apache-2.0
"""C code whose calls have shared structs as operands is refused: no race would be seen."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from lockyard.checks import operands
from lockyard.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

DECLARATIONS = """
struct pair { int a, b; };
struct pair shared;
struct pair made(int);
void take(int, struct pair);
void run(void (*)(void));
void done(void);
int number(void);
static int count;
"""


def compiled(place: Path, body: str) -> tuple[str, str]:
    source = place / "program.c"
    source.write_text(DECLARATIONS + f"void use(struct pair *p, int i) {{ {body} }}\n")
    dump, assembler = place / "program.dump", place / "program.s"
    subprocess.run(
        [
            *("gcc", "-O1", "-fsanitize=thread", "-fno-tree-fre", f"{operands.DUMP}={dump}", "-S"),
            *("-o", str(assembler), str(source)),
        ],
        check=True,
    )
    return dump.read_text(), assembler.read_text()


@pytest.mark.parametrize(
    ("body", "operand"),
    [
        ("shared = made(i);", "shared"),
        ("take(i, shared);", "shared"),
        ("*p = made(i);", "*p"),
        ("take(i, p[1]);", "*_"),
    ],
)
def test_shared_structs_in_calls_are_refused(body: str, operand: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="as an operand of the call") as refused:
        operands.check("x", *compiled(tmp_path, body))
    assert f"the struct `{operand}" in str(refused.value)


@pytest.mark.parametrize(
    "body",
    [
        "struct pair mine = made(i); take(i, mine); shared = mine;",
        "struct pair mine = shared; take(count, mine); run(done);",
        "count = number(); shared.a = number(); take(i, made(p->a));",
    ],
)
def test_other_calls_are_not(body: str, tmp_path: Path) -> None:
    operands.check("x", *compiled(tmp_path, body))
