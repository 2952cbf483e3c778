# SPDX-License-Identifier: Apache-2.0
"""The environment of a measurement, written as the first record of every file."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from lockyard.harness import ask
from lockyard.machine.cgroup import CONTROLLER, groups, quotas_cpus
from lockyard.machine.procfs import KernelFiles, bracketed
from lockyard.measure.cell import SCHEMA

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
    kernel = KernelFiles()
    lasting = {**describe(kernel), "harness": ask("--environment")}
    clock = lasting["harness"].pop("clock")
    canonical = json.dumps(lasting, sort_keys=True).encode()
    return {
        "schema": SCHEMA,
        "record": "environment",
        "environment": hashlib.sha256(canonical).hexdigest()[:16],
        "started_unix_s": round(time.time(), 3),
        "clock": clock,
        "load_average": list(os.getloadavg()),
        "steal_ticks": _steal_ticks(kernel),
        **lasting,
    }


def describe(kernel: KernelFiles) -> dict[str, Any]:
    """Describes what is permanent and needs no harness."""
    return {
        "system": _system(kernel),
        "cpu": _cpu(kernel),
        "scheduler": {Path(path).name: kernel.read(path) for path in SCHEDULER_TUNABLES},
        "limits": _limits(kernel),
    }


def _system(kernel: KernelFiles) -> dict[str, Any]:
    clocks = "/sys/devices/system/clocksource/clocksource0"
    return {
        "kernel": platform.release(),
        "kernel_version": platform.version(),
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "preemption": bracketed(kernel.read("/sys/kernel/debug/sched/preempt")),
        "clocksource": kernel.read(f"{clocks}/current_clocksource"),
        "hypervisor": kernel.read("/sys/hypervisor/type")
        or ("yes" if is_virtual(kernel) else "no"),
        "transparent_hugepages": bracketed(
            kernel.read("/sys/kernel/mm/transparent_hugepage/enabled")
        ),
        "aslr": kernel.read("/proc/sys/kernel/randomize_va_space"),
    }


def _cpu(kernel: KernelFiles) -> dict[str, Any]:
    cpu = "/sys/devices/system/cpu"
    return {
        "model": cpuinfo(kernel, "model name") or cpuinfo(kernel, "CPU part"),
        "governor": kernel.read(f"{cpu}/cpu0/cpufreq/scaling_governor"),
        "boost": kernel.read(f"{cpu}/cpufreq/boost"),
        "smt": kernel.read(f"{cpu}/smt/active"),
        "isolated": kernel.read(f"{cpu}/isolated"),
        "mitigations": {
            Path(path).name: kernel.read(path) for path in kernel.glob(f"{cpu}/vulnerabilities/*")
        },
    }


def _limits(kernel: KernelFiles) -> dict[str, Any]:
    return {
        "cgroup_quota_cpus": _quota_cpus(kernel),
        "processors_usable": len(os.sched_getaffinity(0)),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
    }


def cpuinfo(kernel: KernelFiles, key: str) -> str | None:
    for line in (kernel.read("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def is_virtual(kernel: KernelFiles) -> bool:
    return "hypervisor" in (cpuinfo(kernel, "flags") or "").split()


def _steal_ticks(kernel: KernelFiles) -> int | None:
    fields = (kernel.read("/proc/stat") or "").splitlines()[:1]
    columns = fields[0].split() if fields else []
    return int(columns[8]) if len(columns) > 8 else None


def _quota_cpus(kernel: KernelFiles) -> float | None:
    """Returns the tightest quota of all groups that this process is in."""
    where = groups(kernel, CONTROLLER)
    return min(quotas_cpus(where, kernel).values(), default=None) if where else None
