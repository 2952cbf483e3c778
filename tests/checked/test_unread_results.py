# SPDX-License-Identifier: Apache-2.0
"""Marks say whether anything reads the results of calls."""

from __future__ import annotations

import pytest

from lockyard.checks.unread_results import RETURNED, UNREAD, with_marks


def marked(*code: str, begins: str = "movq\t%rsp, %rbp", more: str = "") -> list[str]:
    """Returns a function's lines behind its first call."""
    all_lines = (begins, *code)
    body = "\n".join(line if line.startswith(".L") else f"\t{line}" for line in all_lines)
    text = with_marks(f"\t.type\tf, @function\nf:\n{body}\n\t.size\tf, .-f\n{more}")
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("\tcall"))
    return lines[first + 1 :]


CALL = "call\tsyscall@PLT"


@pytest.mark.parametrize(
    "follows",
    [
        ("movl\t$0, %eax", "ret"),
        ("xorl\t%eax, %eax", "ret"),
        ("call\tother@PLT", "ret"),
        ("movq\t%rax, %rbx", "movl\t$1, %ebx", "call\tother@PLT", "ret"),
        (".L2:", "testl\t%ebx, %ebx", "je\t.L2", "call\tother@PLT", "ret"),
        ("jmp\tother@PLT",),
        ("ud2",),
    ],
)
def test_a_result_is_not_read(follows: tuple[str, ...]) -> None:
    assert marked(CALL, *follows)[0] == UNREAD


@pytest.mark.parametrize(
    "follows",
    [
        ("ret",),
        ("addq\t$16, %rsp", "leave", "ret"),
        ("cltq", "ret"),
        ("movq\t%rax, %rbx", "call\t__tsan_func_exit@PLT", "movl\t%ebx, %eax", "ret"),
        ("testl\t%ebx, %ebx", "je\t.L2", "movl\t$0, %eax", ".L2:", "ret"),
    ],
)
def test_a_result_is_returned(follows: tuple[str, ...]) -> None:
    assert marked(CALL, *follows)[0] == RETURNED


@pytest.mark.parametrize(
    "follows",
    [
        ("testl\t%eax, %eax", "je\t.L2", ".L2:", "ret"),
        ("cmpq\t$-1, %rax", "sete\t%al", "ret"),
        ("movl\t%eax, -4(%rbp)", "ret"),
        ("movq\t%rax, %rdi", "call\tother@PLT", "ret"),
        ("movq\t%rax, %rdi", "jmp\tother@PLT"),
        ("movq\t%rax, %rbx", "call\tother@PLT", "testl\t%ebx, %ebx", "ret"),
        ("movl\t(%rax), %eax", "ret"),
        ("leaq\t1(%rax), %rax", "ret"),
        ("addl\t%eax, %ebx", "ret"),
        ("cmovs\t%eax, %ebx", "ret"),
        ("pushq\t%rax", "call\tother@PLT", "ret"),
        ("cltd", "movl\t$0, %eax", "ret"),
        ("cmpxchgl\t%ecx, (%rdx)", "ret"),
        ("xchgl\t%eax, %ebx", "ret"),
        ("jmp\t*%rcx",),
        ("jmp\t.L9",),
        ("testl\t%ebx, %ebx", "je\t.L9", "ret"),
        ("nop",),  # the function goes on elsewhere
        (".L2:", "decl\t%ecx", "jne\t.L2", "movl\t%eax, %ecx", "jmp\t.L3", ".L3:", "incl\t%ecx"),
    ],
)
def test_a_result_may_be_read(follows: tuple[str, ...]) -> None:
    behind = marked(CALL, *follows)[0]
    assert behind not in (UNREAD, RETURNED)


def test_a_handler_may_read_what_is_kept_during_a_call() -> None:
    kept = (CALL, "movq\t%rax, %rbx", "call\tother@PLT", "movl\t$0, %eax", "ret")
    assert marked(*kept)[0] == UNREAD
    assert marked(*kept, more="\t.uleb128 .L5-.LFB1\n")[0] != UNREAD


def test_a_function_without_a_frame_hides_its_caller() -> None:
    assert marked(CALL, "ret", begins="nop")[0] == "\tret"


def test_calls_of_the_compiler_have_no_marks() -> None:
    assert marked("call\t__tsan_func_exit@PLT", "ret")[0] == "\tret"
