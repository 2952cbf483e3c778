# SPDX-License-Identifier: Apache-2.0
"""The environment of a measurement, written as the first record of every file."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from pathlib import Path
from typing import Any, cast

import msgspec

from lockyard.harness import ask
from lockyard.machine.cgroup import CONTROLLER, groups, quotas_cpus
from lockyard.machine.procfs import KernelFiles, bracketed
from lockyard.machine.tick import tick_hz, tickless
from lockyard.records.types import SCHEMA, ClockFacts, Environment, HarnessFacts

SCHEDULER_TUNABLES = (
    "/sys/kernel/debug/sched/base_slice_ns",
    "/sys/kernel/debug/sched/migration_cost_ns",
    "/sys/kernel/debug/sched/features",
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_rt_period_us",
)


def collect() -> dict[str, Any]:
    """Reads the environment; unreadable values are None. The hash omits what changes quickly."""
    tree = KernelFiles()
    lasting = {**describe(tree), "harness": ask("--environment")}
    clock = lasting["harness"].pop("clock")
    canonical = json.dumps(lasting, sort_keys=True).encode()
    found = Environment(
        schema=SCHEMA,
        environment=hashlib.sha256(canonical).hexdigest()[:16],
        started_unix_s=round(time.time(), 3),
        clock=msgspec.convert(clock, ClockFacts),
        load_average=list(os.getloadavg()),
        steal_ticks=_steal_ticks(tree),
        **{**lasting, "harness": msgspec.convert(lasting["harness"], HarnessFacts)},
    )
    return cast("dict[str, Any]", msgspec.to_builtins(found))


def describe(tree: KernelFiles) -> dict[str, Any]:
    """Describes what is permanent and needs no harness."""
    return {
        "system": _system(tree),
        "cpu": _cpu(tree),
        "scheduler": {Path(path).name: tree.read(path) for path in SCHEDULER_TUNABLES},
        "limits": _limits(tree),
    }


def _system(tree: KernelFiles) -> dict[str, Any]:
    clocks = "/sys/devices/system/clocksource/clocksource0"
    return {
        "kernel": platform.release(),
        "kernel_version": platform.version(),
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "tick_hz": tick_hz(tree),
        "tickless": tickless(tree),
        "preemption": bracketed(tree.read("/sys/kernel/debug/sched/preempt")),
        "clocksource": tree.read(f"{clocks}/current_clocksource"),
        "hypervisor": tree.read("/sys/hypervisor/type") or ("yes" if is_virtual(tree) else "no"),
        "transparent_hugepages": bracketed(
            tree.read("/sys/kernel/mm/transparent_hugepage/enabled")
        ),
        "aslr": tree.read("/proc/sys/kernel/randomize_va_space"),
    }


def _cpu(tree: KernelFiles) -> dict[str, Any]:
    cpu = "/sys/devices/system/cpu"
    return {
        "model": cpuinfo(tree, "model name") or cpuinfo(tree, "CPU part"),
        "governor": tree.read(f"{cpu}/cpu0/cpufreq/scaling_governor"),
        "boost": tree.read(f"{cpu}/cpufreq/boost"),
        "smt": tree.read(f"{cpu}/smt/active"),
        "isolated": tree.read(f"{cpu}/isolated"),
        "mitigations": {
            Path(path).name: tree.read(path) for path in tree.glob(f"{cpu}/vulnerabilities/*")
        },
    }


def _limits(tree: KernelFiles) -> dict[str, Any]:
    return {
        "cgroup_quota_cpus": _quota_cpus(tree),
        "processors_usable": len(os.sched_getaffinity(0)),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
    }


def cpuinfo(tree: KernelFiles, key: str) -> str | None:
    for line in (tree.read("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def is_virtual(tree: KernelFiles) -> bool:
    return "hypervisor" in (cpuinfo(tree, "flags") or "").split()


def _steal_ticks(tree: KernelFiles) -> int | None:
    fields = (tree.read("/proc/stat") or "").splitlines()[:1]
    columns = fields[0].split() if fields else []
    return int(columns[8]) if len(columns) > 8 else None


def _quota_cpus(tree: KernelFiles) -> float | None:
    """Returns the tightest quota of all groups that this process is in."""
    where = groups(tree, CONTROLLER)
    return min(quotas_cpus(where, tree).values(), default=None) if where else None
