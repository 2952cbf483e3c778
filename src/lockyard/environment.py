# SPDX-License-Identifier: Apache-2.0
"""The circumstances of a measurement, as the first record of every file."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from lockyard.harness import ask
from lockyard.plan import SCHEMA

SCHEDULER_TUNABLES = (
    "/sys/kernel/debug/sched/base_slice_ns",
    "/sys/kernel/debug/sched/migration_cost_ns",
    "/sys/kernel/debug/sched/features",
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_rt_period_us",
)


def collect() -> dict[str, Any]:
    """Reads only; what cannot be read is null. The hash leaves out what changes by the second."""
    lasting: dict[str, Any] = {
        "system": _system(),
        "cpu": _cpu(),
        "scheduler": {Path(path).name: _read(path) for path in SCHEDULER_TUNABLES},
        "limits": _limits(),
        "harness": ask("--environment"),
    }
    clock = lasting["harness"].pop("clock")
    canonical = json.dumps(lasting, sort_keys=True).encode()
    return {
        "schema": SCHEMA,
        "record": "environment",
        "environment": hashlib.sha256(canonical).hexdigest()[:16],
        "started_unix_s": round(time.time(), 3),
        "clock": clock,
        "load_average": list(os.getloadavg()),
        "steal_ticks": _steal_ticks(),
        **lasting,
    }


def _system() -> dict[str, Any]:
    clocks = "/sys/devices/system/clocksource/clocksource0"
    return {
        "kernel": platform.release(),
        "kernel_version": platform.version(),
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "preemption": _bracketed(_read("/sys/kernel/debug/sched/preempt")),
        "clocksource": _read(f"{clocks}/current_clocksource"),
        "hypervisor": _read("/sys/hypervisor/type") or ("yes" if _is_virtual() else "no"),
        "transparent_hugepages": _bracketed(_read("/sys/kernel/mm/transparent_hugepage/enabled")),
        "aslr": _read("/proc/sys/kernel/randomize_va_space"),
    }


def _cpu() -> dict[str, Any]:
    cpu = "/sys/devices/system/cpu"
    return {
        "model": _cpuinfo("model name") or _cpuinfo("CPU part"),
        "governor": _read(f"{cpu}/cpu0/cpufreq/scaling_governor"),
        "boost": _read(f"{cpu}/cpufreq/boost"),
        "smt": _read(f"{cpu}/smt/active"),
        "isolated": _read(f"{cpu}/isolated"),
        "mitigations": {
            path.name: _read(str(path)) for path in sorted(Path(cpu, "vulnerabilities").glob("*"))
        },
    }


def _limits() -> dict[str, Any]:
    return {
        "cgroup_cpu_max": _read(f"/sys/fs/cgroup{_cgroup()}/cpu.max"),
        "processors_usable": len(os.sched_getaffinity(0)),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
    }


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def _bracketed(choices: str | None) -> str | None:
    """The one in brackets or parentheses of a list like 'never [madvise] always'."""
    for word in (choices or "").split():
        if word[0] in "[(":
            return word.strip("[]()")
    return choices


def _cpuinfo(key: str) -> str | None:
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def _is_virtual() -> bool:
    return "hypervisor" in (_cpuinfo("flags") or "").split()


def _steal_ticks() -> int | None:
    fields = (_read("/proc/stat") or "").splitlines()[:1]
    columns = fields[0].split() if fields else []
    return int(columns[8]) if len(columns) > 8 else None


def _cgroup() -> str:
    for line in (_read("/proc/self/cgroup") or "").splitlines():
        if line.startswith("0::"):
            return line[3:].rstrip("/")
    return ""
