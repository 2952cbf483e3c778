# SPDX-License-Identifier: Apache-2.0
"""Has a plan measured: blocks of cells in an order of chance, each block by a fresh process.

This is the supervisor: every run has a deadline, enforced here by ending the harness. A run that
crashes or overruns becomes a record too, ends its own cell, and leaves the others alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lockyard.harness import (
    BAD_JOB_STATUS,
    Harness,
    HarnessDiedError,
    HarnessOverrunError,
    Record,
)
from lockyard.plan import SCHEMA, Cell, order_of_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# A run ends by itself soon after its limit; what takes this much longer hangs.
GRACE_S = 10.0


@dataclass
class _State:
    """A cell under way."""

    cell: Cell
    spent_s: float = 0.0
    runs: int = 0
    ended: bool = False

    @property
    def wants_more(self) -> bool:
        return not self.ended and self.runs < self.cell.runs and self.cell.limit_s(self.spent_s) > 0


@dataclass
class Runner:
    cells: Sequence[Cell]
    seed: int
    environment: dict[str, Any]
    grace_s: float = GRACE_S
    on_run: Callable[[Cell], None] = lambda _cell: None  # told before each run
    _states: dict[Cell, _State] = field(init=False)

    def __post_init__(self) -> None:
        self._states = {cell: _State(cell) for cell in self.cells}

    def remaining_runs(self) -> dict[Cell, int]:
        """How many runs each cell is still to get, unless its time runs out before."""
        return {
            cell: state.cell.runs - state.runs if state.wants_more else 0
            for cell, state in self._states.items()
        }

    def records(self) -> Iterator[Record]:
        block = 0
        while pending := [state.cell for state in self._states.values() if state.wants_more]:
            yield from self._block(order_of_block(pending, self.seed, block), block)
            block += 1

    def _block(self, cells: Sequence[Cell], block: int) -> Iterator[Record]:
        harness: Harness | None = None
        try:
            for cell in cells:
                harness = harness or Harness()
                record = self._run(harness, self._states[cell], block)
                if self._states[cell].ended:
                    harness.close()
                    harness = None
                yield record
        finally:
            if harness is not None:
                harness.close()

    def _run(self, harness: Harness, state: _State, block: int) -> Record:
        cell = state.cell
        self.on_run(cell)
        limit_s = cell.limit_s(state.spent_s)
        job = cell.job(block, limit_s, self.seed + block, self.environment)
        started = time.monotonic()
        try:
            record = harness.run(job, limit_s + self.grace_s)
        except HarnessOverrunError as error:
            record = _failed(job, "overrun", str(error))
        except HarnessDiedError as error:
            if error.harness_status == BAD_JOB_STATUS:
                raise
            record = _failed(job, "crashed", str(error))
        state.spent_s += time.monotonic() - started
        state.runs += 1
        state.ended = record["status"] != "ok"
        return record


def _failed(job: dict[str, Any], status: str, reason: str) -> Record:
    """The record of a run that the harness could not write."""
    return {
        "schema": SCHEMA,
        "study": job["study"],
        "lock": job["lock"],
        "conditions": {
            **job["conditions"],
            "policy": None,
            "priority": None,
            "load": 0,
            "arrival": "closed",
            "hold_ns": 0,
            "bound": "loops" if "loops" in job["bound"] else "time",
            "loops": job["bound"].get("loops"),
            "duration_s": job["bound"]["duration_s"],
            "as_published": job["as_published"],
            "seed": job["seed"],
        },
        "block": job["block"],
        "run": job["run"],
        "status": status,
        "reason": reason,
        "clock": {**job["clock"], "read_ns": None, "early_read_ns": None},
        "values": {},
        "histograms": {},
        "stalls": [],
        "checks": {},
        "environment": job["environment"],
    }
