# SPDX-License-Identifier: Apache-2.0
"""Checks of the permissions of this process."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockyard.doctor.findings import Finding, Fine, Outcome, Severity, Unknown
from lockyard.machine.cgroup import CgroupError, groups, parent_of_limited

if TYPE_CHECKING:
    from lockyard.doctor.facts import Facts

CAP_SYS_ADMIN, CAP_SYS_NICE, CAP_PERFMON = 21, 23, 38
TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
LIMITS_FILE = "/etc/security/limits.d/90-lockyard.conf"
# The highest value at which the kernel lets an unprivileged thread record itself.
CONTEXT_SWITCHES_PARANOID = 2


@dataclass(frozen=True)
class Priority:
    """What grants real-time priority or negative nice to a process that lacks CAP_SYS_NICE."""

    what: str
    item: str
    limits_line: str
    flag: str
    least: int


REALTIME = Priority("fifo and rr", "realtime", "rtprio 99", "-r", 1)
# The limit for nice n is 20 - n.
NICE = Priority("negative nice values", "nice", "nice -20", "-e", 21)


def realtime(facts: Facts) -> Outcome:
    if facts.fifo_refusal is None:
        highest = "99" if facts.has_capability(CAP_SYS_NICE) else _limit(facts, "realtime")[0]
        return Fine(f"fifo and rr are permitted, up to priority {highest}")
    budget = _realtime_budget(facts)
    if budget is not None and budget[1] == 0:
        path = f"{budget[0]}/cpu.rt_runtime_us"
        return Finding(
            Severity.LIMITS,
            f"the control group {budget[0]} has no real-time budget",
            "fifo and rr are refused there, even to root",
            facts.write(100_000, path),
            "its ancestors need as much; or start lockyard in the topmost group",
            {"cpu.rt_runtime_us": 0, "errno": facts.fifo_refusal},
        )
    return _not_permitted(facts, REALTIME, facts.fifo_refusal)


def negative_nice(facts: Facts) -> Outcome:
    if facts.nice_refusal is None:
        return Fine("negative nice values are permitted")
    return _not_permitted(facts, NICE, facts.nice_refusal)


def _not_permitted(facts: Facts, wanted: Priority, error: int) -> Finding:
    what = wanted.what
    soft, hard = _limit(facts, wanted.item)
    evidence = {
        "soft_limit": soft,
        "hard_limit": hard,
        "cap_sys_nice": facts.has_capability(CAP_SYS_NICE),
        "errno": error,
    }
    remedy = f'echo "$(id -un) - {wanted.limits_line}" | {facts.as_root(f"tee -a {LIMITS_FILE}")}'
    about = "then log in again; or run lockyard with sudo"
    if hard == "unlimited" or (hard.isdigit() and int(hard) >= wanted.least):
        remedy, about = f"ulimit -S {wanted.flag} {hard}", "in this shell"
    elif evidence["cap_sys_nice"]:
        return Finding(
            Severity.LIMITS,
            f"{what} are refused although this process has CAP_SYS_NICE",
            f"conditions with {what} cannot be measured",
            None,
            "a system call filter (seccomp) refuses them: start the container without it",
            evidence,
        )
    return Finding(
        Severity.LIMITS,
        f"{what} are not permitted: no CAP_SYS_NICE, and ulimit {wanted.flag} is {soft or '?'}",
        f"conditions with {what} cannot be measured",
        remedy,
        about,
        evidence,
    )


def _limit(facts: Facts, item: str) -> tuple[str, str]:
    """Returns the soft and the hard limit."""
    name = f"Max {item} priority"
    for line in (facts.kernel.read("/proc/self/limits") or "").splitlines():
        if line.startswith(name):
            soft, hard = line.removeprefix(name).split()[:2]
            return soft, hard
    return "", ""


def _realtime_budget(facts: Facts) -> tuple[str, int] | None:
    """Returns the group's real-time budget; only version 1 of control groups may have one."""
    found = groups(facts.kernel, "cpu")
    if found is None or found.version != 1:
        return None
    runtime_us = facts.kernel.number(f"{found.paths[0]}/cpu.rt_runtime_us")
    return None if runtime_us is None else (found.paths[0], runtime_us)


def membarrier(facts: Facts) -> Outcome:
    if facts.membarrier_refusal is None:
        return Fine("the kernel executes barriers on all cores for this process (membarrier)")
    missing = facts.membarrier_refusal == errno.ENOSYS
    return Finding(
        Severity.NOTE,
        f"membarrier is refused ({os.strerror(facts.membarrier_refusal)})",
        "the mutex stays correct but executes a fence in each unlock, so it costs as much as "
        "mutex[fence], and the two have the same figures",
        None,
        "Linux has it from 4.14 on, built with CONFIG_MEMBARRIER; emulators may lack it, and "
        "system call filters may hide it"
        if missing
        else "a system call filter (seccomp) refuses it: allow membarrier in the profile of the "
        "container or service (systemd: SystemCallFilter=membarrier)",
        {"errno": facts.membarrier_refusal},
    )


def context_switches(facts: Facts) -> Outcome:
    paranoid = facts.kernel.number("/proc/sys/kernel/perf_event_paranoid")
    if paranoid is None:
        return Unknown("the kernel has no perf events, or hides them")
    if facts.perf_refusal is None:
        return Fine("context switches of own threads may be recorded")
    consequence = (
        "context switches cannot be recorded, so explain knows how threads slept, yielded and were "
        "woken, but not when they lost their processor"
    )
    if paranoid > CONTEXT_SWITCHES_PARANOID and not _may_trace(facts):
        return Finding(
            Severity.LIMITS,
            f"kernel.perf_event_paranoid is {paranoid}",
            consequence,
            facts.as_root(f"sysctl -w kernel.perf_event_paranoid={CONTEXT_SWITCHES_PARANOID}"),
            evidence={"errno": facts.perf_refusal, "perf_event_paranoid": paranoid},
        )
    return Finding(
        Severity.LIMITS,
        f"perf_event_open is refused ({os.strerror(facts.perf_refusal)}), although "
        f"kernel.perf_event_paranoid is {paranoid}",
        consequence,
        None,
        "a filter of system calls (seccomp) or a security module refuses it: allow perf_event_open "
        "in the profile of the container or service (systemd: SystemCallFilter=perf_event_open)",
        {"errno": facts.perf_refusal, "perf_event_paranoid": paranoid},
    )


def tracepoints(facts: Facts) -> Outcome:
    if not _may_trace(facts):
        return Finding(
            Severity.LIMITS,
            "scheduler tracepoints need root or CAP_PERFMON",
            "the delay between a thread's wake-up and its first step cannot be attributed",
            'sudo -E "$(command -v lockyard)" doctor',
            "also run with sudo whatever is to be traced",
            {"cap_perfmon": False},
        )
    if any(facts.kernel.exists(f"{path}/events/sched/sched_switch/id") for path in TRACEFS):
        return Fine("scheduler tracepoints can be read")
    has_tracefs = "tracefs" in (facts.kernel.read("/proc/filesystems") or "").split()
    if has_tracefs and facts.has_capability(CAP_SYS_ADMIN):
        return Fine("scheduler tracepoints can be read: the harness mounts tracefs for itself")
    return Finding(
        Severity.LIMITS,
        "tracefs is not mounted" if has_tracefs else "the kernel was built without tracefs",
        "the delay between a thread's wake-up and its first step cannot be attributed",
        facts.as_root(f"mount -t tracefs tracefs {TRACEFS[0]}") if has_tracefs else None,
        "" if has_tracefs else "only another kernel has it",
        {"looked_in": TRACEFS},
    )


def _may_trace(facts: Facts) -> bool:
    return facts.has_capability(CAP_PERFMON) or facts.has_capability(CAP_SYS_ADMIN)


def quota_condition(facts: Facts) -> Outcome:
    """Checks whether a group with a CPU quota can be created below this process's group."""
    found = groups(facts.kernel, "cpu")
    if found is None:
        return Finding(
            Severity.LIMITS,
            "no control group hierarchy with the cpu controller is mounted",
            "a CPU quota cannot be a condition",
            None,
            "in a container, the host decides what is mounted",
        )
    try:
        place = parent_of_limited(found, facts.kernel)
    except CgroupError:
        place = found.paths[0]
        cause = f"no control group from {place} upwards may limit other groups' processor time"
    else:
        cause = f"the control group {place} is not writable"
        if facts.kernel.is_writable(f"{place}/cgroup.procs"):
            return Fine(f"a control group with a CPU quota can be created in {place}")
    remedy = "systemd-run --user --scope -p Delegate=cpu bash"
    return Finding(
        Severity.LIMITS,
        cause,
        "a CPU quota cannot be a condition",
        remedy if found.version == 2 else None,
        "starts a shell in its own group" if found.version == 2 else "run lockyard as root",
        {"group": place, "version": found.version},
    )
