# SPDX-License-Identifier: Apache-2.0
"""Locks, worker pools and studies as the harness lists them, and the lookup of names from the
command line."""

from __future__ import annotations

import difflib
from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


@dataclass(frozen=True)
class Lock:
    """A lock, or a worker pool, which has the same fields as far as they apply."""

    name: str
    seed_name: str
    kind: str
    family: str
    waiting: str
    fairness: str
    size_bytes: int | None  # None if its library is missing, and for a pool
    timed: bool
    shared: bool
    recursive: bool
    recovering: bool
    excludes: bool
    origin: str
    zero_is_free: bool | None = None  # whether all zero bytes are the free state


@dataclass(frozen=True)
class Library:
    """Another library, which may be missing."""

    name: str  # the origin of its locks
    version: str | None
    missing: str | None  # why it is missing, and what to do


@dataclass(frozen=True)
class Choice:
    """A value of a parameter whose values have names, such as a workload."""

    name: str
    group: str  # the name of a group of similar values; empty if there is none
    threads: int  # 0: the requested number
    default_run_s: float
    default_budget_s: float
    presets: Mapping[str, tuple[float, ...]] = field(
        default_factory=dict
    )  # default values of other parameters


@dataclass(frozen=True)
class Parameter:
    """A parameter of a study. Its option, its key of scenarios, its help, its completion and its
    checks follow from this."""

    name: str  # with its unit, as in share_percent
    unit: str  # as printed
    summary: str
    least: float
    most: float
    # The default values. Of a choice: the place of the default one among the choices, which jobs
    # and records leave out; empty: all choices are the default.
    defaults: tuple[float, ...]
    type: str = "number"  # or "count", a whole number, or "choice"
    choices: tuple[Choice, ...] = ()
    below_threads: bool = False  # counts some of the threads, of which others must remain

    @property
    def option(self) -> str:
        return option_of(self.name)

    @property
    def range(self) -> str:
        if self.choices:
            return ", ".join(each.name for each in self.choices)
        return f"{self.least:.10g} to {self.most:.10g} {self.unit}".rstrip()

    @property
    def default(self) -> str:
        if self.choices:
            return self.default_choice.name if self.default_choice else "all"
        return ",".join(f"{value:.10g}" for value in self.defaults)

    @property
    def default_choice(self) -> Choice | None:
        """Returns the value that jobs and records leave out; None if there is no such value."""
        return self.choices[int(self.defaults[0])] if self.choices and self.defaults else None


@dataclass(frozen=True)
class Study:
    name: str
    summary: str
    default_run_s: float
    default_budget_s: float
    published_loops: int
    published_runs: int
    preset_of: str = ""  # the study of which this one is a preset; empty: none
    measures: str = "locks"  # or shared_locks, some_locks, ways, pools, machine
    takes: str = (
        "hold_and_gap"  # the times of its threads that can be requested: or gap, hold, none
    )
    threads: int = 0  # on which it runs whatever is requested; 0: the requested number
    parameters: tuple[Parameter, ...] = ()  # a cell for each combination of their values
    default_gap_ns: float = 0
    clock_reads: int = 0  # for each operation; an interval must be longer than they take
    scheduled: bool = False  # its threads call at scheduled times
    default_locks: tuple[str, ...] = ()  # the default locks; empty: the seed locks
    default_policies: tuple[str, ...] = ()  # by default, the first of these that is permitted
    only_policies: tuple[str, ...] = ()  # the policies that it can be measured under; empty: all
    keeps_traces: bool = False  # writes traces next to its records
    ways: tuple[str, ...] = ()  # ways to wait, if it measures these
    pools: tuple[Lock, ...] = ()  # worker pools, if it measures these
    only_locks: tuple[str, ...] = ()  # the locks that it can measure, if these are some

    @property
    def stem(self) -> str:
        """Returns the name of the study's files."""
        return self.preset_of or self.name

    @property
    def takes_hold(self) -> bool:
        return self.takes in ("hold", "hold_and_gap")

    @property
    def takes_gap(self) -> bool:
        return self.takes in ("gap", "hold_and_gap")

    def choosing(self, parameter: Parameter, choice: Choice) -> Study:
        """Returns the study with only this value of the parameter, or without the parameter if this
        is its default, and with the value's threads, times and default values."""
        return replace(
            self,
            threads=choice.threads or self.threads,
            parameters=tuple(
                replace(each, choices=(choice,), defaults=())
                if each == parameter
                else replace(each, defaults=choice.presets.get(each.name, each.defaults))
                for each in self.parameters
                if each != parameter or choice != parameter.default_choice
            ),
            default_run_s=choice.default_run_s,
            default_budget_s=choice.default_budget_s,
        )


def option_of(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


Named = TypeVar("Named", Lock, Study, str, list[str])


@dataclass(frozen=True)
class Catalog:
    version: str
    locks: tuple[Lock, ...]
    libraries: tuple[Library, ...]
    studies: tuple[Study, ...]

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Catalog:
        """Ignores keys that this version does not know."""
        return msgspec.convert(document, cls)

    @property
    def pools(self) -> tuple[Lock, ...]:
        return tuple(pool for study in self.studies for pool in study.pools)

    @property
    def measured(self) -> tuple[Lock, ...]:
        """Returns everything that can be measured except the machine."""
        return (*self.locks, *self.pools)

    def group(self, name: str, among: Iterable[Lock] | None = None) -> list[Lock] | None:
        """Returns the locks of a group, or None if there is no such group."""
        groups: dict[str, Callable[[Lock], bool]] = {
            "seeds": lambda lock: lock.seed_name != "",
            "ours": lambda lock: lock.kind == "ours",
            "peers": lambda lock: lock.kind == "peer",
            "variants": lambda lock: lock.kind == "variant",
            "all": lambda lock: (
                lock.kind not in ("control", "variant") and self.library(lock) is None
            ),
        }
        members = groups.get(name)
        locks = self.locks if among is None else among
        return None if members is None else [lock for lock in locks if members(lock)]

    def library(self, lock: Lock) -> Library | None:
        """Returns the library that a lock needs, if it needs another one than the compiler's."""
        by_name = {library.name: library for library in self.libraries}
        return by_name.get(lock.origin) if lock.kind == "peer" else None

    @property
    def missing_locks(self) -> set[str]:
        """Returns the locks that this harness cannot measure."""
        missing = {library.name for library in self.libraries if library.missing}
        peers = (lock for lock in self.measured if lock.kind == "peer")
        return {lock.name for lock in peers if lock.origin in missing}

    def select_locks(self, names: Iterable[str]) -> list[Lock]:
        """Returns the locks with these names, seed names and groups, without repeats, in order."""
        return self._select("lock", self.locks, names)

    def select_shared(self, names: Iterable[str]) -> list[Lock]:
        """Returns the given locks that readers can share."""
        return [lock for lock in self.select_locks(names) if lock.shared]

    @property
    def tracing_studies(self) -> list[str]:
        return [study.name for study in self.studies if study.keeps_traces]

    def select_recovering(self, names: Iterable[str]) -> list[Lock]:
        """Returns the given locks that some study with its own list of locks measures."""
        known = {name for study in self.studies for name in study.only_locks}
        return [lock for lock in self.select_locks(names) if lock.name in known]

    def select_pools(self, names: Iterable[str]) -> list[Lock]:
        """Returns the worker pools with these names and groups, likewise."""
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
        """Returns the lock that others are compared with, or all locks whose best is meant."""
        if name == BEST_SLEEPING_PEER:
            return [lock for lock in self.locks if (lock.kind, lock.waiting) == ("peer", "park")]
        return self._select("lock", self.measured, [name])[:1]

    @property
    def ways(self) -> list[str]:
        """Returns the ways to wait of all studies."""
        return [way for study in self.studies for way in study.ways]

    @property
    def parameters(self) -> list[Parameter]:
        """Returns the parameters of all studies; several may share a name."""
        return [each for study in self.studies for each in study.parameters]

    def select_ways(self, names: Iterable[str]) -> list[str]:
        """Returns the ways with these names, without repeats, in order."""
        by_name = {way: way for way in self.ways}
        found = (_find("way to wait", by_name, name, "list --json") for name in names)
        return list(dict.fromkeys(found))

    def select_studies(self, names: Iterable[str]) -> list[Study]:
        by_name = {study.name: study for study in self.studies}
        chosen = {name: _find("study", by_name, name) for name in names}
        return list(chosen.values())


class Listing(msgspec.Struct):
    """The output of lockyard list --json. A study includes its pools."""

    locks: tuple[Lock, ...]
    studies: tuple[Study, ...]


class Peer(msgspec.Struct):
    """A lock or pool of another library; `missing` says why it is missing, and what to do."""

    name: str
    library: str
    version: str | None
    missing: str | None


class Peers(msgspec.Struct):
    """The output of lockyard list --peers --json."""

    peers: list[Peer]
    pools: list[Peer]


GROUPS = ("seeds", "ours", "peers", "variants", "all")
# The name for the best of the sleeping peers in each cell.
BEST_SLEEPING_PEER = "best-sleeping-peer"


def _find(what: str, by_name: Mapping[str, Named], name: str, shown_by: str = "list") -> Named:
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(name, by_name, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"choose from {', '.join(by_name)}"
    raise UsageError(f"unknown {what} '{name}': {hint} ('lockyard {shown_by}' shows all)")
