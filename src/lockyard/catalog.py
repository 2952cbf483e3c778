# SPDX-License-Identifier: Apache-2.0
"""Locks, pools of workers and studies as the harness lists them, and how names of the command line
find them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


@dataclass(frozen=True)
class Lock:
    """A pool of workers is described by the same words, as far as they suit."""

    name: str
    seed_name: str
    kind: str
    family: str
    waiting: str
    fairness: str
    size_bytes: int | None  # nothing where its library is missing, and for a pool
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
class Parameter:
    name: str  # with its unit, as in share_percent
    unit: str  # as a person writes it
    summary: str
    least: float
    most: float
    usual: tuple[float, ...]  # where nobody gives one

    @property
    def range(self) -> str:
        return f"{self.least:.10g} to {self.most:.10g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Workload:
    """One of the things that the threads of a study can do."""

    name: str
    group: str  # of those that differ in little; nothing if it is alone
    threads: int  # 0: as asked
    default_run_s: float
    default_budget_s: float
    presets: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # of the parameters


@dataclass(frozen=True)
class Study:
    name: str
    summary: str
    default_run_s: float
    default_budget_s: float
    of_machine: bool
    of_readers: bool  # of locks that can be shared, and of no others
    single_threaded: bool
    published_loops: int
    published_runs: int
    ways: tuple[str, ...] = ()  # to wait, which it measures in place of locks
    pools: tuple[Lock, ...] = ()  # of workers, the same
    default_gap_ns: float = 0
    default_burst: int = 0  # tasks that are submitted together; 0 where there are none
    workloads: tuple[Workload, ...] = ()  # of which its threads do one; each is a cell
    parameters: tuple[Parameter, ...] = ()  # numbers; each combination of values is a cell
    clock_reads: int = 0  # for each operation; intervals are not shorter than they take
    own_lengths: bool = False  # its threads hold and stay away as it says, whatever is asked
    scheduled: bool = False  # its threads call at times of a schedule, and have no gaps
    usual_locks: tuple[str, ...] = ()  # where nobody names any; nothing: the texts'
    usual_policies: tuple[str, ...] = ()  # the first that is permitted, where nobody gives one
    only_policies: tuple[str, ...] = ()  # under which it means something; nothing: all
    only_locks: tuple[str, ...] = ()  # which it can measure, where it cannot measure all
    keeps_traces: bool = False  # beside its records

    @property
    def has_team(self) -> bool:
        """Whether several threads want one lock, or run tasks."""
        return not self.of_machine and not self.single_threaded and not self.ways

    @property
    def takes_lengths(self) -> bool:
        """Whether the threads hold and stay away for as long as they are asked to."""
        return self.has_team and not self.workloads and not self.own_lengths

    def doing(self, workload: Workload) -> Study:
        """The study of that one alone, with the time that it takes."""
        return replace(
            self,
            workloads=(),
            parameters=tuple(
                replace(each, usual=workload.presets.get(each.name, each.usual))
                for each in self.parameters
            ),
            default_run_s=workload.default_run_s,
            default_budget_s=workload.default_budget_s,
        )


Entry = TypeVar("Entry", Lock, Library, Workload, Parameter, Study)
Named = TypeVar("Named", Lock, Study, str, list[str])


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
            studies=tuple(_study(study) for study in document["studies"]),
        )

    @property
    def pools(self) -> tuple[Lock, ...]:
        return tuple(pool for study in self.studies for pool in study.pools)

    @property
    def measured(self) -> tuple[Lock, ...]:
        """Whatever can be measured but the machine."""
        return (*self.locks, *self.pools)

    def group(self, name: str, among: Iterable[Lock] | None = None) -> list[Lock] | None:
        """The locks of a named group; nothing if there is no such group."""
        groups: dict[str, Callable[[Lock], bool]] = {
            "seeds": lambda lock: lock.seed_name != "",
            "ours": lambda lock: lock.kind == "ours",
            "peers": lambda lock: lock.kind == "peer",
            "all": lambda lock: lock.kind != "control" and self.library(lock) is None,
        }
        members = groups.get(name)
        locks = self.locks if among is None else among
        return None if members is None else [lock for lock in locks if members(lock)]

    def library(self, lock: Lock) -> Library | None:
        """The one that a lock needs beside those of the compiler."""
        by_name = {library.name: library for library in self.libraries}
        return by_name.get(lock.origin) if lock.kind == "peer" else None

    @property
    def missing_locks(self) -> set[str]:
        """Those that cannot be measured with this harness."""
        missing = {library.name for library in self.libraries if library.missing}
        peers = (lock for lock in self.measured if lock.kind == "peer")
        return {lock.name for lock in peers if lock.origin in missing}

    def select_locks(self, names: Iterable[str]) -> list[Lock]:
        """The locks of the given names, seed names and groups, each once, in the order given."""
        return self._select("lock", self.locks, names)

    def select_shared(self, names: Iterable[str]) -> list[Lock]:
        """Those of the given locks that readers can share."""
        return [lock for lock in self.select_locks(names) if lock.shared]

    @property
    def tracing_studies(self) -> list[str]:
        return [study.name for study in self.studies if study.keeps_traces]

    def select_recovering(self, names: Iterable[str]) -> list[Lock]:
        """Those of the given locks that some study measures that has only some."""
        known = {name for study in self.studies for name in study.only_locks}
        return [lock for lock in self.select_locks(names) if lock.name in known]

    def select_pools(self, names: Iterable[str]) -> list[Lock]:
        """The same of pools of workers."""
        return self._select("pool", self.pools, names)

    def _select(self, what: str, among: Sequence[Lock], names: Iterable[str]) -> list[Lock]:
        by_name = {lock.seed_name: lock for lock in among if lock.seed_name}
        by_name |= {lock.name: lock for lock in among}
        chosen: dict[str, Lock] = {}
        for name in names:
            group = self.group(name, among)
            found = group if group is not None else [_find(what, by_name, name)]
            chosen |= {lock.name: lock for lock in found}
        return list(chosen.values())

    def references(self, name: str) -> list[Lock]:
        """Whom others are compared with: one lock, or all of which the best is meant."""
        if name == BEST_SLEEPING_PEER:
            return [lock for lock in self.locks if (lock.kind, lock.waiting) == ("peer", "park")]
        return self._select("lock", self.measured, [name])[:1]

    @property
    def ways(self) -> list[str]:
        """All ways to wait, whatever the study."""
        return [way for study in self.studies for way in study.ways]

    @property
    def parameters(self) -> list[Parameter]:
        """All of them, whatever the study; several may share a name."""
        return [each for study in self.studies for each in study.parameters]

    @property
    def workloads(self) -> list[Workload]:
        """All of them, whatever the study."""
        return [workload for study in self.studies for workload in study.workloads]

    def select_workloads(self, names: Iterable[str]) -> list[str]:
        """Those of the given names and groups, each once, in the order given."""
        by_name: dict[str, list[str]] = {}
        for each in self.workloads:
            by_name.setdefault(each.group or each.name, []).append(each.name)
        by_name |= {each.name: [each.name] for each in self.workloads}
        found = (_find("workload", by_name, name, "list --json") for name in names)
        return list(dict.fromkeys(name for each in found for name in each))

    def select_ways(self, names: Iterable[str]) -> list[str]:
        """Those of the given names, each once, in the order given."""
        by_name = {way: way for way in self.ways}
        found = (_find("way to wait", by_name, name, "list --json") for name in names)
        return list(dict.fromkeys(found))

    def select_studies(self, names: Iterable[str]) -> list[Study]:
        by_name = {study.name: study for study in self.studies}
        chosen = {name: _find("study", by_name, name) for name in names}
        return list(chosen.values())


GROUPS = ("seeds", "ours", "peers", "all")
# In each cell the best of the peers that sleep.
BEST_SLEEPING_PEER = "best-sleeping-peer"


def _entry(kind: type[Entry], values: Mapping[str, Any]) -> Entry:
    """Keys that this version does not know are left aside."""
    return kind(**{each.name: values[each.name] for each in fields(kind)})


def _study(values: Mapping[str, Any]) -> Study:
    pools = tuple(_entry(Lock, pool) for pool in values["pools"])
    changed = {
        "pools": pools,
        "ways": tuple(values["ways"]),
        "workloads": tuple(_workload(each) for each in values["workloads"]),
        "parameters": tuple(_parameter(each) for each in values["parameters"]),
        "usual_locks": tuple(values["usual_locks"]),
        "usual_policies": tuple(values["usual_policies"]),
        "only_policies": tuple(values["only_policies"]),
        "only_locks": tuple(values["only_locks"]),
    }
    return _entry(Study, {**values, **changed})


def _workload(values: Mapping[str, Any]) -> Workload:
    presets = {name: tuple(found) for name, found in values["presets"].items()}
    return _entry(Workload, {**values, "presets": presets})


def _parameter(values: Mapping[str, Any]) -> Parameter:
    return _entry(Parameter, {**values, "usual": tuple(values["usual"])})


def _find(what: str, by_name: Mapping[str, Named], name: str, shown_by: str = "list") -> Named:
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(name, by_name, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(by_name)}"
    raise UsageError(f"unknown {what} '{name}': {hint} ('lockyard {shown_by}' shows all)")
