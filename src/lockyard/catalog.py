# SPDX-License-Identifier: Apache-2.0
"""Locks and studies as the harness lists them, and how names of the command line find them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True)
class Lock:
    name: str
    seed_name: str
    kind: str
    family: str
    waiting: str
    fairness: str
    size_bytes: int | None  # nothing where its library is missing
    timed: bool
    shared: bool
    recursive: bool
    recovering: bool
    excludes: bool
    origin: str


@dataclass(frozen=True)
class Library:
    """Another library, which may be missing."""

    name: str  # the origin of its locks
    version: str | None
    missing: str | None  # why, and what to do


@dataclass(frozen=True)
class Study:
    name: str
    summary: str
    default_run_s: float
    default_budget_s: float
    of_machine: bool
    single_threaded: bool
    published_loops: int
    published_runs: int

    @property
    def has_team(self) -> bool:
        """Whether several threads want one lock."""
        return not self.of_machine and not self.single_threaded


Entry = TypeVar("Entry", Lock, Library, Study)


@dataclass(frozen=True)
class Catalog:
    version: str
    locks: tuple[Lock, ...]
    libraries: tuple[Library, ...]
    studies: tuple[Study, ...]

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Catalog:
        return cls(
            version=document["version"],
            locks=tuple(_entry(Lock, lock) for lock in document["locks"]),
            libraries=tuple(_entry(Library, library) for library in document["libraries"]),
            studies=tuple(_entry(Study, study) for study in document["studies"]),
        )

    def group(self, name: str) -> list[Lock] | None:
        """The locks of a named group; nothing if there is no such group."""
        groups: dict[str, Callable[[Lock], bool]] = {
            "seeds": lambda lock: lock.seed_name != "",
            "ours": lambda lock: lock.kind == "ours",
            "peers": lambda lock: lock.kind == "peer",
            "all": lambda lock: lock.kind != "control" and self.library(lock) is None,
        }
        members = groups.get(name)
        return None if members is None else [lock for lock in self.locks if members(lock)]

    def library(self, lock: Lock) -> Library | None:
        """The one that a lock needs beside those of the compiler."""
        by_name = {library.name: library for library in self.libraries}
        return by_name.get(lock.origin) if lock.kind == "peer" else None

    @property
    def missing_locks(self) -> set[str]:
        """Those that cannot be measured with this harness."""
        missing = {library.name for library in self.libraries if library.missing}
        return {lock.name for lock in self.locks if lock.kind == "peer" and lock.origin in missing}

    def select_locks(self, names: Iterable[str]) -> list[Lock]:
        """The locks of the given names, seed names and groups, each once, in the order given."""
        by_name = {lock.seed_name: lock for lock in self.locks if lock.seed_name}
        by_name |= {lock.name: lock for lock in self.locks}
        chosen: dict[str, Lock] = {}
        for name in names:
            group = self.group(name)
            found = group if group is not None else [_find("lock", by_name, name)]
            chosen |= {lock.name: lock for lock in found}
        return list(chosen.values())

    def references(self, name: str) -> list[Lock]:
        """Whom others are compared with: one lock, or all of which the best is meant."""
        if name == BEST_SLEEPING_PEER:
            return [lock for lock in self.locks if (lock.kind, lock.waiting) == ("peer", "park")]
        return self.select_locks([name])[:1]

    def select_studies(self, names: Iterable[str]) -> list[Study]:
        by_name = {study.name: study for study in self.studies}
        chosen = {name: _find("study", by_name, name) for name in names}
        return list(chosen.values())


GROUPS = ("seeds", "ours", "peers", "all")
# In each cell the best of the peers that sleep.
BEST_SLEEPING_PEER = "best-sleeping-peer"


def _entry(kind: type[Entry], values: Mapping[str, Any]) -> Entry:
    """Keys that this version does not know are left aside."""
    return kind(**{field.name: values[field.name] for field in fields(kind)})


def _find(what: str, by_name: Mapping[str, Entry], name: str) -> Entry:
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(name, by_name, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(by_name)}"
    raise UsageError(f"unknown {what} '{name}': {hint} ('lockyard list' shows all)")
