# SPDX-License-Identifier: Apache-2.0
"""Finds code that the checker would not see: inline assembly, atomic instructions that a compiler's
builtin function stands for, and calls of the system by which threads communicate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lockyard.cxx_names import demangled
from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

# Hints, which change nothing that another thread can see.
HARMLESS = re.compile(
    r"(rep;?\s*)?nop|pause|rep;?\s*|yield|wfe|sevl?|isb( sy)?|prefetch\w*\b.*|endbr64"
)
# Instructions that use registers and constants alone, and jumps between them.
OPERAND = r"(?:%\w+|\$-?\w+|[wx]\d+)"
REGISTERS_ONLY = re.compile(
    r"(?:(?:bs[fr]|[lt]zcnt|popcnt|bswap|ro[lr]|s[ah][lr]d?|mov(?:abs|[sz][bw]|sl)?|ad[dc]|sub|sbb|i?mul|"
    r"x?or|and|not|neg|inc|dec|test|cmp)[bwlq]?|set\w+|cmov\w+|clz|cls|rbit|rev(?:16|32)?)"
    rf"\s+{OPERAND}(?:\s*,\s*{OPERAND})*|j\w+\s+\d+[bf]|\d+:"
)
# Other code has none of these: for each atomic access and fence the compiler calls the checker.
HIDDEN = re.compile(
    r"\s(lock\b.*|[lms]fence\b|xbegin\b.*|xacquire\b.*|xrelease\b.*|umwait\b.*|monitorx?\b.*|dmb\b.*|"
    r"ldaxr\w*\b.*|stlxr\w*\b.*|cas\w*\b.*|ldadd\w*\b.*|swp\w*\b.*|rdtscp?\b.*|rdrand\b.*|rdseed\b.*)$"
)
# Instructions of inline assembly that are full barriers; and a call of the checker, which leaves
# all registers as they are, beyond the memory below the stack that the function may use.
FULL_BARRIER = re.compile(
    r"\s*(?:mfence|lock;?\s+(?:add|or)[lq]\s+\$(?:0x)?0\s*,\s*(?:-?\d+)?\(%[er]sp\))\s*;?\s*"
)
CALL_OF_BARRIER = (
    "#NO_APP",
    "\tleaq -128(%rsp), %rsp",
    "\tcall lockyard_full_barrier@PLT",
    "\tleaq 128(%rsp), %rsp",
    "#APP",
)
CALL = re.compile(r"\s(?:call|jmp|bl|b)\s+([A-Za-z_]\w*)(?:@PLT)?$")
# Accesses that the compiler makes without a call of the checker: by builtin functions for one
# instruction, by instructions for strings, by masks of vectors, of thread_local variables at fixed
# places; arguments on the stack whose address is taken; and all code that is generated when
# the module is linked.
SILENT = re.compile(
    r"\sv?movnt\w*\s|\sv?lddqu\s|\s\w*maskmov\w*\s|\s\w*(?:gather|scatter)\w*\s|.*\(.*\{%k|"
    r"\scl(?:flush|wb|demote|zero)\w*\s|\s(?:movdir|enqcmd|tile|fx?save|fnsave|fx?rstor|fldenv|fnstenv)\w*\s|"
    r"\s(?:rep(?:n?[ez])\s+)?(?:cmps|scas|lods)[bwdlq]\b|\s\w*x(?:save|rstor)\w*\s|\s(?:ldnp|stnp|ld[1-4]r?|st[1-4])\s|.*@(?:gottpoff|tpoff|tlsdesc)\b|"
    r"\slea\w*\s+(?:\d+\(%rbp\)|8\(%rsp\), *%r1[03]\b)|.*\.gnu\.lto_",
    re.IGNORECASE,
)
ATOMIC = re.compile(r"^(?:_ZL?\d+)?__VERIFIER_atomic_(?!(?:begin|end)(?:v|\b))")
BODY = re.compile(
    r"^\s*\.type\s+(\S+), [@%]function\n(.*?)^\s*\.size\s+\1,", re.MULTILINE | re.DOTALL
)
# Operands in the function's own frame, constants, and calls that change nothing.
OWN = re.compile(
    r"[-\w]*\(%[re][sb]p(?:,[^)]*)?\)|\.L\w+\(%rip\)|\w+@GOTPCREL\(%rip\)|\[(?:sp|x29)\b[^\]]*\]|"
    r"\[x\d+, :got_lo12:[^\]]*\]|^\s*(?:lea\w*|nop\w*)\s.*|"
    r"(?:call|bl)\s+(?:__tsan_|__stack_chk_fail)\S*"
)
USE = re.compile(
    r"\(%|\(,%|\(%rip|\[|\s(?:call|bl|blr|rep\w*|(?:movs|stos|lods|cmps|scas)[bwlq])\b"
)
DEFINED = re.compile(r"^([\w.$]+):|^\s*\.set\s+([\w.$]+),", re.MULTILINE)
# Threads, and what is shared by them, in ways that the checker has no model of.
COMMUNICATES = re.compile(
    r"(?:pthread|sem|thrd|mtx|cnd|tss|mq|shm|aio|epoll|eventfd|timerfd|signalfd|io_uring)_?\w*|call_once|"
    r"v?fork|clone|(?:at_)?quick_exit|signal|sig(?:action|wait\w*|suspend)|kill|raise|p?poll|"
    r"p?select|pipe2?|socket\w*|"
    r"p?read|p?write|open|mmap|munmap|setcontext|swapcontext|GOMP_\w+|omp_\w+|__kmpc_\w+|"
    # A pool for each thread of the system, of which the checker has one.
    r"_ZNK?St3pmr26synchronized_pool_resource\w+|_ZSt25notify_all_at_thread_exit\w+"
)
# These write to their caller's object only; the function that gets the object reads it.
ATTRIBUTES = re.compile(r"pthread_(?:mutex|cond|rwlock|barrier)?attr_(?!setrobust|setkind_np)\w+")
# Functions whose results differ from run to run.
DIFFERS = re.compile(
    r"s?rand(?:om)?|[del]rand48|[jlmn]rand48|arc4random\w*|getrandom|getentropy|time|clock|"
    r"gettimeofday|timespec_get|getpid|_ZNSt13random_device\w+"
)


def check(whose: str, text: str, modelled: Container[str]) -> None:
    """Raises UsageError for the first instruction or call that the checker cannot follow. It has
    models of the functions in `modelled`."""
    defined = set(re.findall(r"^(\w+):", text, re.MULTILINE))
    for where, called in _calls(text):
        if called in modelled or called in defined:
            continue
        name = demangled(called)
        if COMMUNICATES.fullmatch(called) and not ATTRIBUTES.fullmatch(called):
            raise UsageError(
                f"{whose}: {where} calls `{name}`, which the checker has no model of, so nothing "
                "was checked; leave the call out under a macro given by --flags"
            )
        if DIFFERS.fullmatch(called):
            raise UsageError(
                f"{whose}: {where} calls `{name}`, whose result differs from run to run, so "
                "nothing was checked; the checker runs each execution many times: use a fixed "
                "value under a macro given by --flags"
            )
    for where, instruction in _found(text):
        raise UsageError(
            f"{whose}: {where} has the instruction `{instruction}`, as inline assembly or by a "
            "builtin function, which the checker cannot follow, so nothing was checked; write it "
            "with std::atomic, or leave it out under a macro given by --flags"
        )


def is_silent(text: str) -> bool:
    """Returns whether some of the code may use memory that other threads use without a call of the
    checker. Compilers call it at the beginning of each function that they instrument, unless the
    function uses no memory and calls no other."""
    if any(SILENT.match(line.split("#")[0]) for line in text.splitlines()):
        return True
    entered = {"__wrap_pthread_create"}  # the checker's own
    entered |= {_whole(name) for name, body in BODY.findall(text) if "__tsan_func_entry" in body}
    return any(
        _whole(name) not in entered
        and any(USE.search(OWN.sub("", line.split("#")[0])) for line in body.splitlines())
        for name, body in BODY.findall(text)
    )


def has_atomic_functions(text: str) -> bool:
    """Returns whether the code has, perhaps inlined, functions of which each call is one step, by a
    convention of the competition on software verification."""
    return any(ATOMIC.search(name) for name in re.findall(r'\.string\s+"(\w+)"', text))


def with_atomic_functions(text: str) -> str:
    """Lets these functions tell the checker where they begin and end."""

    def tells(body: re.Match[str]) -> str:
        if not ATOMIC.search(body[1]):
            return body[0]
        return body[0].replace("__tsan_func_", "lockyard_atomic_function_")

    return BODY.sub(tells, text)


def with_full_barriers(text: str) -> str:
    """Lets inline assembly that is a full barrier call the checker."""
    is_inline = False
    lines: list[str] = []
    for line in text.splitlines():
        if line in ("#APP", "#NO_APP"):
            is_inline = line == "#APP"
        is_barrier = is_inline and FULL_BARRIER.fullmatch(line)
        lines += CALL_OF_BARRIER if is_barrier else (line,)
    return "\n".join(lines) + "\n"


def _whole(name: str) -> str:
    """Returns the name of the function that a rarely executed part belongs to."""
    return name.removesuffix(".cold")


def defined(text: str) -> set[str]:
    return {name for names in DEFINED.findall(text) for name in names if name}


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yields each line with the place in the source that it was made from."""
    files: dict[str, str] = {}
    where = "the code"
    for line in text.splitlines():
        words = line.strip()
        if match := re.match(r'\.file (\d+) (?:"[^"]*" )?"([^"]*)"', words):
            files[match[1]] = match[2]
        elif match := re.match(r"\.loc (\d+) (\d+)", words):
            where = f"{files.get(match[1], 'the code')}:{match[2]}"
        yield where, line


def _calls(text: str) -> Iterator[tuple[str, str]]:
    for where, line in _lines(text):
        if match := CALL.match(line.rstrip()):
            yield where, match[1]


def _found(text: str) -> Iterator[tuple[str, str]]:
    is_inline = False
    where = ""
    for place, line in _lines(text):
        words = line.strip()
        if words.startswith(".loc"):
            where = place
        elif words in ("#APP", "#NO_APP"):
            is_inline = words == "#APP"
        elif match := re.match(r'# (\d+) "(.+)" 1$', words):
            where = f"{match[2]}:{match[1]}"
        elif is_inline and not words.startswith(("#", ".")):
            for each in (part.strip() for part in words.split(";")):
                if each and not (HARMLESS.fullmatch(each) or REGISTERS_ONLY.fullmatch(each)):
                    yield where, each
        elif not is_inline and (hidden := HIDDEN.match(line.split("#")[0].rstrip())):
            yield where, " ".join(hidden[1].split())
