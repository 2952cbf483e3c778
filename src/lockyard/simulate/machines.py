# SPDX-License-Identifier: Apache-2.0
"""The definitions of simulated machines: files of topology and costs, each with its source."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lockyard.simulate.simulator import Abilities

SUFFIX = ".toml"
NUMBERS = ("processors", "threads_per_core", "cores_per_cache", "cores_per_socket", "most_threads")
SWITCHES = ("siblings_last", "halted_looks_preempted")
# Each is at least as far as the one before.
IN_ORDER = ("hit_ns", "hop_core_ns", "hop_cache_ns", "hop_socket_ns", "hop_remote_ns")
IDLE_IN_ORDER = ("idle_exit_ns", "deep_idle_exit_ns")
LEAST = {"smt_slowdown": 1.0, "smt_pausing_slowdown": 1.0}


@dataclass(frozen=True)
class Machine:
    name: str
    summary: str
    topology: Mapping[str, int | bool]
    most_threads: int
    costs: Mapping[str, float]
    sources: Mapping[str, str]  # keys: names of costs, and "topology"

    @property
    def processors(self) -> int:
        return self.topology["processors"]

    def to_job(self) -> dict[str, Any]:
        return {"topology": dict(self.topology), "costs": dict(self.costs)}

    def with_cost(self, name: str, value: float) -> Machine:
        """Returns the machine with another value of a cost, and with the other costs as near to
        theirs as their order permits."""
        costs = dict(self.costs) | {name: value}
        for order in (IN_ORDER, IDLE_IN_ORDER):
            if name in order:
                at = order.index(name)
                for before in order[:at]:
                    costs[before] = min(costs[before], value)
                for after in order[at + 1 :]:
                    costs[after] = max(costs[after], value)
        return replace(self, costs=costs)


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns a hint that ends an error about an unknown name."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    return f"did you mean {near[0]}?" if near else f"choose from {', '.join(names)}"


def names() -> list[str]:
    """Lists the definitions that lockyard has."""
    folder = files("lockyard") / "simulate" / "machines"
    return sorted(
        each.name.removesuffix(SUFFIX) for each in folder.iterdir() if each.name.endswith(SUFFIX)
    )


def load(name: str, abilities: Abilities) -> Machine:
    """Returns the definition of that name, or in that file."""
    if name.endswith(SUFFIX):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{name}: cannot read the definition of a machine: {error}") from None
    elif name in names():
        text = (files("lockyard") / "simulate" / "machines" / f"{name}{SUFFIX}").read_text("utf-8")
    else:
        raise UsageError(
            f"--machine {name}: no such machine; {nearest(name, names())} A definition of your own "
            f"is a file whose name ends in {SUFFIX}"
        )
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: not a TOML file: {error}") from None
    return _checked(name.removesuffix(SUFFIX), document, abilities)


def _checked(name: str, document: Mapping[str, Any], abilities: Abilities) -> Machine:
    for part in ("topology", "sources", "costs"):
        if not isinstance(document.get(part), dict):
            raise UsageError(f"{name}: the definition has no table [{part}]; see docs/simulator.md")
    topology, source = _topology(name, document["topology"])
    texts = document["sources"]
    costs, sources = _costs(name, document["costs"], texts, abilities)
    return Machine(
        name=Path(name).name,
        summary=str(document.get("summary", "")),
        topology={key: value for key, value in topology.items() if key != "most_threads"},
        most_threads=int(topology["most_threads"]),
        costs=costs,
        sources={"topology": source, **sources},
    )


def _topology(name: str, given: Mapping[str, Any]) -> tuple[dict[str, int | bool], str]:
    known = (*NUMBERS, *SWITCHES, "source")
    for key in given:
        if key not in known:
            raise UsageError(f"{name}: [topology] has no key {key}; {nearest(key, known)}")
    read: dict[str, int | bool] = {}
    for key in NUMBERS:
        value = given.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(f"{name}: [topology] {key} must be a number from 1; it is {value}")
        read[key] = value
    for key in SWITCHES:
        read[key] = bool(given.get(key, False))
    return read, _source(name, "topology", given.get("source"))


def _source(name: str, key: str, text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise UsageError(
            f"{name}: {key} has no source, so its readers cannot judge it; write where it is from, "
            'as in source = "lockyard measure costs"'
        )
    return text


def _costs(
    name: str, given: Mapping[str, Any], texts: Mapping[str, Any], abilities: Abilities
) -> tuple[dict[str, float], dict[str, str]]:
    for key in given:
        if key not in abilities.costs:
            raise UsageError(f"{name}: there is no cost {key}; {nearest(key, abilities.costs)}")
    costs: dict[str, float] = {}
    sources: dict[str, str] = {}
    for key, meaning in abilities.costs.items():
        entry = given.get(key)
        if not isinstance(entry, dict) or "value" not in entry:
            raise UsageError(f"{name}: [costs] lacks {key} ({meaning}); add its value and source")
        costs[key] = cost(f"{name}: {key}", key, entry["value"])
        source = _source(name, key, entry.get("source"))
        if source not in texts:
            raise UsageError(
                f"{name}: {key} names the source {source}, which [sources] does not have; "
                f"{nearest(source, texts)}"
            )
        sources[key] = _source(name, source, texts[source])
    check_order(name, costs)
    return costs, sources


def cost(what: str, key: str, value: object) -> float:
    least = LEAST.get(key, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1e12:
        raise UsageError(f"{what} is {value}; a cost is a number, and not less than {least:g}")
    return float(value)


def check_order(name: str, costs: Mapping[str, float]) -> None:
    for order in (IN_ORDER, IDLE_IN_ORDER):
        for near, far in pairwise(order):
            if costs[near] > costs[far]:
                raise UsageError(
                    f"{name}: {near} = {costs[near]:g} is more than {far} = {costs[far]:g}, but "
                    f"what is farther or deeper cannot cost less; correct one of them"
                )
