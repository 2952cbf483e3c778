# SPDX-License-Identifier: Apache-2.0
"""Keeps all other processes off some processors, by control groups of processors (cpuset).

Version 1: all processes move to a group with the remaining processors, and measured runs join
another. Version 2: a partition of its own takes the processors away from all others.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.machine import cgroup
from lockyard.machine.change import RefusedError
from lockyard.machine.procfs import processors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lockyard.machine.procfs import KernelFiles

ISOLATED, REST = "lockyard.isolated", "lockyard.rest"
REMOVAL_S = 5.0


@dataclass(frozen=True)
class Isolation:
    """Its groups, which are known before they exist, so that they can be noted first."""

    root: Path
    version: int
    cpus: str
    rest: str

    @property
    def group(self) -> Path:
        """Returns the group that measured runs join."""
        return self.root / ISOLATED

    @property
    def groups(self) -> list[Path]:
        return [self.group, self.root / REST] if self.version == 1 else [self.group]

    def make(self) -> None:
        """Raises RefusedError; what was made until then has to be removed by `remove`."""
        try:
            for group, cpus in zip(self.groups, (self.cpus, self.rest), strict=False):
                group.mkdir()
                _put(group / "cpuset.cpus", cpus)
                if self.version == 1:
                    _put(group / "cpuset.mems", (self.root / "cpuset.mems").read_text().strip())
            if self.version == 1:
                _move(self.root, self.root / REST)
            else:
                self._make_partition()
        except OSError as error:
            raise RefusedError(
                f"isolation: control groups of processors cannot be made in {self.root} "
                f"({error.strerror}); run as root"
            ) from None

    def _make_partition(self) -> None:
        _put(self.group / "cpuset.cpus.partition", "isolated")
        found = (self.group / "cpuset.cpus.partition").read_text().strip()
        if found != "isolated":
            raise RefusedError(f"isolation: the kernel refuses the partition ({found})")


def planned(tree: KernelFiles, value: str) -> Isolation:
    """Raises RefusedError if these processors cannot be kept free."""
    try:
        wanted = processors(value.replace("+", ","))
    except ValueError:
        raise RefusedError(f"isolation={value}: not a list of processors, as in 2-3+6") from None
    online = processors(tree.read("/sys/devices/system/cpu/online") or "0")
    rest = [cpu for cpu in online if cpu not in wanted]
    if not wanted or not rest or not set(wanted) <= set(online):
        raise RefusedError(
            f"isolation={value}: must name some of the processors {','.join(map(str, online))}, "
            "and leave at least one to everything else"
        )
    where = cgroup.groups(tree, "cpuset")
    if where is None:
        raise RefusedError("isolation: no control groups of processors are mounted")
    root = tree.at(where.paths[-1])
    leftover = [each for each in (ISOLATED, REST) if (root / each).exists()]
    if leftover:
        raise RefusedError(
            f"isolation: the group {root / leftover[0]} exists already; wait for the other "
            "lockyard, or run: lockyard doctor --undo"
        )
    return Isolation(root, where.version, _text(wanted), _text(rest))


def _text(cpus: list[int]) -> str:
    return ",".join(map(str, cpus))


def _put(file: Path, value: str) -> None:
    file.write_text(value)


def _move(source: Path, target: Path) -> None:
    """Moves every process that the kernel lets move; some threads of its own stay."""
    own = set(_own_family())
    for pid in (source / "cgroup.procs").read_text().split():
        if int(pid) not in own:
            with contextlib.suppress(OSError):
                _put(target / "cgroup.procs", pid)


def _own_family() -> Iterator[int]:
    """Yields this process and its parent, which starts the measured runs."""
    yield os.getpid()
    yield os.getppid()


def remove(group: Path) -> None:
    """Moves the group's processes to its parent and removes it. Raises OSError."""
    deadline = time.monotonic() + REMOVAL_S
    while group.exists():
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                _put(group.parent / "cgroup.procs", pid)
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
