# SPDX-License-Identifier: Apache-2.0
"""A measured file's cells, simulated with the costs and gaps that were measured with them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError
from lockyard.records import read_records
from lockyard.simulate import simulator
from lockyard.simulate.machines import IDLE_IN_ORDER, IN_ORDER
from lockyard.simulate.published import Figure
from lockyard.simulate.request import Cell, Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from lockyard.program import Answer
    from lockyard.simulate.machines import Machine
    from lockyard.simulate.simulator import Abilities

STUDIES = ("wait", "throughput")
SAME_ALGORITHM = {"std::mutex": "futex_mutex", "pthread_mutex[normal]": "futex_mutex"}
# Costs that the study `costs` measures as they are.
MEASURED = {
    "pause_ns": "pause_ns",
    "exchange_ns": "locked_ns",
    "clock_read_ns": "clock_read_ns",
    "yield_alone_ns": "yield_ns",
    "context_switch_ns": "context_switch_ns",
    "futex_wake_nobody_ns": "futex_wake_none_ns",
}
# There and back, and for each way an invalidation and a fetch: both sides spin by reading.
HOPS_OF_ROUND_TRIP = 4
FIRST_EEVDF = (6, 6)
LONGEST_NS = 200e6

Key = tuple[str, str, int]


@dataclass(frozen=True)
class Likeness:
    machine: Machine
    figures: list[Figure]
    notes: list[str]


def like(path: Path, machine: Machine, of: Abilities) -> Likeness:
    content = read_records(path)
    usable = [run for run in content.runs if run.get("status") == "ok"]
    notes: list[str] = []
    measured = _calibrated(path, machine, _of_study(usable, "costs"), notes)
    gaps = _gaps(_of_study(usable, "noise"), notes)
    scheduler = _scheduler(str(content.environment.get("kernel", "")))
    groups: defaultdict[Key, list[Answer]] = defaultdict(list)
    for run in usable:
        key = _key(run, measured, of)
        if key is not None:
            groups[key].append(run)
    if not groups:
        raise UsageError(
            f"{path} has no run of {' or '.join(STUDIES)} with two or more threads and a lock that "
            "can be simulated; measure one, as in lockyard measure wait --locks ours --threads 2,16"
        )
    cells = [
        replace(_cell(key, runs[0], measured, scheduler), gaps=gaps) for key, runs in groups.items()
    ]
    answers = simulator.answers(each.to_job() for each in cells)
    figures = [
        figure
        for (key, runs), answer in zip(groups.items(), answers, strict=True)
        for figure in _figures(key, runs, answer["values"])
    ]
    return Likeness(measured, figures, notes)


def _of_study(runs: Sequence[Answer], study: str) -> list[dict[str, Any]]:
    return [run["values"] for run in runs if run.get("study") == study]


def _calibrated(
    path: Path, machine: Machine, costs: Sequence[Mapping[str, Any]], notes: list[str]
) -> Machine:
    """Returns the machine with the costs that were measured in place of its own."""
    if not costs:
        notes.append(
            f"{path} has no run of the study costs, so the costs are {machine.name}'s; measure "
            "costs in the same file for this machine's"
        )
        return machine
    pairs = [each.get("line_round_trips") or [] for each in costs]
    used = {cpu for pair in pairs[0] for cpu in pair["cpus"]}
    if used and len(used) != machine.processors:
        raise UsageError(
            f"{path} was measured on {len(used)} processors, and {machine.name} has "
            f"{machine.processors}; give --machine a definition with the measured topology"
        )
    new = dict(machine.costs)
    for name, cost in MEASURED.items():
        values = [each[name] for each in costs if each.get(name) is not None]
        if values:
            new[cost] = median(values)
    trips = [pair["ns"] / HOPS_OF_ROUND_TRIP for run in pairs for pair in run]
    if trips:
        new["hop_cache_ns"], new["hop_socket_ns"] = min(trips), median(trips)
        new["hop_remote_ns"] = max(trips)
    wakes = [each["wake_other_core_ns"] for each in costs if each.get("wake_other_core_ns")]
    if wakes:
        spent = new["futex_wake_ns"] + new["interrupt_ns"] + new["context_switch_ns"]
        new["idle_exit_ns"] = max(0.0, median(wakes) - spent)
    return replace(machine, costs=_in_order(new))


def _in_order(costs: dict[str, float]) -> dict[str, float]:
    """Lowers what is nearer than a measured cost, and raises what is deeper."""
    *near, far = IN_ORDER
    for name, next_name in zip(reversed(near), reversed((*near[1:], far)), strict=True):
        costs[name] = min(costs[name], costs[next_name])
    light, deep = IDLE_IN_ORDER
    costs[deep] = max(costs[deep], costs[light])
    return costs


def _gaps(noise: Sequence[Mapping[str, Any]], notes: list[str]) -> dict[str, float] | None:
    cores = [core for each in noise for core in each.get("cores") or []]
    count = sum(core["gaps"] for core in cores)
    if not count:
        notes.append("the file has no gaps of the study noise, so nothing stops the processors")
        return None
    watched_ns = sum(max(core["watched_ns"] for core in each["cores"]) for each in noise)
    least_ns = min(each["gap_threshold_ns"] for each in noise)
    most_ns = max(each["longest_ns"] for each in noise)
    return {
        "every_ns": watched_ns / count,
        "least_ns": least_ns,
        "most_ns": max(least_ns, most_ns),
    }


def _scheduler(kernel: str) -> str:
    numbers = kernel.split("-")[0].split(".")[:2]
    if not all(number.isdecimal() for number in numbers):
        return "eevdf"
    return "eevdf" if tuple(map(int, numbers)) >= FIRST_EEVDF else "cfs"


def _key(run: Answer, machine: Machine, of: Abilities) -> Key | None:
    """Returns study, lock and threads of a run that can be simulated."""
    conditions = run.get("conditions") or {}
    lock = SAME_ALGORITHM.get(run.get("lock") or "", run.get("lock"))
    threads = conditions.get("threads", 0)
    if run.get("study") not in STUDIES or lock not in of.locks:
        return None
    if not 2 <= threads <= machine.most_threads or conditions.get("policy") != "other":
        return None
    if conditions.get("load") or conditions.get("lengths", "constant") not in (
        "constant",
        "exponential",
    ):
        return None
    return run["study"], lock, threads


def _cell(key: Key, run: Answer, machine: Machine, scheduler: str) -> Cell:
    study, lock, threads = key
    conditions = run["conditions"]
    work = Work(
        hold_ns=conditions.get("hold_ns") or 0.0,
        gap_ns=conditions.get("gap_ns") or 0.0,
        lengths=conditions.get("lengths") or "constant",
        duration_ns=min(run["values"]["run_ns"], LONGEST_NS),
        pinned=conditions.get("pinning", "none") != "none",
    )
    return Cell(study, lock, machine, scheduler, threads, work)


def _figures(key: Key, runs: Sequence[Answer], simulated: Mapping[str, float]) -> Iterator[Figure]:
    study, lock, threads = key
    row = f"{lock}, {threads} threads"
    for name, title in (("operations_per_s", "per second"), ("wait_max_ns", "longest wait, ns")):
        values = [run["values"][name] for run in runs if run["values"].get(name)]
        if values:
            found = max(simulated[name], 1.0)
            yield Figure(f"{study}, {title}", row, median(values), found)
