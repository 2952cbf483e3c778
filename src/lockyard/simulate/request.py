# SPDX-License-Identifier: Apache-2.0
"""From the options of `lockyard simulate` to cells, and from cells to the simulator's jobs."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lockyard import options
from lockyard.errors import UsageError
from lockyard.simulate import machines
from lockyard.simulate.machines import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from lockyard.program import Job
    from lockyard.simulate.machines import Machine
    from lockyard.simulate.simulator import Abilities

BACKGROUNDS = ("quiet", "server", "desktop")
SEEDS = 3
LENGTHS = ("constant", "exponential")
SHORTEST_NS = 1e6
WARM_UP_NS = 3e6  # all threads start at once, which distorts the first milliseconds


@dataclass(frozen=True)
class Work:
    hold_ns: float = 0.0
    gap_ns: float = 0.0
    lengths: str = "constant"
    duration_ns: float = 20e6
    loops: int = 0
    runs: int = 1
    workload: str = "lock1"
    pinned: bool = False
    burst: int = 8
    hog_share: float = 0.5
    interval_ns: float = 2e6


@dataclass(frozen=True)
class Cell:
    """One simulation."""

    study: str
    lock: str
    machine: Machine
    scheduler: str
    threads: int
    work: Work = field(default_factory=Work)
    parameters: Mapping[str, float] = field(default_factory=dict)
    background: str = "quiet"
    seed: int = 1
    gaps: Mapping[str, Any] | None = None  # in place of the background's
    burst_factor: float = 1.0  # factor of the rate of bursts
    module: str = ""  # the file with the user's lock

    def to_job(self) -> Job:
        others, gaps = settings()[self.background]
        if others is not None:
            others = others | {"bursts_per_s": others["bursts_per_s"] * self.burst_factor}
        return {
            "ask": "simulate",
            "study": self.study,
            "lock": self.lock,
            "module": self.module,
            "machine": self.machine.to_job(),
            "scheduler": self.scheduler,
            "parameters": dict(self.parameters),
            "threads": self.threads,
            "background": others,
            "gaps": gaps if self.gaps is None else dict(self.gaps),
            "seed": self.seed,
            "warm_up_ns": min(WARM_UP_NS, self.work.duration_ns / 4),
            **vars(self.work),
        }


# The option and the studies of work that only some studies have.
APPLIES = {
    "workload": ("--workload", ("scale",)),
    "burst": ("--burst", ("workers",)),
    "hog_share": ("--hog-percent", ("priority",)),
    "interval_ns": ("--interval", ("priority",)),
}
DEFAULT_LOCKS = "mutex,fair_mutex,mcs_spinlock,queued_spinlock"


def hog_share(option: str, text: str) -> float:
    return options.whole_number(option, text, 0, 90) / 100


def interval_ns(option: str, text: str) -> float:
    found_ns = options.duration_ns(option, text)
    if not 1e5 <= found_ns <= 1e9:
        raise UsageError(f"{option} {text}: must be from 100us to 1s, as in the native study")
    return found_ns


def known_lengths(option: str, text: str) -> str:
    if text not in LENGTHS:
        raise UsageError(f"{option} {text}: must be constant or exponential")
    return text


def run_ns(option: str, text: str) -> float:
    found_ns = options.duration_ns(option, text)
    if found_ns < SHORTEST_NS:
        raise UsageError(
            f"{option} {text}: too short to be past the start of the threads; give 1ms or more"
        )
    return found_ns


@cache
def settings() -> dict[str, tuple[dict[str, float] | None, dict[str, float] | None]]:
    """Returns the background threads and the gaps of each background."""
    text = (files("lockyard") / "simulate" / "backgrounds.toml").read_text("utf-8")
    found = {}
    for name, table in tomllib.loads(text).items():
        gaps = {
            key.removeprefix("gap_"): value
            for key, value in table.items()
            if key.startswith("gap_")
        }
        others = {
            key: value
            for key, value in table.items()
            if key != "summary" and not key.startswith("gap_")
        }
        found[name] = (others or None, gaps or None)
    return found


def cells(asked: Cell, locks: Iterable[str], schedulers: Iterable[str],
          threads: Iterable[int]) -> list[Cell]:  # fmt: skip
    """Returns a cell for each combination."""
    counts = list(threads)
    return [
        replace(asked, lock=lock, scheduler=scheduler, threads=count)
        for scheduler in schedulers
        for count in counts
        for lock in locks
    ]


def known_study(name: str, of: Abilities) -> str:
    if name not in of.studies:
        raise UsageError(f"{name}: no such simulated study; {nearest(name, of.studies)}")
    return name


def known_locks(text: str, of: Abilities) -> list[str]:
    """Returns the locks of a list of names, seed names and `all`."""
    by_seed_name = {seed: name for name, seed in of.locks.items() if seed}
    return _known("lock", text, of.locks, by_seed_name,
                  "Locks of other libraries cannot be simulated; futex_mutex has the algorithm of "
                  "std::mutex")  # fmt: skip


def known_pools(text: str, of: Abilities) -> list[str]:
    """Returns the pools of a list of names and `all`."""
    return _known("pool", text, of.pools, {}, "Pools of other libraries cannot be simulated")


def _known(what: str, text: str, names: Collection[str], others: Mapping[str, str],
           note: str) -> list[str]:  # fmt: skip
    """Returns the listed ones of `names`. `others` are further names of some of them."""
    found: list[str] = []
    for part in (each.strip() for each in text.split(",")):
        if part != "all" and part not in names and part not in others:
            raise UsageError(
                f"--{what}s {part}: no such {what} in the simulated world; {nearest(part, names)} "
                f"{note}"
            )
        found += names if part == "all" else [others.get(part, part)]
    return list(dict.fromkeys(found))


def known_schedulers(text: str, of: Abilities) -> list[str]:
    found = [part.strip() for part in text.split(",")]
    for name in found:
        if name not in of.schedulers:
            raise UsageError(f"--scheduler {name}: no such scheduler; "
                             f"{nearest(name, of.schedulers)}")  # fmt: skip
    return list(dict.fromkeys(found))


def known_background(name: str) -> str:
    if name not in BACKGROUNDS:
        raise UsageError(f"--background {name}: no such background; {nearest(name, BACKGROUNDS)}")
    return name


def check_threads(counts: Iterable[int], machine: Machine, of: Abilities) -> None:
    most = min(machine.most_threads, of.most_threads)
    for count in counts:
        if count > most:
            raise UsageError(
                f"--threads {count}: the machine {machine.name} is defined for at most {most} "
                "threads; give fewer, or another machine (lockyard machines)"
            )


def adjusted(
    machine: Machine, schedulers: Iterable[str], changes: Iterable[str], of: Abilities
) -> tuple[Machine, dict[str, float]]:
    """Returns the machine, and the parameters of the schedulers, after `--set NAME=VALUE`."""
    known = {
        each["name"] for name in schedulers for each in of.schedulers[name]["parameters"]
    }  # fmt: skip
    parameters: dict[str, float] = {}
    costs: dict[str, Any] = dict(machine.costs)
    for change in changes:
        name, equals, text = change.partition("=")
        try:
            value = float(text)
        except ValueError:
            equals = ""
        if not equals:
            raise UsageError(f"--set {change}: not NAME=NUMBER, as in hop_socket_ns=80")
        if name in of.costs:
            costs[name] = machines.cost(f"--set {name}", name, value)
        elif name in known:
            parameters[name] = machines.cost(f"--set {name}", name, value)
        else:
            raise UsageError(
                f"--set {name}: neither a cost nor a parameter of the scheduler; "
                f"{nearest(name, [*of.costs, *sorted(known)])}"
            )
    machines.check_order("--set", costs)
    return replace(machine, costs=costs), parameters
