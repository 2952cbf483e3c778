# SPDX-License-Identifier: Apache-2.0
"""Code whose accesses the checker does not see is recognised: no order of its steps is left out."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from lockyard.checks import assembly, members, operands

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """
#define APART __attribute__((noinline, used))
struct pair { long a, b, c; };
long shared[4];
extern int hidden(int);
typedef int four __attribute__((vector_size(16)));
"""
FILLED = "-ftrivial-auto-var-init=pattern"  # as in virtual/plain/visible.txt
NOT_INSTRUMENTED = '__attribute__((no_sanitize("thread"), noinline, used))'


def compiled(place: Path, text: str, *options: str) -> str:
    source = place / "code.c"
    source.write_text(HEAD + text)
    made = place / "code.s"
    compile_it = ("gcc", "-O1", "-fPIC", "-fsanitize=thread", "-fno-omit-frame-pointer", "-S")
    subprocess.run([*compile_it, *options, "-o", str(made), str(source)], check=True)
    return made.read_text()


@pytest.mark.parametrize(
    "text",
    [
        f"{NOT_INSTRUMENTED} long get(long *p) {{ return *p; }}",
        f"{NOT_INSTRUMENTED} long get(long i) {{ return shared[i]; }}",
        f"{NOT_INSTRUMENTED} int get(void) {{ return hidden(1) + 1; }}",
        f"{NOT_INSTRUMENTED} struct pair get(struct pair *p) {{ return *p; }}",
        "APART void set(int *p) { __builtin_ia32_movnti(p, 1); }",
        "APART four get(char *p) { return (four)__builtin_ia32_lddqu(p); }",
        'APART int same(const char *p) { return __builtin_strcmp(p, "a"); }',
        'static __thread int mine __attribute__((tls_model("initial-exec")));'
        "APART int get(void) { return ++mine; }",
    ],
)
def test_code_without_instrumentation_is_found(text: str, tmp_path: Path) -> None:
    assert assembly.is_silent(compiled(tmp_path, text, "-msse3", "-minline-all-stringops"))


@pytest.mark.parametrize(
    ("body", "is_silent"),
    [
        ("return __builtin_ia32_addcarryx_u64(0, a, b, p);", True),
        ("__builtin_memcpy(p, q, a); return 0;", True),
        ("__builtin_ia32_pause(); return __builtin_popcountll(a) + __builtin_clzll(b);", False),
    ],
)
def test_builtin_functions_that_access_memory_are_found(
    body: str, is_silent: bool, tmp_path: Path
) -> None:
    dump = tmp_path / "dump"
    numbers = "unsigned long long a, unsigned long long b"
    text = f"int use({numbers}, unsigned long long *p, void *q) {{ {body} }}"
    compiled(tmp_path, text, f"{operands.DUMP}={dump}")
    assert operands.has_silent_builtin(dump.read_text()) == is_silent


def test_code_of_the_link_step_is_found(tmp_path: Path) -> None:
    assert assembly.is_silent(compiled(tmp_path, "APART int one(void) { return 1; }", "-flto"))


def test_other_code_is_not(tmp_path: Path) -> None:
    text = """
        static __thread int mine;
        APART int add(int a, int b) { return a + b; }
        APART int zero(void) { return 0; }
        APART double half(double x) { return x / 2; }
        APART int get(int i) { return ++mine + (int)shared[i] + hidden(add(i, 1)); }
        APART struct pair copy(struct pair *p) { struct pair mine = *p; hidden(1); return mine; }
        APART void fill(struct pair *p) { *p = (struct pair){1, 2, 3}; }
    """
    assert not assembly.is_silent(compiled(tmp_path, text))


@pytest.mark.parametrize(
    ("body", "is_silent"),
    [
        ("new (at) many(made());", True),
        ("*at = many(made());", False),
        ("many mine = made(); take(mine);", False),
        ("static many all = made(); take(all);", True),
        ("return take(*at);", False),
        ("call(took, took);", False),
        ("owner mine = wrapped(); take(*at);", False),
        ("int many_of[took()]; read(many_of);", False),
    ],
)
def test_results_that_are_made_in_shared_memory_are_found(
    body: str, is_silent: bool, tmp_path: Path
) -> None:
    source, dump = tmp_path / "code.cpp", tmp_path / "dump"
    source.write_text(
        "void* operator new(unsigned long, void* at) noexcept { return at; }\n"
        "struct many { long a, b, c; };\nmany made();\nvoid take(many);\n"
        "int took();\nvoid read(int*);\n"
        "struct owner { owner(const owner&); ~owner(); long a; };\nowner own();\n"
        "__attribute__((noinline)) static owner wrapped() { return own(); }\n"
        "template <class A, class B> __attribute__((noinline)) void call(A a, B b) { a(); b(); }\n"
        f"void use(many* at) {{ {body} }}\n"
    )
    options = ("-O1", "-fsanitize=thread", "-fno-elide-constructors", "-fno-tree-fre", FILLED)
    to = ("-S", "-o", str(tmp_path / "code.s"), str(source))
    subprocess.run(["g++", *options, f"{operands.DUMP_CXX}={dump}", *to], check=True)
    assert operands.is_silent(dump.read_text()) == is_silent


@pytest.mark.parametrize("options", [(), ("-Wl,-s",)])
def test_code_that_is_linked_in_is_found(options: tuple[str, ...], tmp_path: Path) -> None:
    ours = compiled(tmp_path, "int hidden(int); int use(void) { return hidden(1); }", "-g0")
    for name, text in (("other", "int hidden(int x) { return x; }"), ("data", "int some = 1;")):
        (tmp_path / f"{name}.c").write_text(text)
        made = ["-c", "-fPIC", "-o", str(tmp_path / f"{name}.o"), str(tmp_path / f"{name}.c")]
        subprocess.run(["gcc", *made], check=True)
    known = assembly.defined(ours)

    def has_other_code(which: str) -> bool:
        module = tmp_path / "module.so"
        inputs = [str(tmp_path / "code.s"), str(tmp_path / f"{which}.o")]
        subprocess.run(["gcc", "-shared", *options, "-o", str(module), *inputs], check=True)
        return members.has_other_code(module, known)

    assert has_other_code("other")
    assert has_other_code("data") == bool(options)  # without symbols nothing is known
