# SPDX-License-Identifier: Apache-2.0
"""The undo journal: what to write back, kept on disk before anything is changed.

A journal belongs to the processes that hold its lock. The kernel drops the lock when the last of
them ends, for whatever reason; the next lockyard then undoes what the journal lists.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lockyard.machine import isolation
from lockyard.machine.change import Change

if TYPE_CHECKING:
    from lockyard.machine.procfs import KernelFiles

FOLDER = "/run/lockyard"
# Stands for a control group instead of a text.
GROUP = "(group)"
# The journal of `lockyard doctor --fix`, whose changes stay until `--undo` or a restart.
FIXES = "fixes.jsonl"
BOOT = "/proc/sys/kernel/random/boot_id"


def write(tree: KernelFiles, path: str, value: str) -> None:
    """Writes at once, as the kernel's files want it."""
    file = os.open(tree.at(path), os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(file, value.encode())
    finally:
        os.close(file)


def _locked(path: Path) -> IO[bytes]:
    """Opens a journal and takes its lock. Raises BlockingIOError if it is in use."""
    while True:
        file = path.open("a+b", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()  # its last user removed it before the lock was ours


class Journal:
    """Open for as long as changes may have to be undone."""

    def __init__(self, tree: KernelFiles, name: str) -> None:
        self.tree = tree
        self.path = tree.at(f"{FOLDER}/{name}")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = _locked(self.path)
        if self._is_of_this_start():
            self._file.write(b"\n")  # the next entry must not join a torn line
        else:
            self._file.truncate(0)
            self._append({"boot": tree.read(BOOT)})

    def apply(self, change: Change) -> None:
        """Notes the change, and then makes it. Raises OSError, with nothing changed."""
        self._append(asdict(change))
        write(self.tree, change.path, change.after)

    def note_group(self, path: Path) -> None:
        """Notes a control group that is about to be made."""
        self._append(asdict(Change(str(path), GROUP, GROUP, "isolation")))

    def undo(self, keep_first: int = 0) -> list[str]:
        """Takes changes back, the last one first; returns what could not be restored. A value that
        another program has changed since is left as that program wants it."""
        problems = []
        left = []
        changes = self.changes()
        for change in reversed(changes[keep_first:]):
            try:
                self._take_back(change)
            except OSError as error:
                left.append(change)
                problems.append(f"{change.path}: {error.strerror}, so it is still {change.after}")
        # Appended, not rewritten: a process that is killed here leaves the whole journal.
        self._append({"left": [asdict(each) for each in (*changes[:keep_first], *reversed(left))]})
        return problems

    def _take_back(self, change: Change) -> None:
        if change.before == GROUP:
            isolation.remove(Path(change.path))
        elif change.is_in_force(self.tree):
            write(self.tree, change.path, change.before)

    def changes(self) -> list[Change]:
        """Returns the changes that are still to be taken back. The last line may be incomplete if
        its writer was killed; its change was not made."""
        changes: list[Change] = []
        for entry in self._entries():
            if "left" in entry:
                changes = [Change(**each) for each in entry["left"]]
            elif "path" in entry:
                changes.append(Change(**entry))
        return changes

    def _is_of_this_start(self) -> bool:
        """Tells whether the machine has not restarted since: that undoes all changes."""
        first = next(iter(self._entries()), {})
        return "boot" in first and first["boot"] == self.tree.read(BOOT)

    def _entries(self) -> list[dict[str, Any]]:
        self._file.seek(0)
        entries = []
        for line in self._file.read().splitlines():
            with contextlib.suppress(ValueError):
                entries.append(json.loads(line))
        return entries

    def close(self) -> None:
        """Gives the journal up; without changes it is removed."""
        if self._file.closed:
            return
        if not self.changes():
            self.path.unlink(missing_ok=True)
        self._file.close()

    def _append(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry).encode() + b"\n")
        os.fsync(self._file.fileno())


def remedy(error: OSError) -> str:
    """Returns what to do if the journal cannot be written."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return "run as root"
    return f"make {FOLDER} a folder that can be written"


def recover(tree: KernelFiles) -> list[str]:
    """Undoes the journals whose processes were all killed; returns what could not be restored."""
    problems = []
    for path in sorted(tree.at(FOLDER).glob("*.jsonl")):
        if path.name == FIXES:
            continue
        with contextlib.suppress(BlockingIOError, PermissionError):  # in use, or another user's
            found = Journal(tree, path.name)
            problems += found.undo()
            found.close()
    return problems


def own_name() -> str:
    return f"{os.getpid()}.jsonl"
