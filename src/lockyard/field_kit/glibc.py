# SPDX-License-Identifier: Apache-2.0
"""Which C library a process runs with, and whether the layouts of its objects are known."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockyard.field_kit.target import Maps, Target

# From the condition variables of 2.25 to those before 2.42; join and mutexes are older.
OLDEST, NEWEST = (2, 25), (2, 41)
_VERSION = re.compile(rb"GNU C Library [^\n]*version (\d+)\.(\d+)")
_LIBC = re.compile(r"/libc(\.so\.6|-2\.\d+\.so)( \(deleted\))?$")


@dataclass(frozen=True)
class Libc:
    name: str  # to show: "glibc 2.36"
    is_known: bool
    why_not: str = ""


def libc_of(target: Target, maps: Maps) -> Libc:
    paths = dict.fromkeys(each.path for each in maps.all() if each.path)
    for path in paths:
        if _LIBC.search(path):
            return _glibc(target.file(path))
    if any("/ld-musl-" in path for path in paths):
        return Libc("musl", False, "musl records no owner that could be found")
    return Libc("no C library", False, "the program is static, or its language has its own runtime")


def _glibc(path: str) -> Libc:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        return Libc("glibc", False, f"its version cannot be read ({error.strerror})")
    found = _VERSION.search(content)
    if found is None:
        return Libc("glibc", False, "its file does not state its version")
    version = (int(found[1]), int(found[2]))
    name = f"glibc {version[0]}.{version[1]}"
    if OLDEST <= version <= NEWEST:
        return Libc(name, True)
    known = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
    return Libc(name, False, f"only the layouts of glibc {known} are known")
