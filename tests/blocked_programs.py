# SPDX-License-Identifier: Apache-2.0
"""Programs whose threads wait, for the tests of the field kit."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parent / "field_kit/blocked_threads.cpp"


@dataclass(frozen=True)
class Blocked:
    """A running program, and the ids of its threads by their names."""

    pid: int
    tids: dict[str, int]


def compiled(binary: Path, *flags: str) -> Path:
    command = ["c++", "-std=c++20", "-O1", "-pthread", *flags, str(SOURCE), "-o", str(binary)]
    subprocess.run(command, check=True, timeout=100)
    return binary


@contextmanager
def running(program: Path, scene: str) -> Iterator[Blocked]:
    """Runs the program until the block ends; its standard input ends it."""
    with subprocess.Popen(
        [program, scene], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            tids = {}
            assert process.stdout is not None
            for line in process.stdout:
                if line == "ready\n":
                    break
                _, name, tid = line.split()
                tids[name] = int(tid)
            yield Blocked(process.pid, tids)
        finally:
            process.kill()
