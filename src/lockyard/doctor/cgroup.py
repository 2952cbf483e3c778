# SPDX-License-Identifier: Apache-2.0
"""Where this process's control groups are, in either version, as far up as can be seen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockyard.tree import Tree


@dataclass(frozen=True)
class Groups:
    """The process's own group first, then its ancestors up to the mount."""

    version: int
    paths: list[str]


def groups(tree: Tree, controller: str) -> Groups | None:
    """Null if no hierarchy with the controller is mounted."""
    member_of = _membership(tree)
    for line in (tree.read("/proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        _, _, _, root, mount, *_ = before.split()
        kind, _, options = after.split()[:3]
        if kind == "cgroup" and controller in options.split(","):
            return Groups(1, _chain(mount, root, member_of.get(controller, "/")))
        if kind == "cgroup2" and controller not in member_of:
            found = Groups(2, _chain(mount, root, member_of.get("", "/")))
            has_it = (tree.read(f"{found.paths[-1]}/cgroup.controllers") or "").split()
            if controller in has_it:
                return found
    return None


def _membership(tree: Tree) -> dict[str, str]:
    """The path of each controller's group; version 2 has one for all, under the empty name."""
    found = {}
    for line in (tree.read("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), path))
    return found


def _chain(mount: str, root: str, path: str) -> list[str]:
    """In a container the mount may show only a part of the hierarchy, which starts at `root`."""
    inside = path.removeprefix(root.rstrip("/")) if root != "/" else path
    parts = [part for part in PurePosixPath(inside).parts if part not in ("/", "..")]
    return ["/".join([mount, *parts[:depth]]) for depth in range(len(parts), -1, -1)]
