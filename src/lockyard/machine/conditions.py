# SPDX-License-Identifier: Apache-2.0
"""The conditions of a run: the scheduler, other load, and limits on the threads."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

POLICIES = ("other", "batch", "idle", "fifo", "rr", "deadline")
# The system's numbers; Python names none for `deadline`.
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
# The kernel clamps a thread's slice to this range.
SLICES_NS = (100_000, 100_000_000)
AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
# The defaults of a deadline thread: this period, and this share of all processors' time for all
# threads together. The kernel admits less than the whole.
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
    """The conditions of a cell, besides the number of threads and their placement, as requested.
    The harness reads back what the kernel granted and refuses a run that differs."""

    policy: str = "other"
    priority: int = 0
    nice: int = 0
    slice_ns: int | None = None  # None: the kernel's default
    deadline: Deadline | None = None
    load: int = 0  # busy threads of another process, or its compilers at a time
    load_nice: int = 0
    timer_slack_ns: int | None = None  # None: the kernel's default for the policy
    autogroup: bool | None = None  # None: the kernel does not group processes
    quota_cpus: float | None = None  # None: no control group
    rest_s: float = 0.0  # before each run
    load_kind: str | None = None  # "build"; None: the threads of the load count
    machine: tuple[tuple[str, str], ...] = ()  # settings of the whole machine, by name

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "deadline": asdict(self.deadline) if self.deadline else None,
            "machine": dict(self.machine),
        }


def inherited() -> Conditions:
    """Returns the conditions of this process, which runs inherit unless others are requested."""
    number = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    names = {each: name for name, each in POLICY_NUMBERS.items()}
    if number not in names:
        raise UsageError(
            "lockyard itself runs under the policy deadline, whose threads cannot start others; "
            "start it under another policy, and give --policy deadline for the measured threads"
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
class Load:
    """A load as requested: busy threads, or a build with so many compilers at a time."""

    count: int = 0
    kind: str | None = None  # "build"; None: the threads of the load count


NO_LOAD = Load()
Machine = tuple[tuple[str, str], ...]  # settings of the whole machine, by name


@dataclass(frozen=True)
class RequestedConditions:
    """The conditions that the command line names; None or empty where it names none."""

    policies: Sequence[str] = ()
    slices_ns: Sequence[int] = ()
    priority: int | None = None
    nice: int | None = None
    deadline: Deadline | None = None
    # Conditions that fit every policy.
    load: Load = NO_LOAD
    load_nice: int | None = None
    timer_slack_ns: int | None = None
    autogroup: bool | None = None
    quota_cpus: float | None = None
    rest_s: float | None = None
    machines: Sequence[Machine] = ()  # settings of the whole machine, one cell each

    def __post_init__(self) -> None:
        if self.load == NO_LOAD and self.load_nice is not None:
            raise UsageError(
                f"--load-nice {self.load_nice}: there is no load that it could apply to; give "
                "--load N too, or drop --load-nice"
            )

    def under_every_policy(self, base: Conditions) -> Conditions:
        """Returns `base` with those conditions that fit every policy."""
        names = ("load_nice", "timer_slack_ns", "autogroup", "quota_cpus", "rest_s")
        named = {name: getattr(self, name) for name in names}
        given = {name: value for name, value in named.items() if value is not None}
        return replace(base, load=self.load.count, load_kind=self.load.kind, **given)


# The policies that each parameter applies to.
USED_BY = {
    "slices_ns": ("--slice", FAIR),
    "nice": ("--nice", FAIR),
    "priority": ("--priority", REAL_TIME),
    "deadline": ("--deadline", ("deadline",)),
}


def variants(requested: RequestedConditions, base: Conditions) -> list[Conditions]:
    """Returns one variant for each policy, and under a policy with slices one for each slice. A
    parameter goes to the policies that use it; a parameter that none of them uses is an error."""
    policies = requested.policies or [base.policy]
    for name, (option, users) in USED_BY.items():
        if getattr(requested, name) not in (None, ()) and not set(users) & set(policies):
            raise UsageError(
                f"{option}: has no effect under {', '.join(policies)}; give --policy "
                f"{' or '.join(users)}, or drop {option}"
            )
    if requested.autogroup is not None and base.autogroup is None:
        raise UsageError(
            "--autogroup: this kernel does not group processes by session; drop --autogroup"
        )
    shared = requested.under_every_policy(base)
    return [
        replace(variant, machine=machine)
        for machine in requested.machines or [base.machine]
        for policy in policies
        for variant in _variants_of_policy(policy, requested, shared)
    ]


def _variants_of_policy(
    policy: str, requested: RequestedConditions, base: Conditions
) -> list[Conditions]:
    own: dict[str, Any] = {"policy": policy, "priority": 0, "nice": 0}
    if policy in REAL_TIME:
        inherited_priority = base.priority if policy == base.policy else PRIORITIES[0]
        own["priority"] = inherited_priority if requested.priority is None else requested.priority
    if policy in FAIR:
        own["nice"] = base.nice if requested.nice is None else requested.nice
    if policy == "deadline":
        own["deadline"] = requested.deadline
    slices: Sequence[int | None] = requested.slices_ns if policy in FAIR else ()
    return [replace(base, **own, slice_ns=slice_ns) for slice_ns in slices or [None]]


def default_deadline(threads: int) -> Deadline:
    """Returns equal shares of the time that the kernel admits for certain."""
    processors = len(os.sched_getaffinity(0))
    share = min(1.0, processors / threads) * DEADLINE_SHARE
    return Deadline(int(DEADLINE_PERIOD_NS * share), DEADLINE_PERIOD_NS, DEADLINE_PERIOD_NS)


def completed(of: Conditions, threads: int) -> Conditions:
    """Fills in the defaults for a cell with this number of threads."""
    if of.policy == "deadline" and of.deadline is None:
        return replace(of, deadline=default_deadline(threads))
    return of


def check(of: Conditions, pinning: Pinning) -> None:
    """Refuses contradictory conditions, and conditions that no kernel grants."""
    least, most = PRIORITIES
    if of.policy in REAL_TIME and not least <= of.priority <= most:
        raise UsageError(
            f"--priority {of.priority}: priorities of {of.policy} go from {least} to {most}"
        )
    _check_pinning(pinning)
    if of.policy == "deadline" and pinning != "none":
        raise UsageError(
            "--policy deadline with --pin: the kernel does not confine a deadline thread to some "
            "of the processors; drop one of the two"
        )
    if of.timer_slack_ns is not None and of.policy in (*REAL_TIME, "deadline"):
        raise UsageError(
            f"--timer-slack with --policy {of.policy}: the kernel gives such threads no slack; "
            "drop one of the two"
        )
    if of.quota_cpus is not None and any(name == "isolation" for name, _ in of.machine):
        raise UsageError(
            "--quota with --machine isolation=…: a run can join only one control group; drop one "
            "of the two"
        )
    if of.load > 0 and of.load_kind is None and of.policy in REAL_TIME:
        _check_load_beside_real_time(of)
    if of.quota_cpus is not None and of.policy not in (*FAIR, "idle"):
        raise UsageError(
            f"--quota with --policy {of.policy}: the quota of a control group limits only other, "
            "batch and idle; drop one of the two"
        )


def _check_pinning(pinning: Pinning) -> None:
    usable = os.sched_getaffinity(0)
    for cpu in () if isinstance(pinning, str) else pinning:
        if cpu not in usable:
            listed = ",".join(map(str, sorted(usable)))
            raise UsageError(
                f"--pin {cpu}: this process may not use a processor of that number, only {listed}; "
                "name one of those, or drop --pin"
            )


def _check_load_beside_real_time(of: Conditions) -> None:
    processors = len(os.sched_getaffinity(0))
    if of.load > processors:
        raise UsageError(
            f"--load {of.load} with --policy {of.policy}: more busy threads than the {processors} "
            "processors would run only in the time that the real-time throttle leaves, and so add "
            f"no load; ask for at most {processors}"
        )
