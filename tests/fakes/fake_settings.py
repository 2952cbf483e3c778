# SPDX-License-Identifier: Apache-2.0
"""A machine in files, with the settings that measurements change."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from lockyard.machine.journal import BOOT, Journal
from lockyard.machine.procfs import KernelFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CPU = "/sys/devices/system/cpu"
DEBUG = "/sys/kernel/debug/sched"
KERNEL = "/proc/sys/kernel"
PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
FILES = {
    BOOT: "this",
    f"{CPU}/online": "0-3",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave",
    f"{CPU}/cpu0/cpufreq/scaling_available_governors": "performance powersave",
    f"{CPU}/cpu1/cpufreq/scaling_governor": "performance",
    f"{CPU}/cpu0/cpuidle/state0/disable": "0",
    f"{CPU}/cpu0/cpuidle/state1/disable": "0",
    f"{CPU}/cpu1/cpuidle/state1/disable": "0",
    f"{CPU}/intel_pstate/no_turbo": "0",
    f"{CPU}/smt/control": "on",
    f"{DEBUG}/preempt": "none voluntary (full) lazy",
    f"{DEBUG}/base_slice_ns": "1400000",
    f"{DEBUG}/migration_cost_ns": "500000",
    f"{DEBUG}/features": "PLACE_LAG NO_RUN_TO_PARITY NEXT_BUDDY",
    f"{KERNEL}/sched_rt_runtime_us": "950000",
    f"{KERNEL}/sched_rt_period_us": "1000000",
    f"{KERNEL}/perf_event_paranoid": "4",
    "/proc/irq/24/smp_affinity_list": "0-3",
    "/proc/irq/25/smp_affinity_list": "1",
    PAGES: "always [madvise] never",
}


@pytest.fixture
def tree(tmp_path: Path) -> KernelFiles:
    for path, text in FILES.items():
        file = tmp_path / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    return KernelFiles(tmp_path)


@pytest.fixture
def kept(tree: KernelFiles) -> Iterator[Journal]:
    """The journal of the changes of that machine."""
    with contextlib.closing(Journal(tree, "1.jsonl")) as opened:
        yield opened
