# SPDX-License-Identifier: Apache-2.0
"""Sums of the stalls of each lock, over all its traces."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lockyard.explain.causes import Cause
from lockyard.stats import Ratio, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lockyard.explain.stalls import Explanation, Stall, StallKind
    from lockyard.harness import Record


@dataclass
class Total:
    """The sums over the stalls of one kind of one lock."""

    lock: str
    kind: StallKind
    stalls: int = 0
    longest_ns: float = 0.0
    watched_ns: float = 0.0  # over all traces
    by_cause_ns: dict[Cause, float] = field(default_factory=dict)
    stalls_by_cause: dict[Cause, int] = field(default_factory=dict)

    @property
    def stalled_ns(self) -> float:
        return sum(self.by_cause_ns.values())

    def add(self, stall: Stall, ns_per_tick: float) -> None:
        self.stalls += 1
        self.longest_ns = max(self.longest_ns, stall.length * ns_per_tick)
        self.stalls_by_cause[stall.cause] = self.stalls_by_cause.get(stall.cause, 0) + 1
        for cause in np.flatnonzero(stall.amounts).tolist():
            ns = float(stall.amounts[cause]) * ns_per_tick
            self.by_cause_ns[Cause(cause)] = self.by_cause_ns.get(Cause(cause), 0.0) + ns

    def share(self, *causes: Cause) -> float | None:
        """Returns the share of the stalled time, or None if nothing stalled."""
        if not self.stalled_ns:
            return None
        return sum(self.by_cause_ns.get(cause, 0.0) for cause in causes) / self.stalled_ns


class Totals:
    def __init__(self) -> None:
        self._of: dict[tuple[str, StallKind], Total] = {}

    def add(
        self, explanation: Explanation, names: Iterable[str], kinds: Iterable[StallKind]
    ) -> None:
        trace = explanation.trace
        for name, lock in zip(names, explanation.locks, strict=True):
            for kind in kinds:
                total = self._of.setdefault((name, kind), Total(name, kind))
                total.watched_ns += trace.ns(trace.end - trace.begin)
                for stall in lock.stalls:
                    if stall.kind is kind:
                        total.add(stall, trace.ns_per_tick)

    def of(self, kind: StallKind) -> list[Total]:
        """Returns the totals, the most stalled first."""
        chosen = [total for (_, each), total in self._of.items() if each is kind]
        return sorted(chosen, key=lambda total: -total.stalled_ns)


@dataclass(frozen=True)
class Overhead:
    """The cost of tracing a cell: its traced throughput over its plain one, paired by block."""

    cell: str
    ratio: Ratio
    switches_per_s: float


def overheads(runs_of: Mapping[str, Sequence[Record]]) -> list[Overhead]:
    """Returns the overhead of each cell that was measured both traced and plain."""
    found = []
    for cell, runs in runs_of.items():
        traced, plain = (
            {run["block"]: float(rate) for run in runs if (rate := _rate(run, half))}
            for half in ("traced", "plain")
        )
        ratio = paired_ratio(traced, plain)
        rates = [(run.get("values") or {}).get("switches_per_s") or 0.0 for run in runs]
        if ratio is not None:
            found.append(Overhead(cell, ratio, statistics.median(rates)))
    return found


def _rate(run: Record, half: str) -> float | None:
    rate: float | None = (run.get("values") or {}).get(f"{half}_operations_per_s")
    return rate
