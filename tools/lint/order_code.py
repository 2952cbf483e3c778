# SPDX-License-Identifier: Apache-2.0
"""Atomic accesses in C++ code whose comments and literals are blanked."""

import re
from collections.abc import Iterator

from cpp_text import line_at

RELEASING = frozenset({"release", "acq_rel", "seq_cst"})
# A consume is the reading end of a pair; compilers treat it as an acquire.
ACQUIRING = frozenset({"acquire", "acq_rel", "seq_cst", "consume"})
KINDS = sorted(RELEASING | ACQUIRING)

_ORDER = re.compile(rf"\bmemory_order(?:_|\s*::\s*)(relaxed|{'|'.join(KINDS)})\b")
# Asking which order it is, or importing its name, accesses nothing.
_NAMED_BEFORE = re.compile(r"(?:[=!]=|\bcase|\busing)\s*(?:std\s*::\s*)?$")
_NAMED_AFTER = re.compile(r"\s*[=!]=")

_CHANGE = r"exchange|fetch_(?:add|sub|and|or|xor|min|max)"
_COMPARE = r"compare_exchange_(?:weak|strong)"
_ACCESS = re.compile(
    rf"""(?:\.|->)\s*(?P<member>load|store|{_CHANGE}|{_COMPARE}|test_and_set)\s*\(
       |::\s*(?:template\s+)?(?P<world>await|await_exchange|until|fence)\s*(?:<[^;()]*>)?\s*\(
       |\b(?P<fence>atomic_(?:thread|signal)_fence)\s*\(
       |\b(?P<free>atomic_(?:load|store|{_CHANGE}|{_COMPARE}|flag_clear|flag_test_and_set))\s*\(
    """,
    re.VERBOSE,
)
# Counting arguments also accepts an order that is handed on in a variable.
_ARGUMENTS = {
    "load": 1,
    "test_and_set": 1,
    "fence": 1,
    "atomic_thread_fence": 1,
    "atomic_signal_fence": 1,
    "compare_exchange_weak": 3,
    "compare_exchange_strong": 3,
    "await": 3,
    "until": 3,
    "await_exchange": 4,
}
_OTHER_ARGUMENTS = 2

_ATOMIC = re.compile(r"\batomic(?:_\w+)?\s*(?:<[^;{}()]*>)?\s+(\w+)\s*[;{=\[,]")
_FLAG = re.compile(r"\batomic_flag\s+(\w+)")
_BANNED = re.compile(
    r"\b(?:volatile|__sync_\w+|__atomic_\w+|__asm__|__asm|asm)\b|\bstd\s*::\s*atomic\w*"
)


def used_orders(code: str) -> Iterator[tuple[int, str]]:
    """The line and the kind of every order that an access or a fence uses."""
    for match in _ORDER.finditer(code):
        before = code[max(0, match.start() - 40) : match.start()]
        if not _NAMED_BEFORE.search(before) and not _NAMED_AFTER.match(code, match.end()):
            yield line_at(code, match.start()), match[1]


def _count_arguments(code: str, opening: int) -> int:
    """The number of arguments after the parenthesis that ends before `opening`."""
    depth, end = 1, opening
    while end < len(code) and depth:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[end], 0)
        end += 1
    inside = code[opening : end - 1]
    # Only commas between arguments may remain: drop nested brackets, innermost first.
    nested = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|<[^<>;(){}]*>")
    while nested.search(inside):
        inside = nested.sub("x", inside)
    return inside.count(",") + 1 if inside.strip() else 0


def unordered_accesses(code: str) -> Iterator[tuple[int, str]]:
    """Accesses that leave the order to its default, each with what to write."""
    for match in _ACCESS.finditer(code):
        name = match["member"] or match["world"] or match["fence"] or match["free"]
        wanted = _ARGUMENTS.get(name, _OTHER_ARGUMENTS)
        line = line_at(code, match.end())
        if match["free"]:
            yield line, f"{name}() has no explicit order: use the member function with one"
        elif _count_arguments(code, match.end()) < wanted:
            yield line, f"{name}() without an explicit order: write the std::memory_order_..."
    # Only a declaration tells a flag's clear() from a container's.
    for flag in {match[1] for match in _FLAG.finditer(code)}:
        for match in re.finditer(rf"\b{flag}\s*\.\s*clear\s*\(\s*\)", code):
            line = line_at(code, match.start())
            yield line, "clear() without an explicit order: write the std::memory_order_..."


def operator_accesses(code: str) -> Iterator[tuple[int, str]]:
    """Atomics of this file that are written by an operator, which is always seq_cst."""
    for name in {match[1] for match in _ATOMIC.finditer(code)}:
        # Without `.` or `->` only a member's name is safe: locals may share any other.
        place = rf"(?:(?:\.|->)\s*|(?<![\w>]\s)(?<![\w.>])){name}"
        if not name.endswith("_"):
            place = rf"(?:\.|->)\s*{name}"
        change = rf"{place}\s*(?:\+\+|--|[-+&|^]?=(?!=))|(?:\+\+|--)\s*(?:[\w.]|->)*\b{name}\b"
        for match in re.finditer(change, code):
            line = line_at(code, match.start())
            yield line, f"operator on the atomic {name}: call a member with an explicit order"


def banned_words(code: str) -> Iterator[tuple[int, str]]:
    """Finds words that a lock must not use because its world offers the same."""
    for match in _BANNED.finditer(code):
        word = re.sub(r"\s", "", match[0])
        yield (
            line_at(code, match.start()),
            f"{word} in a lock: use the world's atomic<T>, fence or await",
        )
