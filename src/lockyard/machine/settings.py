# SPDX-License-Identifier: Apache-2.0
"""The settings of the whole machine that lockyard can change, and how each is changed.

A setting turns a value into changes of the kernel's files. It refuses, with the reason and the
remedy, what this machine does not permit; it never changes something else instead.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockyard.machine.change import Change, RefusedError
from lockyard.machine.journal import write
from lockyard.machine.procfs import bracketed, processors

if TYPE_CHECKING:
    from lockyard.machine.procfs import KernelFiles

CPU = "/sys/devices/system/cpu"
DEBUG = "/sys/kernel/debug/sched"
KERNEL = "/proc/sys/kernel"
LOCKDOWN = "/sys/kernel/security/lockdown"
TIMES_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
HELD = "/dev/cpu_dma_latency"


Plan = Callable[["KernelFiles", str], list[Change]]


@dataclass(frozen=True)
class Setting:
    values: str  # in words, for messages and help
    what: str
    plan: Plan


def missing(tree: KernelFiles, path: str, otherwise: str) -> RefusedError:
    """Explains why a file of the kernel's cannot be used."""
    if path.startswith("/sys/kernel/debug") and not tree.exists("/sys/kernel/debug/sched"):
        return RefusedError(
            "debugfs is not mounted; mount it with: mount -t debugfs none /sys/kernel/debug"
        )
    return RefusedError(otherwise)


def _one(tree: KernelFiles, path: str, after: str, otherwise: str) -> list[Change]:
    """Plans the change of one file. A file that shows its choices must have the wanted one."""
    if not tree.exists(path):
        raise missing(tree, path, otherwise)
    try:
        text = tree.at(path).read_text().strip()
    except OSError as error:
        raise RefusedError(f"{path} cannot be read ({error.strerror}{_lockdown(tree)})") from None
    before = bracketed(text) or text
    choices = [word.strip("[]()") for word in text.split()] if before != text else []
    if choices and after not in choices:
        raise RefusedError(f"this kernel has no '{after}' there: choose from {', '.join(choices)}")
    return [] if before == after else [Change(path, before, after)]


def _lockdown(tree: KernelFiles) -> str:
    mode = bracketed(tree.read(LOCKDOWN))
    return f", because the kernel is locked down ({mode})" if mode not in (None, "none") else ""


def _each(tree: KernelFiles, pattern: str, after: str, otherwise: str) -> list[Change]:
    paths = tree.glob(pattern)
    if not paths:
        raise RefusedError(otherwise)
    return [change for path in paths for change in _one(tree, path, after, otherwise)]


def choice(path: str, names: Mapping[str, str], otherwise: str) -> Plan:
    """Makes the plan of a setting whose values have names; `names` has the text of each."""

    def plan(tree: KernelFiles, value: str) -> list[Change]:
        if value not in names:
            raise RefusedError(f"'{value}' is not one of {', '.join(names)}")
        return _each(tree, path, names[value], otherwise)

    return plan


def time(paths: tuple[str, ...], otherwise: str) -> Plan:
    """Makes the plan of a time in nanoseconds; kernels differ in the place of the file."""

    def plan(tree: KernelFiles, value: str) -> list[Change]:
        path = next((each for each in paths if tree.exists(each)), paths[0])
        return _one(tree, path, str(nanoseconds(value)), otherwise)

    return plan


def nanoseconds(value: str) -> int:
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)(ns|us|ms|s)", value)
    if not match:
        raise RefusedError(f"'{value}' is not a time with its unit, as in 500us or 3ms")
    return round(float(match[1]) * TIMES_NS[match[2]])


def _boost(tree: KernelFiles, value: str) -> list[Change]:
    if value not in ("on", "off"):
        raise RefusedError(f"'{value}' is not one of on, off")
    reversed_, plain = f"{CPU}/intel_pstate/no_turbo", f"{CPU}/cpufreq/boost"
    if tree.exists(reversed_):
        return _one(tree, reversed_, "0" if value == "on" else "1", "")
    return _one(
        tree, plain, "1" if value == "on" else "0", "the frequency driver has no boost switch"
    )


def _governor(tree: KernelFiles, value: str) -> list[Change]:
    reason = "the kernel has no cpufreq driver (in a virtual machine the host decides)"
    offered = tree.read(f"{CPU}/cpu0/cpufreq/scaling_available_governors")
    if offered is not None and value not in offered.split():
        raise RefusedError(f"this machine has no governor '{value}', only {offered}")
    return _each(tree, f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor", value, reason)


def _features(tree: KernelFiles, value: str) -> list[Change]:
    """Takes names joined by +, such as NO_DELAY_DEQUEUE+NEXT_BUDDY."""
    path = f"{DEBUG}/features"
    found = tree.read(path)
    if found is None:
        return _one(tree, path, value, "this kernel shows no scheduler features")
    current = found.split()
    changes = []
    for name in value.split("+"):
        opposite = name.removeprefix("NO_") if name.startswith("NO_") else f"NO_{name}"
        if opposite in current:
            changes.append(Change(path, opposite, name))
        elif name not in current:
            raise RefusedError(f"this scheduler has no feature '{name}'")
    return changes


def _rt_throttle(tree: KernelFiles, value: str) -> list[Change]:
    """Takes off, or RUNTIME/PERIOD; the runtime must never exceed the period, even meanwhile."""
    runtime, period = f"{KERNEL}/sched_rt_runtime_us", f"{KERNEL}/sched_rt_period_us"
    reason = "this kernel does not limit real-time threads"
    if value == "off":
        return _one(tree, runtime, "-1", reason)
    first, _, second = value.partition("/")
    wanted_us = nanoseconds(first) // 1000
    period_us = nanoseconds(second) // 1000 if second else tree.number(period) or 1_000_000
    if not 0 < wanted_us <= period_us:
        raise RefusedError(f"'{value}' must be a runtime of at most the period, as in 100ms/500ms")
    changes = [
        *_one(tree, runtime, str(wanted_us), reason),
        *_one(tree, period, str(period_us), reason),
    ]
    if (tree.number(period) or 0) < wanted_us:
        changes.reverse()
    return changes


def _smt(tree: KernelFiles, value: str) -> list[Change]:
    state = tree.read(f"{CPU}/smt/control")
    if state in ("notsupported", "notimplemented", "forceoff", None):
        raise RefusedError(
            f"no processors of this machine share a core, or it does not say so ({state})"
        )
    return choice(f"{CPU}/smt/control", {"on": "on", "off": "off"}, "")(tree, value)


def _listed(tree: KernelFiles, value: str) -> list[int]:
    try:
        wanted = processors(value)
    except ValueError:
        raise RefusedError(f"'{value}' is not a list of processors, as in 0-2+5") from None
    online = processors(tree.read(f"{CPU}/online") or "0")
    if not wanted or not set(wanted) < set(online):
        raise RefusedError(
            f"'{value}' must name some of the processors {','.join(map(str, online))}, not all"
        )
    return wanted


def _irq_affinity(tree: KernelFiles, value: str) -> list[Change]:
    """Sends the interrupts to the named processors, except those that the kernel places itself."""
    wanted = _listed(tree, value.replace("+", ","))
    text = value.replace("+", ",")
    found = {path: tree.read(path) for path in tree.glob("/proc/irq/[0-9]*/smp_affinity_list")}
    movable = {path: at for path, at in found.items() if at and _is_movable(tree, path, at)}
    if found and not movable:
        raise RefusedError("the kernel places all interrupts of this machine itself")
    return [
        Change(path, before, text)
        for path, before in movable.items()
        if processors(before) != wanted
    ]


def _is_movable(tree: KernelFiles, path: str, before: str) -> bool:
    """Tells whether an interrupt may move; if not, the kernel refuses even its present value."""
    try:
        write(tree, path, before)
    except OSError as error:
        return error.errno not in (errno.EIO, errno.EPERM)
    return True


SETTINGS: Mapping[str, Setting] = {
    "idle_states": Setting(
        "on, off",
        "whether idle processors may sleep; off: they stay awake",
        choice(f"{CPU}/cpu[0-9]*/cpuidle/state[1-9]*/disable", {"on": "0", "off": "1"},
               "the kernel has no cpuidle driver (in a virtual machine the host decides)"),
    ),
    "governor": Setting(
        "performance, powersave, …", "how the frequency follows the load", _governor
    ),
    "boost": Setting("on, off", "frequencies above the rated one", _boost),
    "preemption": Setting(
        "none, voluntary, full, lazy",
        "when the kernel preempts itself",
        lambda tree, value: _one(
            tree, f"{DEBUG}/preempt", value,
            "the kernel's preemption mode is fixed (no CONFIG_PREEMPT_DYNAMIC)"),
    ),
    "base_slice": Setting(
        "a time",
        "the scheduler's slice for all threads",
        time((f"{DEBUG}/base_slice_ns", f"{DEBUG}/min_granularity_ns",
              f"{KERNEL}/sched_min_granularity_ns"), "this scheduler has no base slice"),
    ),
    "migration_cost": Setting(
        "a time",
        "how long a thread counts as cache-hot",
        time((f"{DEBUG}/migration_cost_ns", f"{KERNEL}/sched_migration_cost_ns"),
             "this scheduler has no migration cost"),
    ),
    "features": Setting("names joined by +", "features of the scheduler", _features),
    "rt_throttle": Setting(
        "off, RUNTIME/PERIOD", "the time that real-time threads may take", _rt_throttle
    ),
    "smt": Setting("on, off", "whether processors share cores", _smt),
    "irq_affinity": Setting(
        "processors, as 0-1+4", "the processors that serve interrupts", _irq_affinity
    ),
    "huge_pages": Setting(
        "always, madvise, never",
        "transparent huge pages",
        choice("/sys/kernel/mm/transparent_hugepage/enabled",
               {name: name for name in ("always", "madvise", "never")},
               "this kernel has no transparent huge pages"),
    ),
    "perf_paranoia": Setting(
        "-1 to 4", "the users that may record context switches",
        lambda tree, value: _one(
            tree, f"{KERNEL}/perf_event_paranoid", value, "this kernel has no perf events"),
    ),
}  # fmt: skip
# Kept as it was found; the control among other values.
AS_FOUND = "as_found"
# Made by the guardian itself rather than by writing to a file.
ISOLATION = "isolation"
NAMES = (*SETTINGS, ISOLATION)
# The problems of lockyard doctor that a setting solves, and its value.
FIXES = {
    "governor": ("governor", "performance"),
    "boost": ("boost", "off"),
    "idle_states": ("idle_states", "off"),
    "smt": ("smt", "off"),
    "realtime_throttle": ("rt_throttle", "950ms/1s"),
    "context_switches": ("perf_paranoia", "2"),
}


def planned(tree: KernelFiles, name: str, value: str) -> list[Change]:
    """Returns the changes that bring a setting about; none if it is in force. Raises
    RefusedError."""
    if value == AS_FOUND:
        return []
    try:
        changes = SETTINGS[name].plan(tree, value)
    except RefusedError as refusal:
        raise RefusedError(f"{name}={value}: {refusal}") from None
    return [replace(change, setting=name) for change in changes]
