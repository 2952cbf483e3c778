# SPDX-License-Identifier: Apache-2.0
"""A machine in files, on which every check of lockyard doctor is fine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockyard.doctor.facts import Facts
from lockyard.doctor.sample import Process, Processor, Sample
from lockyard.machine.procfs import KernelFiles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CPU = "/sys/devices/system/cpu"
GROUP = "/sys/fs/cgroup/user.slice/session"
MOUNT_V1 = "30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
MOUNT_V2 = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
OWN_STAT = "50 (lockyard) R 40 50 50 0 -1 0 0 0 0 0 7 3 0 0 20 {nice} 1 0 900" + " 0" * 19
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max nice priority         {nice}                    {nice}                    \n"
    "Max realtime priority     {soft}                    {hard}                    \n"
)
STATUS = (
    "Name:\tlockyard\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nCapEff:\t{caps}\nCpus_allowed_list:\t0-1\n"
)

ROOT_STATUS = STATUS.format(uid=0, caps="000001ffffffffff")
USER_STATUS = STATUS.format(uid=1000, caps="0000000000000000")
ONLY_PERFMON_STATUS = STATUS.format(uid=1000, caps=f"{1 << 38:016x}")
USER_LIMITS = LIMITS.format(nice=0, soft=0, hard=0)

FILES = {
    "/proc/cpuinfo": "flags\t\t: fpu tsc constant_tsc nonstop_tsc\n",
    "/proc/filesystems": "nodev\ttracefs\n",
    "/proc/loadavg": "0.10 0.20 0.30 1/100 500\n",
    "/proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 900 kB\n",
    "/proc/self/cgroup": "0::/user.slice/session\n",
    "/proc/self/limits": LIMITS.format(nice=0, soft=0, hard=0),
    "/proc/self/mountinfo": MOUNT_V2,
    "/proc/self/stat": OWN_STAT.format(nice=0),
    "/proc/self/status": ROOT_STATUS,
    "/proc/self/timerslack_ns": "50000",
    "/proc/self/uid_map": "         0          0 4294967295\n",
    "/proc/sys/kernel/perf_event_paranoid": "2",
    "/proc/sys/kernel/sched_autogroup_enabled": "0",
    "/proc/sys/kernel/sched_rt_period_us": "1000000",
    "/proc/sys/kernel/sched_rt_runtime_us": "950000",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu memory",
    "/sys/fs/cgroup/user.slice/cpu.max": "max 100000",
    "/sys/fs/cgroup/user.slice/cgroup.subtree_control": "cpu memory",
    "/sys/fs/cgroup/user.slice/cgroup.procs": "",
    "/sys/kernel/tracing/events/sched/sched_switch/id": "316",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "performance",
    f"{CPU}/cpu0/cpuidle/state1/disable": "0",
    f"{CPU}/cpu0/cpuidle/state1/latency": "2",
    f"{CPU}/cpu0/topology/thread_siblings_list": "0",
    f"{CPU}/cpu1/cpufreq/scaling_governor": "performance",
    f"{CPU}/cpu1/topology/thread_siblings_list": "1",
    f"{CPU}/cpufreq/boost": "0",
    f"{CPU}/isolated": "\n",
    f"{CPU}/online": "0-1",
    f"{GROUP}/cpu.max": "max 100000",
}

CLOCK = {
    "source": "tsc",
    "tsc_invariant": True,
    "skew_ns": 2.0,
    "skew_uncertainty_ns": 100.0,
    "skew_pairs": 1,
    "skew_pairs_apart": 0,
    "skew_pairs_wanted": 1,
}
HARNESS = {"compiler": "GNU 12.2.0", "compiler_flags": "", "clock": CLOCK}

BEFORE = Sample(
    at_s=10.0,
    own_pid=50,
    processors={0: Processor(100, 0, 10_000), 1: Processor(100, 0, 10_000)},
    processes={50: Process("lockyard", 40, 900, 10), 60: Process("editor", 1, 800, 10)},
    swapped_pages=5,
)
AFTER = Sample(
    at_s=10.2,
    own_pid=50,
    processors={0: Processor(101, 0, 10_020), 1: Processor(100, 0, 10_020)},
    processes={50: Process("lockyard", 40, 900, 11), 60: Process("editor", 1, 800, 10)},
    swapped_pages=5,
)


def machine(root: Path, files: Mapping[str, str | None] | None = None, **facts: Any) -> Facts:
    """The healthy machine with files added, changed or (null) taken away, and other facts."""
    for path, text in {**FILES, **(files or {})}.items():
        if text is not None:
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    healthy: dict[str, Any] = {
        "kernel": KernelFiles(root),
        "described": {"system": {"preemption": "full", "kernel_version": "#1 SMP"}},
        "harness": HARNESS,
        "tools": {"g++": "12.2.0", "cmake": "3.25.1", "pkg-config": "1.8.1"},
        "user_locks_compiler": "g++ 12.2.0",
        "before": BEFORE,
        "after": AFTER,
    }
    return Facts(**{**healthy, **facts})
