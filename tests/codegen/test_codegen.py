# SPDX-License-Identifier: Apache-2.0
"""A pair by the library compiles to hand-written code: docs/decisions/0001-the-seam.md."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 code")


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The disassembly of the pairs, as the compiler of this machine makes them."""
    binary = tmp_path_factory.mktemp("codegen") / "uncontended.o"
    source = ROOT / "tests/codegen/uncontended.cpp"
    subprocess.run(
        ["c++", "-std=c++20", "-O2", f"-I{ROOT}/include", "-c", source, "-o", binary],
        check=True,
        timeout=100,
    )
    shown = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", binary],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return shown.stdout


def instructions(code: str, function: str) -> list[str]:
    """Returns the hot part: code after the return or in a cold section does not run uncontended."""
    body = code.split(f"<{function}>:\n")[1]
    found = []
    for line in body.splitlines():
        instruction = line.split("\t")[-1].strip()
        found.append(re.sub(r"\s+", " ", instruction))
        if instruction.startswith("ret"):
            return found
    raise AssertionError(f"{function} does not return")


def is_locked(instruction: str) -> bool:
    """An exchange with memory locks without saying so."""
    return instruction.startswith("lock ") or bool(re.match(r"xchg .*\(", instruction))


def assert_one_locked_instruction_and_one_plain_store(hot: list[str]) -> None:
    assert [is_locked(each) for each in hot].count(True) == 1, hot
    assert [each for each in hot if each.startswith("movb $0x0,")], hot
    assert not [each for each in hot if each.startswith(("call", "mfence"))], hot
    assert len(hot) <= 16, hot


def test_yielding_spinlock_is_one_locked_instruction_and_one_plain_store(code: str) -> None:
    assert_one_locked_instruction_and_one_plain_store(instructions(code, "yielding_pair"))


def test_backoff_spinlock_is_one_locked_instruction_and_one_plain_store(code: str) -> None:
    assert_one_locked_instruction_and_one_plain_store(instructions(code, "backoff_pair"))


@pytest.mark.parametrize(
    ("pair", "locked"),
    [
        ("mutex", 1),
        ("byte", 2),
        ("array", 1),
        ("clh", 1),
        ("mcs", 2),
        ("queued", 2),
        ("futex", 2),
        ("semaphore", 2),
        ("recursive", 1),
    ],
)
def test_a_pair_has_so_many_locked_instructions_and_no_call(
    code: str, pair: str, locked: int
) -> None:
    hot = instructions(code, f"{pair}_pair")
    assert [is_locked(each) for each in hot].count(True) == locked, hot
    assert not [each for each in hot if each.startswith(("call", "mfence"))], hot


def test_mutex_is_released_by_a_plain_store(code: str) -> None:
    hot = instructions(code, "mutex_pair")
    assert [each for each in hot if each.startswith("movb $0x0,")], hot


def test_mutex_finds_its_waiters_by_one_load_of_a_variable_of_the_part(code: str) -> None:
    hot = instructions(code, "mutex_pair")
    assert len([each for each in hot if "(%rip)" in each]) == 1, hot
    # Is the lock free; was it free; does no thread sleep, before and after the release.
    assert len([each for each in hot if each.startswith("j")]) == 4, hot


def test_notifying_nobody_is_a_load_a_comparison_and_a_branch(code: str) -> None:
    hot = instructions(code, "notify_nobody")
    assert not [each for each in hot if is_locked(each)], hot
    assert not [each for each in hot if each.startswith(("call", "mfence"))], hot
    assert len([each for each in hot if "(" in each]) == 1, hot
    assert len([each for each in hot if each.startswith("j")]) == 1, hot
    # An own instruction for the load, and a mark for indirect branches.
    assert len(hot) <= 5, hot
