# SPDX-License-Identifier: Apache-2.0
"""Control groups of either version: the groups of this process, and a group of our own with a quota
of processor time."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockyard.machine.procfs import KernelFiles

CONTROLLER = "cpu"
PERIOD_US = 100_000
REMOVAL_S = 10.0

REMEDY = (
    "run as root, or in a group that is delegated to you, as in: systemd-run --user --scope -p "
    "Delegate=cpu lockyard …; or drop --quota"
)


class CgroupError(Exception):
    """The message names cause and remedy."""


@dataclass(frozen=True)
class Groups:
    """The process's own control group, followed by its ancestors up to the mount."""

    version: int
    paths: list[str]


def groups(kernel: KernelFiles, controller: str) -> Groups | None:
    """Returns the process's groups, or None if no hierarchy with the controller is mounted."""
    member_of = _membership(kernel)
    for line in (kernel.read("/proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        _, _, _, root, mount, *_ = before.split()
        kind, _, options = after.split(" ")[:3]
        if kind == "cgroup" and controller in options.split(","):
            return Groups(1, _chain(mount, root, member_of.get(controller, "/")))
        if kind == "cgroup2" and controller not in member_of:
            found = Groups(2, _chain(mount, root, member_of.get("", "/")))
            has_it = (kernel.read(f"{found.paths[-1]}/cgroup.controllers") or "").split()
            if controller in has_it:
                return found
    return None


def _membership(kernel: KernelFiles) -> dict[str, str]:
    """Returns each controller's group; version 2 has one for all, under the empty name."""
    found = {}
    for line in (kernel.read("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), path))
    return found


def _chain(mount: str, root: str, path: str) -> list[str]:
    """Lists the groups up to the mount, which in a container may begin below the root."""
    inside = path.removeprefix(root.rstrip("/")) if root != "/" else path
    parts = [part for part in PurePosixPath(inside).parts if part not in ("/", "..")]
    return ["/".join([mount, *parts[:depth]]) for depth in range(len(parts), -1, -1)]


def quotas_cpus(where: Groups, kernel: KernelFiles) -> dict[str, float]:
    """Returns the quotas in processors, of those groups that have one."""
    found = {path: _quota_cpus(where.version, path, kernel) for path in where.paths}
    return {path: quota_cpus for path, quota_cpus in found.items() if quota_cpus is not None}


def _quota_cpus(version: int, path: str, kernel: KernelFiles) -> float | None:
    if version == 1:
        quota_us = kernel.number(f"{path}/cpu.cfs_quota_us") or -1
        period_us = kernel.number(f"{path}/cpu.cfs_period_us") or PERIOD_US
        return quota_us / period_us if quota_us > 0 else None
    quota, _, period = (kernel.read(f"{path}/cpu.max") or "max").partition(" ")
    return None if quota == "max" else int(quota) / int(period or PERIOD_US)


def create(quota_cpus: float, kernel: KernelFiles) -> Path:
    """Creates a group with that much processor time. Raises CgroupError."""
    where = groups(kernel, CONTROLLER)
    if where is None:
        raise CgroupError(
            "no control groups that limit processor time are mounted, so there is no quota and "
            "nothing was measured; drop --quota"
        )
    group = kernel.at(parent_of_limited(where, kernel)) / f"lockyard.{os.getpid()}.{quota_cpus:g}"
    quota_us = int(quota_cpus * PERIOD_US)
    _remove_orphans(group.parent)
    try:
        group.mkdir()
        if where.version == 1:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))
        else:
            (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
    except OSError as error:
        if error.errno != errno.EEXIST and group.is_dir():
            group.rmdir()
        raise CgroupError(
            f"the control group {group} cannot be created ({error.strerror}), so there is no quota "
            f"and nothing was measured; {REMEDY}"
        ) from None
    return group


def _remove_orphans(place: Path) -> None:
    """Removes empty groups whose guardians were killed."""
    for group in place.glob("lockyard.*.*"):
        if not Path("/proc", group.name.split(".")[1]).exists():
            with contextlib.suppress(OSError):
                group.rmdir()


def parent_of_limited(where: Groups, kernel: KernelFiles) -> str:
    """Returns the group in which a limited group can be created. In version 2, a group with
    processes has no limited children, so it is the nearest ancestor that limits its children.
    Raises CgroupError."""
    if where.version == 1:
        return where.paths[0]
    for path in where.paths:
        if CONTROLLER in (kernel.read(f"{path}/cgroup.subtree_control") or "").split():
            return path
    raise CgroupError(
        f"no control group from {where.paths[0]} upwards limits processor time "
        "(cgroup.subtree_control lacks cpu), so there is no quota and nothing was measured; "
        f"{REMEDY}"
    )


def remove(group: Path) -> None:
    """Removes a group as soon as its last process has ended; waits a while. Raises OSError."""
    deadline = time.monotonic() + REMOVAL_S
    while True:
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
