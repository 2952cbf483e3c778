# SPDX-License-Identifier: Apache-2.0
"""A measurement from its first record to its exit status; report and measure share it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from lockyard import harness
from lockyard.errors import ExitStatus, UsageError
from lockyard.machine import environment
from lockyard.machine.conditions import autogroup_enabled
from lockyard.machine.guardian import changed_machine
from lockyard.machine.journal import recover
from lockyard.machine.procfs import KernelFiles
from lockyard.measure.build_load import build_commands
from lockyard.measure.cell import Cell
from lockyard.measure.parameters import check_clock
from lockyard.measure.progress import shown_progress
from lockyard.measure.runner import Runner
from lockyard.measure.sweep import in_words, runs_in_words, time_in_words
from lockyard.measure.timing import total
from lockyard.records import RecordWriter, traces_beside
from lockyard.records.types import SCHEMA
from lockyard.report.clock import why_refused
from lockyard.user_locks.lock_spec import UserLocks

if TYPE_CHECKING:
    from pathlib import Path

    from lockyard.advice.design import Design
    from lockyard.harness import Record
    from lockyard.records import RecordFile


@dataclass
class Measured:
    environment: dict[str, Any]
    runs: list[Record] = field(default_factory=list)
    interrupted: bool = False
    path: Path | None = None

    @property
    def status(self) -> ExitStatus:
        if self.interrupted:
            return ExitStatus.INTERRUPTED
        if any(run["status"] == "crashed" or not checks_hold(run) for run in self.runs):
            return ExitStatus.CHECK_FAILED
        if any(run["status"] == "overrun" for run in self.runs):
            return ExitStatus.INCONCLUSIVE
        of_locks = [run["status"] for run in self.runs if run["lock"] is not None]
        if of_locks and set(of_locks) == {"unavailable"}:
            return ExitStatus.MISSING_CAPABILITY
        return ExitStatus.DONE


def checks_hold(record: Record) -> bool:
    """Tells whether no check failed; a check that does not apply is None."""
    return all(value is not False for value in record["checks"].values())


class Plan(msgspec.Struct, frozen=True, tag_field="record", tag="plan"):
    """Everything that defines a measurement; a file keeps it, so that --resume can continue."""

    command: str
    cells: Sequence[Cell]
    seed: int
    reference: str | None  # the lock that tables compare with
    # The user locks that the harness was built with.
    user_locks: UserLocks | None = msgspec.field(default=None, name="own")
    schema: Literal[2] = SCHEMA

    def to_json(self) -> Record:
        return cast("Record", msgspec.to_builtins(self))

    @classmethod
    def from_json(cls, document: Record) -> Plan:
        """Raises msgspec.ValidationError, a ValueError, if the document has another form."""
        return msgspec.convert(document, cls)

    def check_run(self, run: Record) -> None:
        """Raises one of Python's own exceptions if a run does not belong to this plan."""
        cell = self.cells[run["cell"]]
        asked = (cell.study, cell.lock, cell.threads)
        if asked != (run["study"], run["lock"], run["conditions"]["threads"]):
            raise ValueError(f"cell {run['cell']} is {cell.label}")
        if min(int(run["block"]), run["cell"], float(run["spent_s"])) < 0:
            raise ValueError("a number below 0")

    @property
    def autogroup(self) -> bool | None:
        """Returns the value to change the machine's setting to, the same for all cells, or None."""
        wanted = {cell.conditions.autogroup for cell in self.cells} - {autogroup_enabled()}
        return wanted.pop() if wanted else None

    @property
    def has_settings(self) -> bool:
        """Tells whether any cell has settings of the machine."""
        return any(cell.conditions.machine for cell in self.cells)

    @property
    def quotas_cpus(self) -> set[float]:
        found = {cell.conditions.quota_cpus for cell in self.cells}
        return {quota_cpus for quota_cpus in found if quota_cpus is not None}


def measure(  # noqa: PLR0913 - what to measure, where the records go, and when to stop
    plan: Plan,
    path: Path | None,
    to_stdout: bool,
    refuse_unavailable: bool,
    resume: RecordFile | None = None,
    design: Design | None = None,
) -> Measured:
    """Measures a plan, or what a design still wants of it; Ctrl-C ends the measurement and keeps
    its records. With refuse_unavailable, an unavailable condition is an error; a lock whose library
    is missing never is."""
    measured = Measured(environment.collect(), path=path)
    catalog = harness.catalog()
    check_clock(plan.cells, catalog.studies, measured.environment["clock"])
    missing = catalog.missing_locks
    if resume is not None:
        check_same_machine(resume.environment, measured.environment)
        check_same_clock(resume.environment, measured.environment)
        measured.runs += resume.runs
    for problem in recover(KernelFiles()):
        say(f"a setting that a killed measurement left could not be restored: {problem}")
    writer = RecordWriter(path, to_stdout, resume)
    say(_announcement(plan, len(measured.runs), design))
    try:
        with (
            changed_machine(plan.autogroup, plan.quotas_cpus, plan.has_settings) as machine,
            build_commands(plan.cells) as build,
        ):
            done = list(measured.runs)
            runner = Runner(
                plan.cells,
                plan.seed,
                measured.environment,
                machine,
                done,
                build=build,
                traces=traces_beside(path) if path else None,
                tracing_studies=catalog.tracing_studies,
                design=design,
            )
            if refuse_unavailable:
                runner.rehearse()
            writer.write(measured.environment)
            if resume is None:
                writer.write(plan.to_json())
            with shown_progress(runner):
                for record in runner.records():
                    refused = record["status"] == "unavailable" and record["lock"] not in missing
                    if refuse_unavailable and refused:
                        raise UsageError(record["reason"])
                    writer.write(record)
                    measured.runs.append(record)
    except KeyboardInterrupt:
        measured.interrupted = True
        kept = path is not None or to_stdout
        say("interrupted; the records so far are kept" if kept else "interrupted")
        if path is not None and plan.command == "measure":
            say(f"to continue: lockyard measure --resume {path}")
    finally:
        writer.close()
    return measured


def check_same_machine(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuses to continue a measurement on another machine, or on one whose setup has changed."""
    if before.get("environment") == now["environment"]:
        return
    parts = ("system", "cpu", "scheduler", "limits", "harness")
    changed = [
        f"{part}.{key}"
        for part in parts
        for key in now[part]
        if before.get(part, {}).get(key) != now[part][key]
    ]
    raise UsageError(
        f"the environment has changed since the file was written ({', '.join(changed) or 'unknown'}"
        "), so new runs would not be comparable and nothing was measured; measure again with --out"
    )


def check_same_clock(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuses to mix clocks in one file: a harness that cannot compare the cores, for example on a
    busy machine, uses another clock."""
    source = before["clock"]["source"]
    if source != now["clock"]["source"]:
        why = why_refused(now["clock"])
        reason = f" (the time-stamp counter is not used: {why})" if why else ""
        raise UsageError(
            f"the file's runs were timed by {source}, but the clock is now "
            f"{now['clock']['source']}{reason}, so new runs would not be comparable and nothing "
            "was measured; try again on a quiet machine, or measure again with --out"
        )


def _announcement(plan: Plan, done: int, design: Design | None) -> str:
    whole = total(plan.cells)
    cells = "1 cell" if len(plan.cells) == 1 else f"{len(plan.cells)} cells"
    if design is not None:
        return (
            f"measuring {cells} until their answers are decided, at most "
            f"{in_words(design.budget_s)} (seed {plan.seed})"
        )
    text = f"measuring {cells} in {runs_in_words(whole)}, {time_in_words(whole)} (seed {plan.seed})"
    return f"{text}; {done} runs are already in the file" if done else text


def say(message: str) -> None:
    """Prints a message on standard error, since standard output is for data."""
    print(message, file=sys.stderr)  # noqa: T201
