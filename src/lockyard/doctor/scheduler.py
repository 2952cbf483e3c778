# SPDX-License-Identifier: Apache-2.0
"""Checks of the kernel's scheduler, and of the number of available processors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockyard.doctor.findings import Finding, Fine, Outcome, Severity, Unknown
from lockyard.machine.cgroup import groups, quotas_cpus
from lockyard.machine.procfs import processors

if TYPE_CHECKING:
    from lockyard.doctor.facts import Facts

KERNEL = "/proc/sys/kernel"
CPU = "/sys/devices/system/cpu"
POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline"}


def cpu_quota(facts: Facts) -> Outcome:
    """Finds the tightest quota of this process's control group and of all groups above it."""
    found = groups(facts.kernel, "cpu")
    if found is None:
        return Unknown("no control group hierarchy with the cpu controller is visible")
    quotas = quotas_cpus(found, facts.kernel)
    if not quotas:
        seen = "" if len(found.paths) == 1 else f" and {len(found.paths) - 1} above it"
        return Fine(f"no CPU quota in the control group {found.paths[0]}{seen}")
    path = min(quotas, key=quotas.__getitem__)
    remedy = facts.write("max", f"{path}/cpu.max")
    if found.version == 1:
        remedy = facts.write(-1, f"{path}/cpu.cfs_quota_us")
    return Finding(
        Severity.DISTORTS,
        f"the control group {path} may use only {quotas[path]:.2f} processors",
        "when the share is used up, all threads stop together until the next period, even a "
        "thread that holds a lock",
        remedy,
        "for a container: start it without a CPU limit instead",
        {"processors": quotas, "version": found.version},
    )


def usable_processors(facts: Facts) -> Outcome:
    online = processors(facts.kernel.read(f"{CPU}/online") or "")
    allowed = processors(facts.status("Cpus_allowed_list"))
    if not online or not allowed:
        return Unknown("the kernel does not report which processors this process may use")
    missing = sorted(set(online) - set(allowed))
    if not missing:
        return Fine(f"all {len(online)} processors may be used")
    cpuset = groups(facts.kernel, "cpuset")
    return Finding(
        Severity.LIMITS,
        f"only {len(allowed)} of {len(online)} processors may be used: a cpuset or taskset "
        "excludes the others",
        "more threads than that share processors, and processes on the others go unnoticed",
        f"taskset -pc {','.join(map(str, online))} $$",
        "in this shell; no effect if a cpuset excludes them: then start outside that cpuset",
        {"usable": allowed, "missing": missing, "cpuset": cpuset.paths[0] if cpuset else None},
    )


def isolated_processors(facts: Facts) -> Outcome:
    text = facts.kernel.read(f"{CPU}/isolated")
    if not facts.kernel.exists(f"{CPU}/isolated"):
        return Unknown("the kernel does not report it")
    if text is None:
        return Fine("no processor is isolated")
    return Finding(
        Severity.NOTE,
        f"processors {text} are isolated from the scheduler",
        "only pinned threads run there; all others crowd on the remaining processors",
        None,
        f"nothing to fix: --pin {','.join(map(str, processors(text)))} measures there",
        {"isolated": processors(text)},
    )


def started_policy(facts: Facts) -> Outcome:
    words = (facts.kernel.read("/proc/self/stat") or "").rpartition(")")[2].split()
    if len(words) < 39:
        return Unknown("/proc/self/stat does not report it")
    nice, policy = int(words[16]), POLICIES.get(int(words[38]), words[38])
    if policy == "other" and nice == 0:
        return Fine("started under the default policy with nice 0")
    commands = [facts.as_root("chrt -o -p 0 $$")] if policy != "other" else []
    commands += [facts.as_root("renice -n 0 -p $$")] if nice else []
    return Finding(
        Severity.DISTORTS,
        f"this shell runs under policy {policy} with nice {nice}",
        "measured threads inherit it, so the scheduler favours or neglects them",
        " && ".join(commands),
        "in this shell; or start from a fresh one",
        {"policy": policy, "nice": nice},
    )


def realtime_throttle(facts: Facts) -> Outcome:
    runtime_us = facts.kernel.number(f"{KERNEL}/sched_rt_runtime_us")
    period_us = facts.kernel.number(f"{KERNEL}/sched_rt_period_us")
    if runtime_us is None or period_us is None:
        return Unknown("the kernel does not report it")
    if 0 < runtime_us < period_us:
        return Fine(f"real-time threads leave {1 - runtime_us / period_us:.0%} to all others")
    cause = "the real-time throttle is off"
    consequence = (
        "real-time threads that spin on every processor would hang the machine, so lockyard "
        "refuses fifo and rr with as many threads as processors"
    )
    if runtime_us == 0:
        cause = "real-time threads get no time (sched_rt_runtime_us is 0)"
        consequence = "fifo, rr and deadline cannot be measured"
    return Finding(
        Severity.LIMITS,
        cause,
        consequence,
        facts.as_root(f"sysctl -w kernel.sched_rt_runtime_us={period_us * 95 // 100}"),
        evidence={"sched_rt_runtime_us": runtime_us, "sched_rt_period_us": period_us},
    )


def autogroup(facts: Facts) -> Outcome:
    if facts.kernel.read(f"{KERNEL}/sched_autogroup_enabled") != "1":
        return Fine("processes are not grouped by session")
    cpu_groups = groups(facts.kernel, "cpu")
    if cpu_groups is not None and len(cpu_groups.paths) > 1:
        return Fine("a control group replaces the groups by session")
    return Finding(
        Severity.NOTE,
        "the kernel divides processors between sessions first (autogroup)",
        "nice works only within a session: against processes of other terminals it has no effect",
        facts.as_root("sysctl -w kernel.sched_autogroup_enabled=0"),
        evidence={"sched_autogroup_enabled": 1},
    )


def preemption(facts: Facts) -> Outcome:
    """Reports the preemption mode. No mode is wrong, but comparing machines needs to know it."""
    mode = facts.described["system"]["preemption"]
    version = facts.described["system"]["kernel_version"]
    if "PREEMPT_RT" in version:
        return Fine("the kernel's preemption mode is rt")
    if mode is not None:
        return Fine(f"the kernel's preemption mode is {mode}")
    if "PREEMPT_DYNAMIC" in version:
        return Unknown(
            "the mode was chosen at start; to read it: "
            + facts.as_root("cat /sys/kernel/debug/sched/preempt")
            + " (with debugfs mounted)"
        )
    return Fine(f"the kernel's preemption mode is {'full' if 'PREEMPT' in version else 'none'}")
