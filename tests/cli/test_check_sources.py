# SPDX-License-Identifier: Apache-2.0
"""What a client's file is taken for, and calls that are refused before anything runs."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from lockyard.checks import assembly, imports, lifetimes
from lockyard.checks.glue import defines_main
from lockyard.errors import UsageError
from lockyard.user_locks import type_names

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "is_program"),
    [
        ("int\nmain (void)\n{ return 0; }", True),
        ("int data; int main() { return 0; }", True),
        ("static void f() {} int main(int count, char** words) {", True),
        ("auto main() -> int {", True),
        ("/* main() { */ struct client {};", False),
        ('struct client { const char* s = "int main() {"; };', False),
        ("struct client { void thread(unsigned) { domain(1, [] {}); } };", False),
    ],
)
def test_a_file_with_main_is_a_program(text: str, is_program: bool) -> None:
    assert defines_main(text) == is_program


@pytest.mark.parametrize(
    "called",
    [
        "GOMP_parallel",
        "pthread_kill",
        "pthread_mutexattr_setrobust",
        "pthread_rwlockattr_setkind_np",
    ],
)
def test_meetings_of_threads_without_a_model_are_refused(called: str) -> None:
    with pytest.raises(UsageError, match=f"calls `{called}`"):
        assembly.check("x", f"\tcall\t{called}@PLT\n", ())


@pytest.mark.parametrize("called", ["pthread_attr_init", "pthread_mutexattr_settype", "strlen"])
def test_other_calls_are_not(called: str) -> None:
    assembly.check("x", f"\tcall\t{called}@PLT\n", ())


INLINE = '#APP\n# 5 "my/bits.hpp" 1\n\t{}\n# 0 "" 2\n#NO_APP\n'


@pytest.mark.parametrize(
    "code", ["bsrq %rax, %rcx; jz 1f; subq $1, %rcx; 1:", "rolw $8, %ax", "clz x0, x1", "pause"]
)
def test_inline_assembly_of_registers_alone_is_not_refused(code: str) -> None:
    assembly.check("x", INLINE.format(code), ())


@pytest.mark.parametrize(
    "code",
    [
        *("bsrq (%rax), %rcx", "movq %fs:8, %rax", "movl counter(%rip), %eax", "movl 8, %eax"),
        *("xchgl %eax, (%rdx)", "clz x0, [x1]", "call f", "jmp f", "push %rax", "syscall", "rdtsc"),
    ],
)
def test_other_inline_assembly_is_refused(code: str) -> None:
    with pytest.raises(UsageError, match=r"my/bits\.hpp:5 has the instruction"):
        assembly.check("x", INLINE.format(code), ())


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("_ZNSt13random_device9_M_getvalEv", "std::random_device::_M_getval()"),
        (
            "_ZSt25notify_all_at_thread_exitRSt18condition_variableSt11unique_lockISt5mutexE",
            "std::notify_all_at_thread_exit(",
        ),
        (
            "_ZNSt3pmr26synchronized_pool_resourceC1ERKNS_12pool_optionsEPNS_15memory_resourceE",
            "std::pmr::synchronized_pool_resource::synchronized_pool_resource(",
        ),
    ],
)
def test_refused_calls_have_their_names_in_the_source(called: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"calls `{re.escape(name)}"):
        assembly.check("x", f"\tcall\t{called}@PLT\n", ())


def test_unseen_functions_have_their_names_in_the_source(tmp_path: Path) -> None:
    source = tmp_path / "library.cpp"
    source.write_text(
        "namespace my { struct log { log(); }; template <class T> void note(T); }\n"
        'struct derived : my::log {}; extern "C" void plain();\n'
        "void use() { my::log own; derived other; my::note<int>(1); plain(); }\n"
    )
    module = tmp_path / "library.so"
    subprocess.run(["g++", "-shared", "-fPIC", source, "-o", module], check=True)
    names = ["my::log::log()", "plain", "void my::note<int>(int)"]
    assert sorted(imports.unseen(module, {"malloc"})) == names
    assert imports.taken(module, {"malloc"}) == ""


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ('extern "C" void lockyard_note(); void use() { lockyard_note(); }', True),
        ('extern "C" void lockyard_atomic_yield(); void use() { lockyard_atomic_yield(); }', False),
        ('extern "C" void __wrap_malloc(); void use() { __wrap_malloc(); }', False),
        ('extern "C" void __wrap_puts(); void use() { __wrap_puts(); }', True),
        ("#include <sstream>\nint use() { return !std::ostringstream{}.good(); }", True),
        ("#include <fstream>\nvoid use(const char* x) { std::ofstream{x} << 1; }", True),
        ("#include <iostream>\nvoid use() { std::cout << 1; }", False),
    ],
)
def test_calls_that_only_look_like_the_checkers_are_unseen(
    text: str, *, is_named: bool, tmp_path: Path
) -> None:
    (tmp_path / "code.cpp").write_text(text)
    module = tmp_path / "library.so"
    subprocess.run(
        ["g++", "-shared", "-fPIC", "-O1", tmp_path / "code.cpp", "-o", module], check=True
    )
    assert (imports.unseen(module, {"malloc"}) != ()) == is_named


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [
        ("__wrap_malloc", True),
        ("__wrap_mine", False),
        ("__tsan_read4", True),
        ("lockyard_atomic_yield", True),
        ("lockyard_mine", False),
        ("__wrap_pthread_create", False),
        ("__VERIFIER_assert", False),
    ],
)
def test_names_of_the_checker_are_found(name: str, *, is_taken: bool, tmp_path: Path) -> None:
    (tmp_path / "code.cpp").write_text(f'extern "C" void {name}() {{}}')
    module = tmp_path / "library.so"
    subprocess.run(["g++", "-shared", "-fPIC", tmp_path / "code.cpp", "-o", module], check=True)
    found = imports.taken(module, {"malloc", "pthread_create"})
    assert found == (name if is_taken else "")


def test_types_are_found_with_their_namespaces() -> None:
    text = """
namespace a::b { inline namespace v1 { class alignas(64) one final : base<int> { struct in {}; };
void f() { struct hidden {}; const char* s = "class quoted {"; }
}
template <class T = x<int>> struct [[nodiscard]] two { void lock() { if (0) {} } };
using three = two<int>; }
typedef a::b::one four; struct forward; enum class no_lock { x }; struct five { int i; } object;
"""
    found = {each.shown for each in type_names.declared(text)}
    names = {"a::b::v1::one", "a::b::v1::one::in", "a::b::two<...>", "a::b::three", "four", "five"}
    assert found == names


def test_the_use_that_is_not_ordered_with_an_end_is_found() -> None:
    """T0 uses the word three times: the first use happens before the end, by way of T2."""
    rows = [(0, "x", []), (0, "y", []), (2, "y", [1]), (0, "x", []), (0, "x", []), (1, "y", [2])]
    steps = [{"thread": of, "word": word, "text": "", "after": a} for of, word, a in rows]
    text = "x is destroyed although another thread's use does not happen before"
    end = {"thread": 1, "word": "", "text": text, "after": [], "conflicts_with": None}
    assert lifetimes.with_other_use([*steps, end])[-1]["conflicts_with"] == 4
    assert lifetimes.with_other_use([*steps[:3], steps[5], end])[-1] == end
