# SPDX-License-Identifier: Apache-2.0
"""Runs a plan: blocks of cells in random order, each block in a new process.

The runner is the supervisor: every run has a deadline, and the runner stops a harness that misses
it. A run that crashes or overruns becomes a record too, ends its own cell, and leaves other cells
alone.
"""

from __future__ import annotations

import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from msgspec import to_builtins
from msgspec.structs import replace

from lockyard.errors import MissingCapabilityError
from lockyard.harness import BAD_JOB_STATUS, Harness, Record
from lockyard.machine.guardian import Guarded
from lockyard.machine.processor_use import processor_use, used_between
from lockyard.machine.procfs import KernelFiles
from lockyard.measure.build_load import running_build
from lockyard.measure.plan import order_of_block
from lockyard.program import ProgramDiedError, ProgramOverrunError
from lockyard.records import types
from lockyard.records.types import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from lockyard.advice.design import Design
    from lockyard.measure.build_load import Commands
    from lockyard.measure.cell import Cell

# A run ends by itself soon after its limit; a run that takes this much longer hangs.
GRACE_S = 10.0
REHEARSAL_S = 0.001
# Traces are large: the first runs of a cell keep theirs, the others measure the cost of tracing.
TRACED_RUNS = 4
TREE = KernelFiles()


@dataclass
class _State:
    """The progress of a cell."""

    cell: Cell
    spent_s: float = 0.0
    runs: int = 0
    ended: bool = False

    @property
    def wants_more(self) -> bool:
        return not self.ended and self.runs < self.cell.runs and self.cell.limit_s(self.spent_s) > 0

    def count(self, record: Record) -> None:
        self.spent_s += record["spent_s"]
        self.runs += 1
        self.ended = record["status"] != "ok"


@dataclass
class Runner:
    cells: Sequence[Cell]
    seed: int
    environment: dict[str, Any]
    machine: Guarded = field(default_factory=Guarded)
    done: Sequence[Record] = ()  # records of an earlier measurement of these cells
    traces: Path | None = None  # folder for the traces that some studies keep
    tracing_studies: Collection[str] = ()
    build: Commands = field(default_factory=list)  # the commands of a build as background load
    grace_s: float = GRACE_S
    on_run: Callable[[Cell], None] = lambda _cell: None  # called before each run
    design: Design | None = None  # decides which cells are measured on; None: all of them
    _states: list[_State] = field(init=False)  # by place in the plan
    _isolated: Path | None = field(init=False, default=None)  # the control group to join
    _idle_since: float = field(init=False, default_factory=time.monotonic)  # the last run's end

    def __post_init__(self) -> None:
        self._states = [_State(cell) for cell in self.cells]
        for record in self.done:
            self._states[record["cell"]].count(record)

    def rehearse(self) -> None:
        """Tries each set of conditions before anything is measured. Raises MissingCapabilityError
        if one is unavailable."""
        each = {(cell.threads, cell.pinning, cell.conditions): cell for cell in self.cells}
        for cell in each.values():
            self._arrange(cell)
            job = replace(self._job(cell, 0, REHEARSAL_S), rehearse=True)
            # Crashes and hangs unrelated to the conditions are reported by the run itself.
            with suppress(ProgramDiedError, ProgramOverrunError), Harness() as harness:
                record = harness.run(job, self.grace_s)
                if record["status"] != "ok":
                    raise MissingCapabilityError(record["reason"])

    def remaining_runs(self) -> Iterator[tuple[Cell, int]]:
        """Yields the number of runs that each cell still gets, unless its time runs out first."""
        for state in self._states:
            yield state.cell, state.cell.runs - state.runs if state.wants_more else 0

    def records(self) -> Iterator[Record]:
        """Yields the records; continues in the block in which an earlier measurement stopped."""
        block = max((record["block"] for record in self.done), default=0)
        measured = {each["cell"] for each in self.done if each["block"] == block}
        places = range(len(self.cells))
        while pending := self._pending(block):
            order = order_of_block(places, self.seed, block)
            left = [place for place in order if place in pending and place not in measured]
            yield from self._block(left, block)
            measured = set()
            block += 1

    def _pending(self, block: int) -> set[int]:
        pending = {place for place, state in enumerate(self._states) if state.wants_more}
        return pending if self.design is None else pending & self.design.places(block)

    def _block(self, places: Sequence[int], block: int) -> Iterator[Record]:
        harness: Harness | None = None
        try:
            for place in places:
                if self.design is not None and self.design.is_over:
                    break
                harness = harness or Harness()
                record = self._run(harness, place, block)
                if self._states[place].ended:
                    harness.close()
                    harness = None
                yield record
        finally:
            if harness is not None:
                harness.close()

    def _run(self, harness: Harness, place: int, block: int) -> Record:
        state = self._states[place]
        cell = state.cell
        self.on_run(cell)
        between_s = time.monotonic() - self._idle_since
        self._arrange(cell)
        time.sleep(cell.conditions.rest_s)
        before = processor_use(TREE)
        limit_s = cell.limit_s(state.spent_s)
        started = time.monotonic()
        job = replace(self._job(cell, block, limit_s), trace=self._trace(place, block))
        try:
            with self._load_of(cell):
                started = time.monotonic()  # starting a build is not the cell's time
                record = harness.run(job, limit_s + self.grace_s)
        except ProgramOverrunError as error:
            record = _failed(job, "overrun", str(error))
        except ProgramDiedError as error:
            if error.program_status == BAD_JOB_STATUS:
                raise
            record = _failed(job, "crashed", str(error))
        self._idle_since = time.monotonic()
        record["conditions"] = {**record["conditions"], "load": cell.conditions.load}
        record["cell"] = place
        record["spent_s"] = round(self._idle_since - started, 6)
        record["between_s"] = round(between_s, 6)
        record["processors"] = used_between(before, processor_use(TREE))
        if source := self.environment.get("harness", {}).get("own_locks", {}).get(cell.lock):
            record["lock_source"] = source
        state.count(record)
        if self.design is not None:
            self.design.count(place, record)
        return record

    def _job(self, cell: Cell, block: int, limit_s: float) -> types.Job:
        job = cell.job(block, limit_s, self.seed + block, self.environment)
        if cell.conditions.quota_cpus is not None:
            job.cgroup = str(self.machine.cgroups[cell.conditions.quota_cpus])
        elif self._isolated is not None:
            job.cgroup = str(self._isolated)
        if cell.conditions.load_kind is not None:
            job.conditions.load = 0  # it is ours, not the harness's
        return job

    def _load_of(self, cell: Cell) -> AbstractContextManager[object]:
        """Returns the build that has to run meanwhile, if any; other loads are the harness's."""
        if cell.conditions.load_kind is None:
            return nullcontext()
        return running_build(self.build, cell.conditions.load, cell.conditions.load_nice)

    def _arrange(self, cell: Cell) -> None:
        """Brings the machine's settings about, if they differ from the last run's."""
        self._isolated = self.machine.arrange(cell.conditions.machine)

    def _trace(self, place: int, block: int) -> str | None:
        """Returns the file for a run's trace, or None if the run is not traced."""
        traced = self.cells[place].study in self.tracing_studies and block < TRACED_RUNS
        if self.traces is None or not traced:
            return None
        self.traces.mkdir(parents=True, exist_ok=True)
        return str(self.traces / f"{place}.{block}.trace")


def _failed(job: types.Job, status: types.Status, reason: str) -> Record:
    """Returns the record of a run that the harness could not write."""
    clock = types.RunClock(source=job.clock.source, ns_per_tick=job.clock.ns_per_tick)
    run = types.Run(
        schema=SCHEMA,
        study=job.study,
        lock=job.lock,
        conditions=job.conditions,
        block=job.block,
        run=job.run,
        status=status,
        reason=reason,
        clock=clock,
        values={},
        histograms={},
        stalls=[],
        checks={},
        environment=job.environment,
        cell=0,
        spent_s=0.0,
    )
    return cast("Record", to_builtins(run))
