# SPDX-License-Identifier: Apache-2.0
"""What a look concludes from two readings of a made-up process."""

from __future__ import annotations

import dataclasses
import struct
from typing import TYPE_CHECKING

import pytest

from lockyard.field_kit import hang_text
from lockyard.field_kit.look import Look, take
from lockyard.field_kit.target import Call, Mapping, Maps, Snapshot, Thread

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND = 0x1000, 0x2000
WAIT_PRIVATE = 128


def mutex(owner: int) -> bytes:
    """Returns what glibc keeps of a mutex that is held and waited for."""
    return struct.pack("<5I", 2, 0, owner, 1, 0)


def waits(tid: int, address: int, runs: int = 1) -> Thread:
    return Thread(tid, "", Call(202, (address, WAIT_PRIVATE, 2, 0, 0, 0), 0x9000), runs=runs)


@dataclasses.dataclass
class FakeTarget:
    """Two threads, 11 and 12, that wait for each other's mutexes; each test changes something."""

    libc: Path
    snapshots: list[Snapshot]
    memory: dict[int, bytes]
    pid: int = 11
    program: str = "/bin/fake"
    machine: str = "EM_X86_64"

    def snapshot(self) -> Snapshot:
        return self.snapshots.pop(0)

    def read(self, address: int, size: int) -> bytes | None:
        for begin, content in self.memory.items():
            if begin - 64 <= address < begin + 128:
                whole = bytes(64) + content + bytes(256)
                return whole[address - begin + 64 :][:size]
        return None

    def maps(self) -> Maps:
        return Maps([Mapping(0x7000, 0x8000, "r-xp", 0, "/lib/libc.so.6")])

    def file(self, _path: str) -> str:
        return str(self.libc)

    def names(self, tids: list[int]) -> dict[int, str]:
        return dict.fromkeys(tids, "")


@pytest.fixture
def target(tmp_path: Path) -> FakeTarget:
    libc = tmp_path / "libc.so.6"
    libc.write_bytes(b"GNU C Library (Fake 2.36-9) stable release version 2.36.\n")
    threads = {11: waits(11, SECOND), 12: waits(12, FIRST)}
    return FakeTarget(
        libc, [Snapshot(threads), Snapshot(threads)], {FIRST: mutex(11), SECOND: mutex(12)}
    )


def first_line(target: FakeTarget, look: Look) -> str:
    return hang_text.lines(hang_text.named(target, look))[0]


def test_a_cycle_that_stays_is_a_deadlock(target: FakeTarget) -> None:
    look = take(target, 0)
    assert look.deadlocks == [[11, 12]]
    assert first_line(target, look) == "DEADLOCK of 2 threads: 11 -> 12 -> 11"


def test_a_thread_that_ran_in_between_is_in_no_deadlock(target: FakeTarget) -> None:
    target.snapshots[1] = Snapshot({11: waits(11, SECOND), 12: waits(12, FIRST, runs=2)})
    look = take(target, 0)
    assert look.cycles == []
    assert not look.waiting[12].is_steady
    assert first_line(target, look) == "No deadlock among the 2 threads."


def test_a_thread_that_could_not_be_read_leaves_it_open(target: FakeTarget) -> None:
    for index in range(2):
        target.snapshots[index] = Snapshot({11: waits(11, SECOND)}, {12: "Permission denied"})
    look = take(target, 0)
    assert not look.saw_all
    assert look.orphans() == []
    text = "\n".join(hang_text.lines(hang_text.named(target, look)))
    assert "No deadlock among" not in text
    assert "1 thread could not be read (Permission denied: 1)" in text


@pytest.mark.parametrize("version", ["2.24", "2.99", "none"])
def test_an_unknown_layout_is_not_trusted(target: FakeTarget, version: str) -> None:
    target.libc.write_bytes(f"GNU C Library (Fake) stable release version {version}.\n".encode())
    look = take(target, 0)
    assert {each.wait.kind for each in look.waiting.values()} == {"futex"}
    assert look.owners == {}
    text = "\n".join(hang_text.lines(hang_text.named(target, look)))
    assert "No deadlock among" not in text
    assert "Owners of locks are unknown" in text


def test_memory_that_is_no_mutex_has_no_owner(target: FakeTarget) -> None:
    target.memory[FIRST] = struct.pack("<5I", 2, 0, 11, 1, 0x7777)
    look = take(target, 0)
    assert look.waiting[12].wait.kind == "lock without owner"
    assert look.cycles == []
