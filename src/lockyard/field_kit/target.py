# SPDX-License-Identifier: Apache-2.0
"""What a look at a process needs: its threads, its memory, and what is mapped where."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Call:
    """The system call in which a thread is blocked."""

    number: int
    arguments: tuple[int, ...]
    stack: int  # the stack pointer


@dataclass(frozen=True)
class Thread:
    """One thread, by the id that the process itself has for it."""

    tid: int
    name: str
    call: Call | None = None  # None: not in a system call
    state: str = ""  # as in /proc: R, S, D, Z; only where it was asked for
    runs: int = 0  # how often it has been given a processor


@dataclass
class Snapshot:
    threads: dict[int, Thread]
    unreadable: dict[int, str] = field(default_factory=dict)  # thread id to reason


@dataclass(frozen=True)
class Mapping:
    begin: int
    end: int
    flags: str  # as in /proc/PID/maps: rwxp
    offset: int
    path: str


class Maps:
    """The mappings of a process, in the order of their addresses."""

    def __init__(self, mappings: list[Mapping]) -> None:
        self._all = sorted(mappings, key=lambda each: each.begin)
        self._begins = [each.begin for each in self._all]

    def all(self) -> list[Mapping]:
        return self._all

    def at(self, address: int) -> Mapping | None:
        """Returns the mapping that contains the address."""
        index = bisect_right(self._begins, address) - 1
        return self._all[index] if index >= 0 and address < self._all[index].end else None

    def file_at(self, address: int) -> str:
        """Returns the path of the file at the address, also if the address is in the zeroed memory
        that follows the file's last mapping; "" if there is none."""
        index = bisect_right(self._begins, address) - 1
        if index < 0 or address >= self._all[index].end:
            return ""
        found = self._all[index]
        if not found.path and index > 0 and self._all[index - 1].end == found.begin:
            found = self._all[index - 1]
        return found.path if found.path.startswith("/") else ""


class Target(Protocol):
    """A running process, or its core file."""

    pid: int
    program: str
    machine: str  # as ELF names it: EM_X86_64, EM_AARCH64

    def snapshot(self) -> Snapshot: ...

    def read(self, address: int, size: int) -> bytes | None:
        """Returns the bytes at the address; None if not all of them can be read."""

    def maps(self) -> Maps: ...

    def file(self, path: str) -> str:
        """Returns the path here of a file that the process has mapped."""

    def names(self, tids: list[int]) -> dict[int, str]:
        """Returns the names of threads."""
