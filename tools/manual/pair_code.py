# SPDX-License-Identifier: Apache-2.0
"""The locked instructions of an uncontended pair of each lock of the catalogue, from its code."""

from __future__ import annotations

import heapq
import itertools
import re
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PAIR = re.compile(r"^\w+ <_Z\w*pair_atILm(\d+)E\w*>:\n(.*?)(?=^\w+ <|\Z)", re.MULTILINE | re.DOTALL)


def locked_instructions() -> dict[int, int]:
    """Returns the number by the lock's place in the catalogue, as this machine's compiler makes it
    for x86-64. Leaves out locks that release by a call."""
    counts = {int(place): fewest_locked(body) for place, body in PAIR.findall(_disassembly())}
    return {place: count for place, count in counts.items() if count is not None}


def _disassembly() -> str:
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "pairs.o"
        compiled = ["c++", "-std=c++20", "-O2", f"-I{HERE.parents[1] / 'include'}", "-c"]
        subprocess.run(
            [*compiled, HERE / "catalogue_pairs.cpp", "-o", binary], check=True, timeout=300
        )
        shown = ["objdump", "-d", "--no-show-raw-insn", str(binary)]
        return subprocess.run(shown, check=True, capture_output=True, text=True, timeout=60).stdout


def fewest_locked(body: str) -> int | None:
    """Returns the number of locked instructions on the way from the function's entry to its return
    that has the fewest, without a call; None if each way calls. No way that waits for a lock has
    fewer than the uncontended one."""
    found = re.findall(r"^ *(\w+):\t([^\n]*)", body, re.MULTILINE)
    code = {int(address, 16): instruction.strip() for address, instruction in found}
    following = dict(itertools.pairwise(code))
    ways = [(0, next(iter(code)))]
    seen = set()
    while ways:
        locked, at = heapq.heappop(ways)
        if at in seen or at not in code:
            continue
        seen.add(at)
        instruction = code[at]
        if instruction.startswith("ret"):
            return locked
        jump = re.match(r"j\w+ +(\w+) <([^>+]+)\+", instruction)
        if jump and not jump[2].endswith(".cold"):
            heapq.heappush(ways, (locked, int(jump[1], 16)))
        if not instruction.startswith(("jmp", "call", "ud2")) and at in following:
            heapq.heappush(ways, (locked + _is_locked(instruction), following[at]))
    return None


def _is_locked(instruction: str) -> bool:
    """An exchange with memory locks without a prefix that says so."""
    return instruction.startswith("lock ") or bool(re.match(r"xchg .*\(", instruction))
