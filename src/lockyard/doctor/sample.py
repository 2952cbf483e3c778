# SPDX-License-Identifier: Apache-2.0
"""A sample of the kernel's counters at one moment; two samples make a rate."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockyard.machine.procfs import KernelFiles

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Processor:
    """Ticks since the machine started."""

    busy: int
    steal: int
    all: int


@dataclass(frozen=True)
class Process:
    name: str
    parent: int
    started: int
    ticks: int


@dataclass(frozen=True)
class Sample:
    at_s: float = 0.0
    own_pid: int = 0
    processors: dict[int, Processor] = field(default_factory=dict)
    processes: dict[int, Process] = field(default_factory=dict)
    swapped_pages: int | None = None


def take(kernel: KernelFiles) -> Sample:
    own = _process(kernel.read("/proc/self/stat") or "")
    return Sample(
        at_s=time.monotonic(),
        own_pid=own[0] if own else 0,
        processors=dict(_processors(kernel.read("/proc/stat") or "")),
        processes=_processes(kernel),
        swapped_pages=_swapped_pages(kernel.read("/proc/vmstat") or ""),
    )


def _processors(stat: str) -> list[tuple[int, Processor]]:
    found = []
    for line in stat.splitlines():
        name, _, rest = line.partition(" ")
        if name[:3] != "cpu" or not name[3:].isdigit():
            continue
        ticks = [int(word) for word in rest.split()] + [0] * 8
        user, nice, system, idle, iowait, irq, softirq, steal = ticks[:8]
        busy = user + nice + system + irq + softirq
        found.append((int(name[3:]), Processor(busy, steal, busy + idle + iowait + steal)))
    return found


def _processes(kernel: KernelFiles) -> dict[int, Process]:
    found = {}
    for entry in os.scandir(kernel.at("/proc")):
        if entry.name.isdigit():
            read = _process(kernel.read(f"/proc/{entry.name}/stat") or "")
            if read:
                found[read[0]] = read[1]
    return found


def _process(stat: str) -> tuple[int, Process] | None:
    """Parses /proc/PID/stat, where the name is in parentheses and may itself contain some."""
    head, _, tail = stat.rpartition(")")
    pid, _, name = head.partition("(")
    words = tail.split()
    if not pid or len(words) < 20:
        return None
    user, system = int(words[11]), int(words[12])
    return int(pid), Process(name, int(words[1]), int(words[19]), user + system)


def _swapped_pages(vmstat: str) -> int | None:
    counts = dict(line.split() for line in vmstat.splitlines())
    if "pswpin" not in counts:
        return None
    return int(counts["pswpin"]) + int(counts["pswpout"])
