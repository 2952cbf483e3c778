# SPDX-License-Identifier: Apache-2.0
"""To clear registers with values that are used no more changes nothing that a program does."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

from lockyard.checks.dead_registers import without_dead_values

pytestmark = [
    pytest.mark.timeout(200),
    pytest.mark.skipif(
        platform.machine() != "x86_64", reason="unavailable here: registers of x86-64"
    ),
]
PROGRAM = Path(__file__).with_name("native") / "many_live_values.cpp"
LOOP = """\t.type\tloops, @function
loops:
\tpushq\t%rbx
.L2:
\tcall\tlook@PLT
\tmovl\t%eax, %ebx
\tmovl\t%ebx, %edi
\tcall\ttest@PLT
\ttestl\t%eax, %eax
\tje\t.L2
\tpopq\t%rbx
\tret
\t.size\tloops, .-loops
"""


def output_of(code: Path) -> str:
    program = code.with_suffix("")
    subprocess.run(["g++", str(code), "-o", str(program)], check=True, timeout=100)
    return subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_a_program_does_the_same(level: str, tmp_path: Path) -> None:
    code, cleared = tmp_path / "as_compiled.s", tmp_path / "cleared.s"
    command = ["g++", "-std=gnu++20", "-fPIC", "-fno-omit-frame-pointer", level, "-S"]
    subprocess.run([*command, str(PROGRAM), "-o", str(code)], check=True, timeout=100)
    text = code.read_text()
    cleared.write_text(without_dead_values(text))
    assert cleared.read_text().count("\n") > text.count("\n") + 50
    assert output_of(cleared) == output_of(code)


def test_the_value_of_a_turn_is_gone_in_the_next_one() -> None:
    lines = without_dead_values(LOOP).splitlines()
    for call in ("\tcall\tlook@PLT", "\tcall\ttest@PLT"):
        assert lines[lines.index(call) - 1] == "\txorl\t%ebx, %ebx"


def test_a_register_of_the_caller_is_kept() -> None:
    text = LOOP.replace("\tpushq\t%rbx\n", "").replace("\tpopq\t%rbx\n", "")
    assert "xorl" not in without_dead_values(text.replace("%ebx", "%ecx"))


@pytest.mark.parametrize(
    "follows",
    [
        "call\tlook@PLT\n\tjmp\t*%rax",
        "call\tlook@PLT\n\tjmp\tother@PLT",
        "call\tlook@PLT\n\tje\t.L9",
        "call\tlook@PLT\n\tcpuid",
        "call\tlook@PLT\n\tmovb\t$1, %bl",
        "call\tlook@PLT\n\tmovl\t(%rbx), %ebx",
        "rex64\n\tcall\t__tls_get_addr@PLT\n\tpopq\t%rbx\n\tret",
        "call\t*%rbx\n\tpopq\t%rbx\n\tret",
    ],
)
def test_a_register_is_kept_that_may_be_read(follows: str) -> None:
    text = f"\t.type\tf, @function\nf:\n\tmovq\t%rdi, %rbx\n\t{follows}\n\t.size\tf, .-f\n"
    assert "%ebx, %ebx" not in without_dead_values(text)
