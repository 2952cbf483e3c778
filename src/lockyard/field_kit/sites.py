# SPDX-License-Identifier: Apache-2.0
"""The addresses of variables and functions by which `lockyard run --only` chooses mutexes."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from elftools.elf.elffile import ELFFile

from lockyard.errors import UsageError
from lockyard.field_kit.program_file import binary_of, located
from lockyard.field_kit.recorded import short_name
from lockyard.field_kit.symbols import module_of

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_RANGES = 4096  # as preload/swap/selection.hpp
TIMEOUT_S = 60
_LIBRARY = re.compile(r"=> (/.*) \(0x|^\s*(/.*) \(0x")


def setting(program: str, site: str) -> str:
    """Returns the value of LOCKYARD_ONLY for a variable, a function, a class or a namespace."""
    binary = binary_of(located(program, os.environ), os.environ)
    found = {
        name: ranges
        for name, path in _modules(binary)
        if (ranges := [f"{begin:x}-{end:x}" for begin, end in _ranges(path, site)])
    }
    count = sum(map(len, found.values()))
    if count == 0:
        raise UsageError(
            f"--only {site}: neither {binary.name} nor its libraries have a variable or function "
            "of this name, so no mutex would be swapped; install the symbols, or name another, for "
            "example the class that has the mutex"
        )
    if count > MOST_RANGES:
        raise UsageError(
            f"--only {site}: {count} variables and functions have this name, and {MOST_RANGES} can "
            "be chosen; name a smaller part of the program"
        )
    return ";".join(f"{name}={','.join(ranges)}" for name, ranges in found.items())


def _modules(binary: Path) -> Iterator[tuple[str, Path]]:
    """Yields the program, whose name in a process is empty, and the libraries that it needs."""
    yield "", binary
    shown = subprocess.run(
        [binary],
        env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    for line in shown.stdout.splitlines():
        if match := _LIBRARY.search(line):
            path = match[1] or match[2]
            yield path, Path(path)


def _ranges(path: Path, site: str) -> Iterator[tuple[int, int]]:
    parts = site.split("::")

    def is_wanted(name: str) -> bool:
        """A site is a sequence of whole components of the name."""
        found = re.sub(r"<[^<>]*>", "", short_name(name)).split("::")
        return any(found[at : at + len(parts)] == parts for at in range(len(found)))

    with path.open("rb") as file:
        module = module_of(ELFFile(file), 0)
    for table in (module.variables, module.functions):
        if table is not None:
            yield from table.ranges(parts[-1], is_wanted)
