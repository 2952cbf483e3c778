#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts wrong answers of `lockyard report`, and how many answers it decides in its time.

The report's own design measures simulated machines: each lock has a true rate, longest wait, idle
time and cost, and each run's figures are those times noise. Runs take simulated time, so thousands
of reports take minutes.

    tools/report_alarms.py    # equal locks, then different ones; a quiet machine, then a busy one
    tools/report_alarms.py --reports 400
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockyard import harness
from lockyard.advice.claims import IDLE, PAIR, RATE, TAIL, Aim, Decision
from lockyard.advice.plan import EXTENTS, planned
from lockyard.advice.questions import REFERENCE
from lockyard.machine.conditions import inherited

if TYPE_CHECKING:
    from lockyard.advice.claims import Claim
    from lockyard.advice.design import Design
    from lockyard.measure.cell import Cell

MOST_WRONG = 0.05
# The true differences between locks, as the standard deviation of the logarithm.
DIFFERENCES = {RATE.name: 0.2, TAIL.name: 1.0, IDLE.name: 1.0, PAIR.name: 0.3}


@dataclass(frozen=True)
class Machine:
    """The noise of each figure, as the standard deviation of its logarithm, and of a run's time."""

    name: str
    noise: dict[str, float]
    drift: float  # what all runs of a block have in common
    run_s: float  # starting a run and what lies between runs, besides its length


QUIET = Machine(
    "quiet", {RATE.name: 0.06, TAIL.name: 0.6, IDLE.name: 0.6, PAIR.name: 0.01}, 0.05, 0.015
)
BUSY = Machine(
    "busy", {RATE.name: 0.28, TAIL.name: 2.0, IDLE.name: 1.5, PAIR.name: 0.05}, 0.3, 0.04
)


@dataclass(frozen=True)
class Truth:
    """The true figures of the locks of a group, relative to the reference's."""

    equal: bool
    chance: random.Random

    def figures(self, cells: list[Cell]) -> list[dict[str, float]]:
        found: dict[Any, dict[str, float]] = {}
        for cell in cells:
            key = (cell.study, cell.lock, cell.threads, cell.work)
            if key not in found:
                found[key] = {
                    name: self._figure(cell, spread) for name, spread in DIFFERENCES.items()
                }
        return [found[cell.study, cell.lock, cell.threads, cell.work] for cell in cells]

    def _figure(self, cell: Cell, spread: float) -> float:
        if self.equal or cell.lock == REFERENCE:
            return 1.0
        return self.chance.lognormvariate(0, spread)


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def simulated(extent: str, machine: Machine, truth: Truth) -> tuple[Design, dict[int, Any], Clock]:
    """Returns the design after its report, and the truth by the identity of its cells."""
    clock, chance = Clock(), truth.chance
    cells, design = planned(CATALOG, EXTENTS[extent], inherited(), clock)
    figures = truth.figures(cells)
    block = 0
    runs = Counter[int]()
    while places := {i for i in design.places(block) if runs[i] < cells[i].runs}:
        runs.update(places)
        common = {name: chance.gauss(0, machine.drift) for name in DIFFERENCES}
        for place in chance.sample(sorted(places), len(places)):
            cell, figure = cells[place], figures[place]
            value = {
                name: true * chance.lognormvariate(common[name], machine.noise[name])
                for name, true in figure.items()
            }
            spent_s = cell.run_s + machine.run_s
            clock.now_s += spent_s
            design.count(place, _record(block, value, spent_s))
        block += 1
    return design, {id(c): f for c, f in zip(design.summaries, figures, strict=True)}, clock


def _record(block: int, value: dict[str, float], spent_s: float) -> dict[str, Any]:
    values = {
        "complete": True,
        "operations": 1e6 * value[RATE.name],
        "run_ns": 1e9,
        "wait_max_ns": 1e6 * value[TAIL.name],
        "idle_wanted_max_ns": 1e6 * value[IDLE.name],
        "pair_after_threads_ns": 10 * value[PAIR.name],
    }
    return {"block": block, "status": "ok", "checks": {}, "values": values, "spent_s": spent_s}


def is_wrong(claim: Claim, truth: dict[int, dict[str, float]]) -> bool:
    """Tells whether a settled claim says what is not so."""
    name = claim.aim.name
    ratio = truth[id(claim.cell)][name] / truth[id(claim.reference)][name]
    if claim.factor > 1:
        badness = 1 / ratio if claim.aim.compared.more_is_better else ratio
        return claim.holds is not (badness > claim.factor)
    match claim.decision:
        case Decision.ALIKE:
            return not 1 / claim.aim.alike <= ratio <= claim.aim.alike
        case Decision.BETTER:
            return not claim.aim.is_better(ratio)
        case _:
            return ratio == 1 or claim.aim.is_better(ratio)


def main() -> int:
    options = _options()
    status = 0
    for machine in (QUIET, BUSY):
        for equal in (True, False):
            status |= _reports(options, machine, equal)
    return status


def _reports(options: argparse.Namespace, machine: Machine, equal: bool) -> int:
    chance = random.Random(options.seed)  # noqa: S311 - no secret
    stated, settled, wrong = Counter[str](), Counter[str](), Counter[str]()
    time_s = 0.0
    for _ in range(options.reports):
        design, truth, clock = simulated(options.extent, machine, Truth(equal, chance))
        time_s += clock.now_s
        for claim in design.claims():
            kind = _kind(claim.aim, claim.factor)
            stated[kind] += 1
            settled[kind] += claim.is_settled
            wrong[kind] += claim.is_settled and is_wrong(claim, truth)
    what = "equal locks" if equal else "different locks"
    total = stated.total()
    print(
        f"{machine.name} machine, {what}, {options.reports} reports of "
        f"{time_s / options.reports:.0f} s: {settled.total()} of {total} claims settled "
        f"({settled.total() / total:.1%}), {wrong.total()} wrong ({wrong.total() / total:.1%})"
    )
    for kind in sorted(stated):
        print(f"  {kind:28} {settled[kind]:5} of {stated[kind]:5} settled, {wrong[kind]:4} wrong")
    return 4 if wrong.total() > MOST_WRONG * total else 0


def _kind(aim: Aim, factor: float) -> str:
    return f"{aim.name}, {'at least so bad' if factor > 1 else 'the best'}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reports", type=int, default=100, help="of each kind (100)")
    parser.add_argument("--extent", choices=sorted(EXTENTS), default="default")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


CATALOG = harness.catalog()

if __name__ == "__main__":
    sys.exit(main())
