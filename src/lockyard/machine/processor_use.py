# SPDX-License-Identifier: Apache-2.0
"""What the processors did during a run: their frequency, their idle states, and throttling."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lockyard.machine.procfs import KernelFiles

CPU = "/sys/devices/system/cpu"


@dataclass(frozen=True)
class ProcessorUse:
    """One reading. Sums are over all processors; empty where the machine does not show them."""

    at_s: float
    processors: int
    idle_us: Mapping[str, int] = field(default_factory=dict)  # by the state's name
    frequencies_khz: tuple[int, ...] = ()
    throttled: int | None = None


def processor_use(tree: KernelFiles) -> ProcessorUse:
    idle_us: dict[str, int] = {}
    for state in tree.glob(f"{CPU}/cpu[0-9]*/cpuidle/state[0-9]*"):
        name = tree.read(f"{state}/name") or state.rpartition("/")[2]
        idle_us[name] = idle_us.get(name, 0) + (_number(tree, f"{state}/time") or 0)
    counts = [
        _number(tree, path)
        for path in tree.glob(f"{CPU}/cpu[0-9]*/thermal_throttle/core_throttle_count")
    ]
    known = [count for count in counts if count is not None]
    frequencies = (
        _number(tree, path) for path in tree.glob(f"{CPU}/cpu[0-9]*/cpufreq/scaling_cur_freq")
    )
    return ProcessorUse(
        at_s=time.monotonic(),
        processors=len(tree.glob(f"{CPU}/cpu[0-9]*/topology")),
        idle_us=idle_us,
        frequencies_khz=tuple(each for each in frequencies if each),
        throttled=sum(known) if known else None,
    )


def used_between(before: ProcessorUse, after: ProcessorUse) -> dict[str, Any]:
    """Returns what a record holds: shares of the time of all processors, and the frequencies at the
    end, when the processors still run at the speed of the run."""
    whole_us = (after.at_s - before.at_s) * 1e6 * max(after.processors, 1)
    khz = after.frequencies_khz
    return {
        "idle_share": {
            name: round(min(max((now_us - before.idle_us.get(name, 0)) / whole_us, 0.0), 1.0), 4)
            for name, now_us in after.idle_us.items()
            if whole_us > 0
        },
        "frequency_least_khz": min(khz, default=None),
        "frequency_most_khz": max(khz, default=None),
        "throttled": None
        if before.throttled is None or after.throttled is None
        else after.throttled - before.throttled,
    }


def _number(tree: KernelFiles, path: str) -> int | None:
    text = tree.read(path)
    return int(text) if text is not None and text.isdecimal() else None
