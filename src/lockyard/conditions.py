# SPDX-License-Identifier: Apache-2.0
"""Under which scheduler, beside what load and within which limits the threads of a run work."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

POLICIES = ("other", "batch", "idle", "fifo", "rr", "deadline")
# As the system has them; Python has no name for that of deadline.
POLICY_NUMBERS = {
    "other": os.SCHED_OTHER,
    "batch": os.SCHED_BATCH,
    "idle": os.SCHED_IDLE,
    "fifo": os.SCHED_FIFO,
    "rr": os.SCHED_RR,
}
FAIR = ("other", "batch")  # share by nice and slice
REAL_TIME = ("fifo", "rr")
PRIORITIES = (1, 99)
NICES = (-20, 19)
# What the kernel would clamp a thread's slice to.
SLICES_NS = (100_000, 100_000_000)
AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
# Where nobody says what a deadline thread may use: a period, and so much of all processors' time
# for all threads together. The kernel admits less than all.
DEADLINE_PERIOD_NS = 10_000_000
DEADLINE_SHARE = 0.8

Pinning = str | tuple[int, ...]


@dataclass(frozen=True)
class Deadline:
    runtime_ns: int
    deadline_ns: int
    period_ns: int


@dataclass(frozen=True)
class Conditions:
    """Of a cell, beside the number of threads and their places. As they were asked for; the harness
    reads back what the kernel made of it, and refuses a run that differs."""

    policy: str = "other"
    priority: int = 0
    nice: int = 0
    slice_ns: int | None = None  # nothing: the kernel's default
    deadline: Deadline | None = None
    load: int = 0  # busy threads of another process
    load_nice: int = 0
    timer_slack_ns: int | None = None  # nothing: as the kernel has it for this policy
    autogroup: bool | None = None  # nothing: the kernel has none
    quota_cpus: float | None = None  # nothing: no group of its own
    rest_s: float = 0.0  # before each run

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "deadline": asdict(self.deadline) if self.deadline else None}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Conditions:
        deadline = document["deadline"]
        return cls(**{**document, "deadline": Deadline(**deadline) if deadline else None})


def inherited() -> Conditions:
    """As this process was started, so runs are unless something else is asked."""
    number = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    names = {each: name for name, each in POLICY_NUMBERS.items()}
    if number not in names:
        raise UsageError(
            "lockyard itself runs under a policy whose threads cannot start others (deadline); "
            "start it under another one, and give --policy deadline for the threads it measures"
        )
    policy = names[number]
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    return Conditions(
        policy=policy,
        priority=os.sched_getparam(0).sched_priority,
        nice=nice if policy in FAIR else 0,
        load_nice=nice,
        autogroup=autogroup_enabled(),
    )


def autogroup_enabled() -> bool | None:
    try:
        return AUTOGROUP.read_text().strip() == "1"
    except OSError:
        return None


@dataclass(frozen=True)
class Asked:
    """What the command line says of conditions; nothing where it says nothing."""

    policies: Sequence[str] = ()
    slices_ns: Sequence[int] = ()
    priority: int | None = None
    nice: int | None = None
    deadline: Deadline | None = None
    others: Mapping[str, Any] = field(default_factory=dict)  # which hold under every policy


# Which policies a parameter means something to.
USED_BY = {
    "slices_ns": ("--slice", FAIR),
    "nice": ("--nice", FAIR),
    "priority": ("--priority", REAL_TIME),
    "deadline": ("--deadline", ("deadline",)),
}


def variants(asked: Asked, base: Conditions) -> list[Conditions]:
    """One for each policy, and under a policy that knows slices one for each slice. A parameter
    goes to the policies that know it; that none does is an error."""
    policies = asked.policies or [base.policy]
    for name, (option, users) in USED_BY.items():
        if getattr(asked, name) not in (None, ()) and not set(users) & set(policies):
            raise UsageError(
                f"{option}: means nothing to {', '.join(policies)}; give --policy "
                f"{' or '.join(users)}, or leave {option} out"
            )
    if asked.others.get("autogroup") is not None and base.autogroup is None:
        raise UsageError(
            "--autogroup: this kernel does not group processes by session; leave it out"
        )
    shared = replace(base, **asked.others)
    return [
        variant for policy in policies for variant in _variants_of_policy(policy, asked, shared)
    ]


def _variants_of_policy(policy: str, asked: Asked, base: Conditions) -> list[Conditions]:
    own: dict[str, Any] = {"policy": policy, "priority": 0, "nice": 0}
    if policy in REAL_TIME:
        inherited_priority = base.priority if policy == base.policy else PRIORITIES[0]
        own["priority"] = inherited_priority if asked.priority is None else asked.priority
    if policy in FAIR:
        own["nice"] = base.nice if asked.nice is None else asked.nice
    if policy == "deadline":
        own["deadline"] = asked.deadline
    slices: Sequence[int | None] = asked.slices_ns if policy in FAIR else ()
    return [replace(base, **own, slice_ns=slice_ns) for slice_ns in slices or [None]]


def default_deadline(threads: int) -> Deadline:
    """Equal shares of what the kernel admits with certainty."""
    processors = len(os.sched_getaffinity(0))
    share = min(1.0, processors / threads) * DEADLINE_SHARE
    return Deadline(int(DEADLINE_PERIOD_NS * share), DEADLINE_PERIOD_NS, DEADLINE_PERIOD_NS)


def completed(of: Conditions, threads: int) -> Conditions:
    """With what a cell of so many threads gets where nothing was said."""
    if of.policy == "deadline" and of.deadline is None:
        return replace(of, deadline=default_deadline(threads))
    return of


def check(of: Conditions, pinning: Pinning) -> None:
    """Refuses what contradicts itself, or what no kernel grants."""
    least, most = PRIORITIES
    if of.policy in REAL_TIME and not least <= of.priority <= most:
        raise UsageError(
            f"--priority {of.priority}: {of.policy} has priorities from {least} to {most}"
        )
    _check_pinning(pinning)
    if of.policy == "deadline" and pinning != "none":
        raise UsageError(
            "--policy deadline with --pin: the kernel refuses to confine a deadline thread to some "
            "of the processors; leave one of the two out"
        )
    if of.timer_slack_ns is not None and of.policy in (*REAL_TIME, "deadline"):
        raise UsageError(
            f"--timer-slack with --policy {of.policy}: the kernel gives such threads none; leave "
            "one of the two out"
        )
    if of.load > 0 and of.policy in REAL_TIME:
        _check_load_beside_real_time(of)
    if of.quota_cpus is not None and of.policy not in (*FAIR, "idle"):
        raise UsageError(
            f"--quota with --policy {of.policy}: the quota of a control group limits only other, "
            "batch and idle; leave one of the two out"
        )


def _check_pinning(pinning: Pinning) -> None:
    usable = os.sched_getaffinity(0)
    for cpu in () if isinstance(pinning, str) else pinning:
        if cpu not in usable:
            listed = ",".join(map(str, sorted(usable)))
            raise UsageError(
                f"--pin {cpu}: there is no processor of that number that this process may use; it "
                f"may use {listed}; name one of those, or leave --pin out"
            )


def _check_load_beside_real_time(of: Conditions) -> None:
    processors = len(os.sched_getaffinity(0))
    if of.load > processors:
        raise UsageError(
            f"--load {of.load} with --policy {of.policy}: more busy threads than the {processors} "
            "processors would live on what the real-time throttle leaves, and be no load; ask for "
            "fewer"
        )
