# SPDX-License-Identifier: Apache-2.0
"""A cell, the unit of measurement: how often and how long it runs, under which conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from lockyard.machine.conditions import (  # noqa: TC001 - msgspec reads the annotations
    Conditions,
    Pinning,
)
from lockyard.measure.work import NONE, Work
from lockyard.records import types
from lockyard.records.types import Value

# When threads call: as soon as they finish their last operation, or at scheduled times.
CLOSED, SCHEDULED = "closed", "poisson"
# In a longer run, the harness's counters might overflow.
LONGEST_RUN_S = 60.0

# Names with their values, in the study's order.
Parameters = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Cell:
    """One lock or worker pool in one study under one set of conditions, or the machine in a study
    of the machine."""

    study: str
    lock: str | None
    threads: int
    pinning: Pinning
    conditions: Conditions
    loops: int | None  # per thread and run; None: a run is bounded by time
    run_s: float  # the length of a run that is bounded by time
    runs: int  # at most
    budget_s: float  # for all runs together
    as_published: bool
    work: Work = NONE
    parameters: Parameters = ()  # empty if the study has none
    arrival: str = CLOSED

    @property
    def label(self) -> str:
        if not self.lock:
            return self.study
        choices = (value for _, value in self.parameters if isinstance(value, str))
        study = " ".join((self.study, *choices))
        return f"{study} {self.lock} × {self.threads}"

    def limit_s(self, spent_s: float) -> float:
        """Returns the time for the next run; 0 if too little is left to start one."""
        left_s = self.budget_s - spent_s
        if self.loops is not None:
            return min(max(left_s, 0.0), LONGEST_RUN_S)
        return self.run_s if left_s >= self.run_s / 2 else 0.0

    @property
    def asked(self) -> dict[str, Any]:
        """Returns the conditions that all of its runs share."""
        return {
            "threads": self.threads,
            "pinning": self.pinning if isinstance(self.pinning, str) else list(self.pinning),
            **self.conditions.to_json(),
            "arrival": self.arrival,
            **self.work.to_json(),
            "parameters": dict(self.parameters),
            "bound": "time" if self.loops is None else "loops",
            "loops": self.loops,
            "as_published": self.as_published,
        }

    def job(self, block: int, limit_s: float, seed: int, environment: dict[str, Any]) -> types.Job:
        clock = environment["clock"]
        return types.Job(
            study=self.study,
            lock=self.lock,
            conditions=msgspec.convert(
                {**self.asked, "duration_s": limit_s, "seed": seed}, types.Conditions
            ),
            block=block,
            run=block,
            clock=types.Clock(source=clock["source"], ns_per_tick=clock["ns_per_tick"]),
            recorded=list(self.work.recording.turns) if self.work.recording else None,
            environment=environment["environment"],
        )
