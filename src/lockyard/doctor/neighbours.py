# SPDX-License-Identifier: Apache-2.0
"""Checks of other users of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockyard.doctor.findings import Finding, Fine, Outcome, Severity, Unknown
from lockyard.doctor.sample import TICKS_PER_S

if TYPE_CHECKING:
    from lockyard.doctor.facts import Facts
    from lockyard.doctor.sample import Process, Sample

BUSY_SHARE = 0.05
# The kernel rounds down to whole ticks, so a single tick may be almost no time.
BUSY_TICKS = 2
UNSEEN_SHARE = 0.25
SHOWN = 5
LOAD_PER_PROCESSOR = 0.5
LEAST_AVAILABLE_SHARE = 0.05


def busy_neighbours(facts: Facts) -> Outcome:
    seconds = facts.after.at_s - facts.before.at_s
    if not facts.after.processes or seconds <= 0:
        return Unknown("/proc shows no processes")
    used = {pid: ticks / TICKS_PER_S / seconds for pid, ticks in _ticks(facts).items()}
    busy = {
        pid: share
        for pid, share in used.items()
        if share > BUSY_SHARE and share * seconds * TICKS_PER_S >= BUSY_TICKS - 0.5
    }
    unseen = _busy_share(facts, seconds) - sum(used.values()) - _own_share(facts, seconds)
    processes: list[dict[str, Any]] = [
        {"pid": pid, "name": facts.after.processes[pid].name, "processor_share": round(share, 2)}
        for pid, share in sorted(busy.items(), key=lambda each: -each[1])
    ]
    if not busy and unseen <= UNSEEN_SHARE:
        return Fine(
            f"no other process used {BUSY_SHARE:.0%} of a processor for {seconds * 1e3:.0f} ms"
        )
    return Finding(
        Severity.DISTORTS,
        f"other processes use the processors: {_named(processes, unseen)}",
        "measured threads wait for them, which looks like waiting for the lock",
        None,
        "wait until they end, or pause one that you know with 'kill -STOP PID' and continue it "
        "with 'kill -CONT PID'"
        if busy
        else "they are invisible from here, or have ended: look on the host, with top",
        {"processes": processes, "unseen_share": round(max(unseen, 0.0), 2)},
    )


def _named(processes: list[dict[str, Any]], unseen: float) -> str:
    names = [f"{each['name']} ({each['pid']}) {each['processor_share']:.0%}" for each in processes]
    if len(names) > SHOWN:
        names = [*names[:SHOWN], f"{len(names) - SHOWN} more"]
    if unseen > UNSEEN_SHARE:
        names.append(f"short-lived or hidden processes {unseen:.0%}")
    return ", ".join(names)


def _ticks(facts: Facts) -> dict[int, int]:
    """Returns the ticks that each process used meanwhile, except this one and its children."""
    found = {}
    for pid, process in facts.after.processes.items():
        before = facts.before.processes.get(pid)
        if before and before.started == process.started and not _is_own(facts.after, process, pid):
            found[pid] = process.ticks - before.ticks
    return found


def _is_own(sample: Sample, process: Process, pid: int) -> bool:
    return sample.own_pid in (pid, process.parent)


def _own_share(facts: Facts, seconds: float) -> float:
    own = facts.after.own_pid
    if own not in facts.after.processes or own not in facts.before.processes:
        return 0.0
    ticks = facts.after.processes[own].ticks - facts.before.processes[own].ticks
    return ticks / TICKS_PER_S / seconds


def _busy_share(facts: Facts, seconds: float) -> float:
    """Returns the busy time of all processors together, in processors."""
    ticks = sum(
        after.busy - facts.before.processors[cpu].busy
        for cpu, after in facts.after.processors.items()
        if cpu in facts.before.processors
    )
    return ticks / TICKS_PER_S / seconds


def load_average(facts: Facts) -> Outcome:
    words = (facts.kernel.read("/proc/loadavg") or "").split()
    if not words:
        return Unknown("/proc/loadavg cannot be read")
    load, count = float(words[0]), max(len(facts.after.processors), 1)
    if load <= LOAD_PER_PROCESSOR * count:
        return Fine(f"the load average of the last minute is {load:.2f}")
    return Finding(
        Severity.NOTE,
        f"the load average of the last minute is {load:.2f} on {count} processors",
        "the load may return, so figures measured minutes apart cannot be compared",
        None,
        "the average falls within two quiet minutes; busy_neighbours shows what runs now",
        {"load_average": [float(word) for word in words[:3]]},
    )


def memory(facts: Facts) -> Outcome:
    lines = (facts.kernel.read("/proc/meminfo") or "").splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    if "MemAvailable" not in sizes:
        return Unknown("/proc/meminfo does not report available memory")
    share = sizes["MemAvailable"] / sizes["MemTotal"]
    before, after = facts.before.swapped_pages, facts.after.swapped_pages
    swapped = 0 if before is None or after is None else after - before
    if share >= LEAST_AVAILABLE_SHARE and swapped == 0:
        return Fine(f"{share:.0%} of the memory is available, and nothing is swapped")
    return Finding(
        Severity.DISTORTS,
        f"{share:.0%} of the memory is available; {swapped} pages were swapped just now",
        "a page fault of a thread that holds a lock lasts for milliseconds",
        None,
        "'ps -eo pid,rss,comm --sort=-rss | head' shows the largest processes: end unneeded ones",
        {"available_share": round(share, 4), "swapped_pages": swapped},
    )
