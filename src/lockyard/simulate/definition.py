# SPDX-License-Identifier: Apache-2.0
"""Writes the definition of a machine from records that were measured on it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError
from lockyard.records import read_records
from lockyard.simulate import machines
from lockyard.simulate.calibration import calibrated, of_study
from lockyard.simulate.machines import NUMBERS, SWITCHES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lockyard.simulate.machines import Machine
    from lockyard.simulate.simulator import Abilities

VIRTUAL_BASE, REAL_BASE = "vm2", "xeon8468"
THREADS_PER_PROCESSOR = 16
BUSY_SHARE = 0.3
MEASURED_BY = "lockyard measure costs"


def measured(path: Path, siblings: str, of: Abilities) -> tuple[Machine, list[str]]:
    """Returns the machine on which the records were measured, and what they lack. `siblings` is the
    kernel's list of the processors of the first core, or empty."""
    content = read_records(path)
    costs = of_study([run for run in content.runs if run.get("status") == "ok"], "costs")
    if not costs:
        raise UsageError(
            f"{path} has no run of the study costs, so no machine can be defined from it; measure "
            "one: lockyard measure costs noise --out records.jsonl"
        )
    environment = content.environment
    system = environment.get("system") or {}
    is_virtual = system.get("hypervisor", "no") != "no"
    base = machines.load(VIRTUAL_BASE if is_virtual else REAL_BASE, of)
    topology = _topology(path, environment, siblings, is_virtual)
    model = (environment.get("cpu") or {}).get("model") or "unknown processor"
    notes: list[str] = []
    load = (environment.get("load_average") or [0])[0]
    if load > BUSY_SHARE * topology["processors"]:
        notes.append(
            f"other programs ran meanwhile (load {load:.1f} on {topology['processors']} "
            "processors), so wake-ups and switches may be too long; measure on a quiet machine"
        )
    blank = replace(
        base,
        name=path.stem,
        summary=f"{model}, {topology['processors']} processors",
        topology=topology,
        most_threads=min(of.most_threads, THREADS_PER_PROCESSOR * topology["processors"]),
    )
    found = calibrated(path, blank, costs, notes)
    changed = {name for name, cost in found.costs.items() if cost != base.costs[name]}
    sources = {
        name: f"{MEASURED_BY}, median of {len(costs)} runs"
        if name in changed
        else f"as {base.name}: {text}"
        for name, text in base.sources.items()
    }
    sources["topology"] = "hwloc, in the records' environment"
    return replace(found, sources=sources), notes


def _topology(
    path: Path, environment: Mapping[str, Any], siblings: str, is_virtual: bool
) -> dict[str, int | bool]:
    found = (environment.get("harness") or {}).get("topology") or {}
    if not {"processors", "cores", "packages", "caches"} <= found.keys():
        raise UsageError(
            f"{path} does not describe its machine, so none can be defined from it; "
            "measure again with this version of lockyard"
        )
    cores = max(1, found["cores"])
    last_level = max(found["caches"], key=lambda each: each["level"], default={"count": 1})
    first_core = [int(each) for each in siblings.replace("-", ",").split(",") if each.isdecimal()]
    return {
        "processors": found["processors"],
        "threads_per_core": max(1, found["processors"] // cores),
        "cores_per_cache": max(1, cores // max(1, last_level["count"])),
        "cores_per_socket": max(1, cores // max(1, found["packages"])),
        "siblings_last": len(first_core) == 2 and first_core[1] - first_core[0] > 1,
        "halted_looks_preempted": is_virtual,
    }


def to_toml(machine: Machine) -> str:
    names = {text: f"source{number}" for number, text in enumerate(_texts(machine), 1)}
    topology = {**machine.topology, "most_threads": machine.most_threads}
    lines = [
        f"summary = {json.dumps(machine.summary)}",
        "",
        "[topology]",
        *(f"{key} = {json.dumps(topology[key])}" for key in (*NUMBERS, *SWITCHES)),
        f"source = {json.dumps(machine.sources['topology'])}",
        "",
        "[sources]",
        *(f"{name} = {json.dumps(text)}" for text, name in names.items()),
        "",
        "[costs]",
        *(
            f'{key} = {{ value = {cost:.6g}, source = "{names[machine.sources[key]]}" }}'
            for key, cost in machine.costs.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def _texts(machine: Machine) -> dict[str, None]:
    return dict.fromkeys(machine.sources[key] for key in machine.costs)
