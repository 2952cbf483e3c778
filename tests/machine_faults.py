# SPDX-License-Identifier: Apache-2.0
"""Faults of a fake machine, and the finding of lockyard doctor for each."""

from __future__ import annotations

import dataclasses
from typing import Any

from fake_machine import (
    AFTER,
    CLOCK,
    CPU,
    GROUP,
    HARNESS,
    LIMITS,
    MOUNT_V1,
    ONLY_PERFMON_STATUS,
    OWN_STAT,
    USER_LIMITS,
    USER_STATUS,
)

from lockyard.doctor.sample import Process, Processor

KERNEL = "/proc/sys/kernel"
SOURCE = "/sys/devices/system/clocksource/clocksource0"
V1 = "/sys/fs/cgroup/cpu"
VIRTUAL: dict[str, str | None] = {
    "/proc/cpuinfo": "flags\t\t: constant_tsc nonstop_tsc hypervisor\n"
}
IN_V1: dict[str, str | None] = {
    "/proc/self/mountinfo": MOUNT_V1,
    "/proc/self/cgroup": "1:cpu:/jobs\n0::/\n",
    f"{V1}/jobs/cgroup.procs": "",
}
EPERM, EACCES, ENOSYS = 1, 13, 38


def with_clock(**changes: Any) -> dict[str, Any]:
    return {"harness": {**HARNESS, "clock": {**CLOCK, **changes}}}


def after(**changes: Any) -> dict[str, Any]:
    return {"after": dataclasses.replace(AFTER, **changes)}


# check, files, other facts, severity, a part of its remedy, or of the reason why it has none
FAULTS: list[tuple[str, dict[str, str | None], dict[str, Any], str, str]] = [
    ("harness", {}, {"harness": None, "harness_problem": "GLIBC_2.99"}, "limits", "newer system"),
    (
        "governor",
        {f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave"},
        {},
        "distorts",
        f"echo performance | tee {CPU}/cpu[0-9]*/cpufreq/scaling_governor",
    ),
    ("boost", {f"{CPU}/cpufreq/boost": "1"}, {}, "distorts", f"echo 0 | tee {CPU}/cpufreq/boost"),
    ("boost", {f"{CPU}/intel_pstate/no_turbo": "0"}, {}, "distorts", "echo 1 | tee"),
    (
        "idle_states",
        {f"{CPU}/cpu0/cpuidle/state3/latency": "133", f"{CPU}/cpu0/cpuidle/state3/disable": "0"},
        {},
        "distorts",
        f"echo 1 | tee {CPU}/cpu*/cpuidle/state[3]/disable",
    ),
    ("smt", {f"{CPU}/cpu1/topology/thread_siblings_list": "0-1"}, {}, "note", "smt/control"),
    ("container", {"/.dockerenv": ""}, {}, "note", "on the host"),
    (
        "steal",
        {},
        after(processors={0: Processor(101, 500, 10_020), 1: Processor(100, 0, 10_020)}),
        "distorts",
        "dedicated processors",
    ),
    (
        "steal",
        {},
        after(processors={0: Processor(101, 3, 10_020), 1: Processor(100, 0, 10_020)}),
        "distorts",
        "dedicated processors",
    ),
    ("clock_source", {f"{SOURCE}/current_clocksource": "hpet"}, {}, "distorts", "echo tsc | tee"),
    (
        "clock_source",
        {f"{SOURCE}/current_clocksource": "hpet", f"{SOURCE}/available_clocksource": "hpet"},
        {},
        "distorts",
        "dmesg",
    ),
    ("tsc", {}, with_clock(tsc_invariant=False), "distorts", "invtsc"),
    ("tsc", {}, with_clock(source="monotonic_raw"), "distorts", "invtsc"),
    (
        "tsc",
        {},
        with_clock(source="monotonic_raw", tsc_refused="not_compared", skew_pairs=0),
        "distorts",
        "end other programs",
    ),
    (
        "tsc",
        {},
        with_clock(source="monotonic_raw", tsc_refused="apart", skew_pairs_apart=1),
        "distorts",
        "clock_skew",
    ),
    ("clock_skew", {}, with_clock(skew_pairs_apart=1, skew_ns=900.0), "distorts", "--pin"),
    ("timer_slack", {"/proc/self/timerslack_ns": "60000"}, {}, "distorts", "echo 0 >/proc/$$"),
    ("timer_slack", {"/proc/self/timerslack_ns": "1"}, {}, "note", "echo 0 >/proc/$$"),
    ("cpu_quota", {f"{GROUP}/cpu.max": "150000 100000"}, {}, "distorts", f"tee {GROUP}/cpu.max"),
    (
        "cpu_quota",
        {"/sys/fs/cgroup/user.slice/cpu.max": "50000 100000"},
        {},
        "distorts",
        "echo max | tee /sys/fs/cgroup/user.slice/cpu.max",
    ),
    (
        "cpu_quota",
        {**IN_V1, f"{V1}/cpu.cfs_quota_us": "50000", f"{V1}/jobs/cpu.cfs_quota_us": "-1"},
        {},
        "distorts",
        f"echo -1 | tee {V1}/cpu.cfs_quota_us",
    ),
    ("usable_processors", {f"{CPU}/online": "0-3"}, {}, "limits", "taskset -pc 0,1,2,3 $$"),
    ("isolated_processors", {f"{CPU}/isolated": "1"}, {}, "note", "--pin 1"),
    ("started_policy", {"/proc/self/stat": OWN_STAT.format(nice=5)}, {}, "distorts", "renice -n 0"),
    (
        "started_policy",
        {"/proc/self/stat": f"{OWN_STAT.format(nice=0)[:-1]}3"},
        {},
        "distorts",
        "chrt -o -p 0 $$",
    ),
    (
        "realtime_throttle",
        {f"{KERNEL}/sched_rt_runtime_us": "-1"},
        {},
        "limits",
        "sysctl -w kernel.sched_rt_runtime_us=950000",
    ),
    ("realtime_throttle", {f"{KERNEL}/sched_rt_runtime_us": "0"}, {}, "limits", "950000"),
    (
        "autogroup",
        {f"{KERNEL}/sched_autogroup_enabled": "1", "/proc/self/cgroup": "0::/\n"},
        {},
        "note",
        "sched_autogroup_enabled=0",
    ),
    (
        "realtime",
        {**IN_V1, f"{V1}/jobs/cpu.rt_runtime_us": "0"},
        {"fifo_refusal": EPERM},
        "limits",
        f"echo 100000 | tee {V1}/jobs/cpu.rt_runtime_us",
    ),
    ("realtime", {}, {"fifo_refusal": EPERM}, "limits", "seccomp"),
    (
        "realtime",
        {"/proc/self/uid_map": "0 1000 1"},
        {"fifo_refusal": EPERM},
        "limits",
        'echo "$(id -un) - rtprio 99" | tee -a /etc/security/limits.d/90-lockyard.conf',
    ),
    (
        "realtime",
        {
            "/proc/self/status": USER_STATUS,
            "/proc/self/limits": LIMITS.format(nice=0, soft=0, hard=80),
        },
        {"fifo_refusal": EPERM},
        "limits",
        "ulimit -S -r 80",
    ),
    (
        "negative_nice",
        {"/proc/self/status": USER_STATUS, "/proc/self/limits": USER_LIMITS},
        {"nice_refusal": EPERM},
        "limits",
        'echo "$(id -un) - nice -20" | sudo tee -a',
    ),
    ("membarrier", {}, {"membarrier_refusal": EPERM}, "note", "SystemCallFilter=membarrier"),
    ("membarrier", {}, {"membarrier_refusal": ENOSYS}, "note", "4.14"),
    (
        "context_switches",
        {f"{KERNEL}/perf_event_paranoid": "3", "/proc/self/status": USER_STATUS},
        {"perf_refusal": EACCES},
        "limits",
        "sudo sysctl -w kernel.perf_event_paranoid=2",
    ),
    (
        "context_switches",
        {f"{KERNEL}/perf_event_paranoid": "2", "/proc/self/status": USER_STATUS},
        {"perf_refusal": EPERM},
        "limits",
        "SystemCallFilter=perf_event_open",
    ),
    ("tracepoints", {"/proc/self/status": USER_STATUS}, {}, "limits", "sudo"),
    (
        "tracepoints",
        {
            "/sys/kernel/tracing/events/sched/sched_switch/id": None,
            "/proc/self/status": ONLY_PERFMON_STATUS,
        },
        {},
        "limits",
        "sudo mount -t tracefs tracefs /sys/kernel/tracing",
    ),
    (
        "quota_condition",
        {"/sys/fs/cgroup/user.slice/cgroup.procs": None},
        {},
        "limits",
        "systemd-run",
    ),
    (
        "quota_condition",
        {"/sys/fs/cgroup/user.slice/cgroup.subtree_control": "memory"},
        {},
        "limits",
        "systemd-run",
    ),
    (
        "busy_neighbours",
        {},
        after(processes={**AFTER.processes, 60: Process("editor", 1, 800, 20)}),
        "distorts",
        "kill -STOP",
    ),
    (
        "busy_neighbours",
        {},
        after(processors={0: Processor(111, 0, 10_020), 1: Processor(100, 0, 10_020)}),
        "distorts",
        "invisible",
    ),
    ("load_average", {"/proc/loadavg": "1.50 1 1 1/9 9\n"}, {}, "note", "two quiet minutes"),
    ("memory", {"/proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 9 kB\n"}, {}, "distorts", "ps"),
    ("memory", {}, after(swapped_pages=6), "distorts", "ps"),
    (
        "own_locks",
        {},
        {"user_locks_compiler": "", "user_locks_problem": "the compiler g++ is not installed"},
        "limits",
        "apt-get install -y g++ nlohmann-json3-dev",
    ),
    ("compiler", {}, {"tools": {"g++": "11.4.0"}}, "note", "apt-get install -y g++"),
    ("cmake", {}, {"tools": {"cmake": "3.22.1"}}, "note", "apt-get install -y cmake"),
    ("pkg_config", {}, {"tools": {}}, "note", "apt-get install -y pkg-config"),
    ("virtualisation", VIRTUAL, {}, "note", "hardware"),
]
