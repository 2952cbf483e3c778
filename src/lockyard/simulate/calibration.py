# SPDX-License-Identifier: Apache-2.0
"""From records of the studies `costs` and `noise` to a machine and its gaps."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError
from lockyard.records.histogram import Histogram
from lockyard.simulate.machines import IDLE_IN_ORDER, IN_ORDER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lockyard.program import Answer
    from lockyard.simulate.machines import Machine

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
# A cost that changed by more from run to run has no one value with which rates can be simulated.
STEADY_FACTOR = 2.0


def of_study(runs: Sequence[Answer], study: str) -> list[dict[str, Any]]:
    return [run["values"] for run in runs if run.get("study") == study]


def calibrated(
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
            _note_unsteady(name, values, notes)
    by_pair: defaultdict[tuple[int, ...], list[float]] = defaultdict(list)
    for pair in (pair for run in pairs for pair in run):
        by_pair[tuple(pair["cpus"])].append(pair["ns"] / HOPS_OF_ROUND_TRIP)
    for cpus, values in by_pair.items():
        ends = f"{cpus[0]} and {cpus[1]}"
        _note_unsteady(f"the hop of a line between processors {ends}", values, notes)
    trips = [median(each) for each in by_pair.values()]
    if trips:
        new["hop_cache_ns"], new["hop_socket_ns"] = min(trips), median(trips)
        new["hop_remote_ns"] = max(trips)
    wakes = [each["wake_other_core_ns"] for each in costs if each.get("wake_other_core_ns")]
    if wakes:
        spent = new["futex_wake_ns"] + new["interrupt_ns"] + new["context_switch_ns"]
        new["idle_exit_ns"] = max(0.0, median(wakes) - spent)
    return replace(machine, costs=_in_order(new))


def _note_unsteady(name: str, values: Sequence[float], notes: list[str]) -> None:
    least, most = min(values), max(values)
    if most > STEADY_FACTOR * least:
        notes.append(
            f"{name} was {least:.3g} ns in one run and {most:.3g} ns in another, as on a "
            "hypervisor that moves virtual processors or a machine that is not quiet; rates are "
            "simulated with the median, so they cannot agree with both; measure again"
        )


def _in_order(costs: dict[str, float]) -> dict[str, float]:
    """Lowers what is nearer than a measured cost, and raises what is deeper."""
    *near, far = IN_ORDER
    for name, next_name in zip(reversed(near), reversed((*near[1:], far)), strict=True):
        costs[name] = min(costs[name], costs[next_name])
    light, deep = IDLE_IN_ORDER
    costs[deep] = max(costs[deep], costs[light])
    return costs


def gaps_of(noise: Sequence[Answer], notes: list[str]) -> dict[str, Any] | None:
    """Returns how often something stops a processor, and the measured lengths with their counts."""
    values = [run["values"] for run in noise]
    cores = [core for each in values for core in each.get("cores") or []]
    count = sum(core["gaps"] for core in cores)
    if not count:
        notes.append("the file has no gaps of the study noise, so nothing stops the processors")
        return None
    watched_ns = sum(max(core["watched_ns"] for core in each["cores"]) for each in values)
    least_ns = min(each["gap_threshold_ns"] for each in values)
    most_ns = max(each["longest_ns"] for each in values)
    lengths = Histogram()
    for run in noise:
        if "gap" in run.get("histograms", {}):
            lengths.add(run["histograms"]["gap"])
    return {
        "every_ns": watched_ns / count,
        "least_ns": least_ns,
        "most_ns": max(least_ns, most_ns),
        "measured": sorted(lengths.counts.items()),
    }
