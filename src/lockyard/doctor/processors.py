# SPDX-License-Identifier: Apache-2.0
"""Checks of the processors: their frequency, their idle states and who else uses them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from lockyard.doctor.findings import Finding, Fine, Outcome, Severity, Unknown
from lockyard.machine import environment
from lockyard.machine.procfs import processors

if TYPE_CHECKING:
    from lockyard.doctor.facts import Facts

CPU = "/sys/devices/system/cpu"
GOVERNORS = f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor"
# Leaving a deeper state takes longer than the wake-ups that are measured.
IDLE_LATENCY_US = 20
STEAL_SINCE_START = 0.01
STEAL_NOW = 0.05
STEAL_NOW_TICKS = 2
VIRTUAL_REASON = "the host decides, and does not show it to this virtual machine"


def governor(facts: Facts) -> Outcome:
    found = {path: facts.kernel.read(path) for path in facts.kernel.glob(GOVERNORS)}
    if not found:
        virtual = environment.is_virtual(facts.kernel)
        return Unknown(VIRTUAL_REASON if virtual else "the kernel has no cpufreq driver")
    slow = {path.split("/")[5]: name for path, name in found.items() if name != "performance"}
    if not slow:
        return Fine(f"all {len(found)} processors have the governor performance")
    return Finding(
        Severity.DISTORTS,
        f"{len(slow)} of {len(found)} processors change their frequency with load "
        f"({', '.join(sorted(set(map(str, slow.values()))))})",
        "the first moments of a run are slower than the rest, so locks that park look slower",
        facts.write("performance", GOVERNORS),
        evidence={"governors": slow},
    )


def boost(facts: Facts) -> Outcome:
    for path, on, off in (
        (f"{CPU}/intel_pstate/no_turbo", "0", 1),
        (f"{CPU}/cpufreq/boost", "1", 0),
    ):
        value = facts.kernel.read(path)
        if value == on:
            return Finding(
                Severity.DISTORTS,
                "processors run above their rated frequency while few of them are busy",
                "figures depend on temperature and on the number of running threads, so thread "
                "counts cannot be compared",
                facts.write(off, path),
                evidence={path: value},
            )
        if value is not None:
            return Fine("boost is off")
    virtual = environment.is_virtual(facts.kernel)
    return Unknown(VIRTUAL_REASON if virtual else "the frequency driver has no boost switch")


def idle_states(facts: Facts) -> Outcome:
    kernel = facts.kernel
    deep = {}
    states = kernel.glob(f"{CPU}/cpu[0-9]*/cpuidle/state*")
    for path in states:
        latency_us = kernel.number(f"{path}/latency") or 0
        if kernel.read(f"{path}/disable") == "0" and latency_us > IDLE_LATENCY_US:
            deep[path.rsplit("state")[-1]] = latency_us
    if not states:
        virtual = environment.is_virtual(kernel)
        return Unknown(VIRTUAL_REASON if virtual else "the kernel has no cpuidle driver")
    if not deep:
        return Fine(f"processors wake up from idle within {IDLE_LATENCY_US} µs")
    bound_us = _latency_bound_us(facts)
    if bound_us is not None and bound_us <= IDLE_LATENCY_US:
        return Fine(f"another program keeps /dev/cpu_dma_latency at {bound_us} µs")
    numbers = "".join(sorted(deep))
    return Finding(
        Severity.DISTORTS,
        f"an idle processor may sleep so deeply that it takes {max(deep.values())} µs to wake up",
        "locks that park pay this at each wake-up, locks that spin do not",
        facts.write(1, f"{CPU}/cpu*/cpuidle/state[{numbers}]/disable"),
        "uses more power until undone with 'echo 0'",
        {"latency_us_of_state": deep, "cpu_dma_latency_us": bound_us},
    )


def _latency_bound_us(facts: Facts) -> int | None:
    """Returns the lowest latency that any program requests; reading it requests nothing."""
    try:
        data = facts.kernel.at("/dev/cpu_dma_latency").read_bytes()[:4]
    except OSError:
        return None
    return int(struct.unpack("i", data)[0]) if len(data) == 4 else None


def smt(facts: Facts) -> Outcome:
    lists = facts.kernel.glob(f"{CPU}/cpu[0-9]*/topology/thread_siblings_list")
    if not lists:
        return Unknown("the kernel does not report which processors share a core")
    cores = {tuple(processors(facts.kernel.read(path) or "")) for path in lists}
    shared = sorted(core for core in cores if len(core) > 1)
    if not shared:
        return Fine("each processor is a separate core")
    firsts = ",".join(str(core[0]) for core in sorted(cores))
    return Finding(
        Severity.NOTE,
        f"processors share cores: {' '.join('+'.join(map(str, core)) for core in shared)}",
        "a spinning thread slows down its sibling, and placement decides which thread has one",
        facts.write("off", f"{CPU}/smt/control"),
        f"or leave it on and measure with --pin {firsts}",
        {"siblings": shared},
    )


def virtualisation(facts: Facts) -> Outcome:
    if environment.cpuinfo(facts.kernel, "flags") is None:
        return Unknown("/proc/cpuinfo does not say whether there is a hypervisor")
    if not environment.is_virtual(facts.kernel):
        return Fine("no hypervisor")
    return Finding(
        Severity.NOTE,
        "this is a virtual machine",
        "the host may stop a processor at any moment, even while its thread holds a lock, and "
        "wakes idle processors later than hardware does",
        None,
        "figures hold for virtual machines; for others, measure on hardware",
        {"hypervisor": facts.kernel.read("/sys/hypervisor/type")},
    )


def container(facts: Facts) -> Outcome:
    markers = [path for path in ("/.dockerenv", "/run/.containerenv") if facts.kernel.exists(path)]
    if not markers:
        return Fine("no sign of a container")
    return Finding(
        Severity.NOTE,
        "this is a container",
        "processes and limits outside are invisible, and settings under /sys and /proc/sys are "
        "the host's",
        None,
        "run the commands for those settings on the host",
        {"markers": markers},
    )


def steal(facts: Facts) -> Outcome:
    """Checks the share of time that the hypervisor gave to others, for each processor."""
    now = facts.after.processors
    if not now:
        return Unknown("/proc/stat does not report it")
    since_start = {cpu: seen.steal / max(seen.all, 1) for cpu, seen in now.items()}
    sampled = {}
    for cpu, before in facts.before.processors.items():
        if cpu in now and now[cpu].steal - before.steal >= STEAL_NOW_TICKS:
            sampled[cpu] = (now[cpu].steal - before.steal) / (now[cpu].all - before.all)
    worst, worst_now = max(since_start.values()), max(sampled.values(), default=0.0)
    if worst <= STEAL_SINCE_START and worst_now <= STEAL_NOW:
        if worst == 0 and environment.is_virtual(facts.kernel):
            return Unknown("the hypervisor has never reported any steal; it may not report it")
        return Fine(f"the hypervisor took {worst:.1%} of a processor's time since the start")
    return Finding(
        Severity.DISTORTS,
        f"the hypervisor takes processors away: {worst:.1%} of the time since start, "
        f"{worst_now:.0%} just now",
        "a thread that holds a lock stands still for milliseconds, so maxima are the host's",
        None,
        "only the host can fix it: ask for dedicated processors, or measure when it is quiet",
        {
            "since_start": {str(cpu): round(share, 4) for cpu, share in since_start.items()},
            "now": {str(cpu): round(share, 4) for cpu, share in sampled.items()},
        },
    )
