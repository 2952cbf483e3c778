# SPDX-License-Identifier: Apache-2.0
"""How much a simulated figure depends on what is not exactly known: seeds, backgrounds, costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from lockyard.simulate import simulator
from lockyard.simulate.request import BACKGROUNDS, SEEDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lockyard.simulate.request import Cell

COST_CHANGE = 0.2
# Beyond this factor between the extremes, a figure says more about an input than about the lock.
DEPENDS_BEYOND = 3.0
SEED, BACKGROUND = "seed", "background"
# Below these, a change is not worth a name.
LEAST_NS, LEAST_PER_S, LEAST_SHARE = 1000.0, 1.0, 0.01


@dataclass(frozen=True)
class Spread:
    value: float  # the median over the seeds
    low: float
    high: float
    depends_on: tuple[str, ...]  # the inputs that alone change it by more than the limit, or most


@dataclass(frozen=True)
class Simulated:
    cell: Cell
    figures: Mapping[str, Spread]
    counted: Mapping[str, float]
    virtual_ns: float


def simulate(
    cells: Sequence[Cell], backgrounds: Sequence[str], with_costs: bool
) -> list[Simulated]:
    """Simulates each cell with its variations."""
    wanted = [list(variations(cell, backgrounds, with_costs)) for cell in cells]
    answers = simulator.answers(each.to_job() for group in wanted for _, each in group)
    return [summary(group, [next(answers) for _ in group]) for group in wanted]


def variations(
    cell: Cell, backgrounds: Sequence[str], with_costs: bool
) -> Iterator[tuple[str, Cell]]:
    """Yields what changes, and the changed cell; the unchanged one first."""
    yield "", cell
    for step in range(1, SEEDS):
        yield SEED, replace(cell, seed=cell.seed + step)
    for background in backgrounds:
        if background != cell.background:
            yield BACKGROUND, replace(cell, background=background)
    if not with_costs:
        return
    for name, value in cell.machine.costs.items():
        for changed in (value * (1 - COST_CHANGE), value * (1 + COST_CHANGE)):
            if value > 0 and (value < 1e-9 or changed >= _least(name)):
                yield name, replace(cell, machine=cell.machine.with_cost(name, changed))


def _least(name: str) -> float:
    return 1.0 if name.endswith("slowdown") else 0.0


def summary(group: Sequence[tuple[str, Cell]], results: Sequence[dict[str, Any]]) -> Simulated:
    labels = [label for label, _ in group]
    figures = {}
    for name in results[0]["values"]:
        values = [each["values"][name] for each in results]
        figures[name] = _spread(name, labels, values)
    first = results[0]
    return Simulated(group[0][1], figures, first["counted"], first["virtual_ns"])


def _spread(name: str, labels: Sequence[str], values: Sequence[float]) -> Spread:
    by_seed = [
        value for label, value in zip(labels, values, strict=True) if label in ("", SEED)
    ]  # fmt: skip
    low, high = min(values), max(values)
    depends_on: tuple[str, ...] = ()
    if _factor(name, low, high) > DEPENDS_BEYOND:
        alone = {
            label: _factor(name, *_extremes(label, labels, values)) for label in labels if label
        }
        beyond = [label for label, factor in alone.items() if factor > DEPENDS_BEYOND]
        depends_on = tuple(beyond or [max(alone, key=lambda label: alone[label])])
    return Spread(median(by_seed), low, high, depends_on)


def _extremes(label: str, labels: Sequence[str], values: Sequence[float]) -> tuple[float, float]:
    some = [values[0], *(v for of, v in zip(labels, values, strict=True) if of == label)]
    return min(some), max(some)


def _factor(name: str, low: float, high: float) -> float:
    if name.endswith("_ns"):
        least = LEAST_NS
    else:
        least = LEAST_PER_S if name.endswith("_per_s") else LEAST_SHARE
    return max(high, least) / max(low, least)


def default_backgrounds(chosen: str) -> tuple[str, ...]:
    return (chosen,) if chosen else BACKGROUNDS
