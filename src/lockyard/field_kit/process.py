# SPDX-License-Identifier: Apache-2.0
"""A running process, looked at through /proc. Nothing in it is stopped or changed."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.field_kit.target import Call, Mapping, Maps, Snapshot, Thread

MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+\s*(.*)")


class Process:
    """Implements target.Target."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._root = f"/proc/{pid}"
        if not Path(self._root).is_dir():
            raise UsageError(
                f"{pid}: there is no such process here; it has ended, or it is in another PID "
                "namespace: find its number with 'ps' or 'pgrep', in the same container"
            )
        try:
            self.program = str(Path(f"{self._root}/exe").readlink())
        except OSError as error:
            raise MissingCapabilityError(
                f"process {pid} cannot be looked at ({error.strerror}), so nothing is known of its "
                "threads; run this as root or as the process's owner"
            ) from error
        self.machine = MACHINES.get(platform.machine(), platform.machine())
        self._own_ids = self._has_own_ids()
        try:
            self._memory = os.open(f"{self._root}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise MissingCapabilityError(
                f"the memory of process {pid} cannot be read ({error.strerror}), so owners of "
                f"locks are unknown; {self._remedy()}"
            ) from error

    def _remedy(self) -> str:
        try:
            scope = Path("/proc/sys/kernel/yama/ptrace_scope").read_text().strip()
        except OSError:
            scope = "0"
        if scope in ("1", "2") and os.geteuid() != 0:
            return (
                f"kernel.yama.ptrace_scope is {scope}: run this as root, or "
                "'sudo sysctl kernel.yama.ptrace_scope=0'"
            )
        return "run this as root or as the process's owner, outside its container"

    def _has_own_ids(self) -> bool:
        """Returns whether the process knows its threads by other ids than /proc does here."""
        try:
            return Path(f"{self._root}/ns/pid").readlink() != Path("/proc/self/ns/pid").readlink()
        except OSError:
            return False

    def snapshot(self) -> Snapshot:
        found = Snapshot({})
        try:
            tasks = [int(name) for name in os.listdir(f"{self._root}/task")]  # noqa: PTH208 - quick
        except OSError as error:
            raise MissingCapabilityError(
                f"process {self.pid} ended while it was looked at, so nothing is known of it"
            ) from error
        for task in sorted(tasks):
            try:
                thread = self._thread(task)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
            except OSError as error:
                found.unreadable[task] = error.strerror or str(error)
                continue
            found.threads[thread.tid] = thread
        return found

    def _thread(self, task: int) -> Thread:
        folder = f"{self._root}/task/{task}"
        words = _read(f"{folder}/syscall").split()
        tid = self._own_id(task) if self._own_ids else task
        if len(words) < 9:  # "running", or blocked outside a system call
            state = _read(f"{folder}/stat").rpartition(")")[2].split()
            return Thread(tid, "", state=state[0] if state else "")
        values = [int(word, 16) for word in words[1:]]
        call = Call(int(words[0]), tuple(values[:6]), values[6])
        return Thread(tid, "", call, runs=self._runs(folder))

    def _runs(self, folder: str) -> int:
        try:
            return int(_read(f"{folder}/schedstat").split()[2])
        except (OSError, IndexError, ValueError):
            return 0  # a kernel without it

    def _own_id(self, task: int) -> int:
        for line in _read(f"{self._root}/task/{task}/status").splitlines():
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
        return task

    def names(self, tids: list[int]) -> dict[int, str]:
        found = {}
        tasks = self._tasks_by_own_id() if self._own_ids else {}
        for tid in tids:
            try:
                found[tid] = _read(f"{self._root}/task/{tasks.get(tid, tid)}/comm").strip()
            except OSError:
                found[tid] = ""
        return found

    def _tasks_by_own_id(self) -> dict[int, int]:
        found = {}
        for name in os.listdir(f"{self._root}/task"):  # noqa: PTH208 - as above
            try:
                found[self._own_id(int(name))] = int(name)
            except OSError:
                continue
        return found

    def read(self, address: int, size: int) -> bytes | None:
        try:
            found = os.pread(self._memory, size, address)
        except (OSError, OverflowError, ValueError):
            return None
        return found if len(found) == size else None

    def maps(self) -> Maps:
        found = []
        for line in _read(f"{self._root}/maps").splitlines():
            if match := _MAPPING.match(line):
                begin, end, flags, offset, path = match.groups()
                found.append(Mapping(int(begin, 16), int(end, 16), flags, int(offset, 16), path))
        return Maps(found)

    def file(self, path: str) -> str:
        return f"{self._root}/root{path.removesuffix(' (deleted)')}"


def _read(path: str) -> str:
    """Reads a small file of /proc with few system calls."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(file, 1 << 16):
            parts.append(part)
            if len(part) < 1 << 10 and len(parts) == 1:
                break  # what is this short comes in one piece
        return b"".join(parts).decode(errors="replace")
    finally:
        os.close(file)
