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
#define APART __attribute__((noinline))
struct pair { int a, b; };
struct line { struct pair from, to; struct pair all[4]; };
struct pair shared;
static struct pair unset;
void set(void) { unset.a = 1; }
struct line lines;
volatile struct pair changing;
extern struct pair elsewhere;
static struct pair node_1;
struct line from_2;
struct pair pair;
void (*pointer)(int, struct pair);
struct pair made(int);
void take(int, struct pair);
void run(void (*)(void));
void done(void);
static void helper(void) { done(); }
void init(void);
int number(void);
int printf(const char *, ...);
static int count;
"""
USE = "void use(struct pair *p, int i, struct pair (*rows)[2], void (*called)(int, struct pair))"


def compiled(place: Path, body: str) -> tuple[str, str]:
    source = place / "program.c"
    source.write_text(DECLARATIONS + f"{USE} {{ {body} }}\n")
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
        ("take(i, unset);", "unset"),
        ("take(i, elsewhere);", "elsewhere"),
        ("static struct pair mine = {1, 2}; take(i, mine);", "mine"),
        ("static struct pair init = {1, 2}; take(i, init);", "init"),
        ("static struct pair mine; take(i, mine);", "mine"),
        ("static struct pair mine[2]; take(i, mine[1]);", "mine[1]"),
        ("static struct { struct pair from; } mine; take(i, mine.from);", "mine.from"),
        ("static struct pair s; { struct pair s = made(i); take(i, s); } take(i, s);", "s"),
        ("called(i, shared);", "shared"),
        ("pointer(i, shared);", "shared"),
        ("APART void inner(struct pair x) { take(i++, x); } inner(shared); take(i, *p);", "shared"),
        ("changing = made(i);", "changing"),
        ("take(i, lines.from);", "lines.from"),
        ("lines.all[i] = made(i);", "lines.all[i"),
        ("take(i, *(struct pair *)((char *)&lines + 12));", "MEM[(struct pair *)&lines"),
        ("*(struct pair *)((char *)&lines + 12) = made(i);", "MEM[(struct pair *)&lines"),
        ("take(i, (*rows)[i]);", "(*rows"),
        ("take(i, pair);", "pair"),
        ("take(i, node_1);", "node_1"),
        ("take(i, from_2.to);", "from_2.to"),
        ("take(i, shared); { struct pair shared = {1, 2}; take(i, shared); }", "shared"),
        ("take(i, elsewhere); { struct pair elsewhere = {1}; shared = elsewhere; }", "elsewhere"),
        ('printf("[a.c:1:1] elsewhere, %d", i); take(i, elsewhere);', "elsewhere"),
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
        "run(helper); void (*late)(void) = i ? done : helper; run(late);",
        "void inner(void) { done(); } run(inner);",
        "struct line mine; mine.from = made(i); take(i, mine.from); take(i, mine.all[i]);",
        "struct pair mine[3]; mine[0] = made(i); take(i, mine[i]);",
        "struct line mine = lines; take(i, *(struct pair *)((char *)&mine + 12));",
        "struct line mine; *(struct pair *)((char *)&mine + 32) = made(i); run((void *)&mine);",
        "volatile struct pair mine; mine = made(i); take(i, mine);",
        "called(i, made(i));",
        "run((void (*)(void))pointer);",
    ],
)
def test_other_calls_are_not(body: str, tmp_path: Path) -> None:
    operands.check("x", *compiled(tmp_path, body))
