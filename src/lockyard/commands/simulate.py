# SPDX-License-Identifier: Apache-2.0
"""lockyard simulate: runs locks on machines, and under schedulers, that are not here."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from lockyard.errors import ExitStatus, UsageError
from lockyard.simulate import likeness, machines, own, published, request, spread, text
from lockyard.simulate.simulator import abilities

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lockyard.simulate.published import Figure
    from lockyard.simulate.simulator import Abilities
    from lockyard.simulate.spread import Simulated
    from lockyard.user_locks.given import Given

IDLE_LOOPS = 16384
TIMED_BACKGROUND = "server"


@dataclasses.dataclass(frozen=True)
class Asked:
    """The options of `lockyard simulate`."""

    study: str
    locks: str
    machine: str
    scheduler: str
    threads: Sequence[int] | None
    background: str
    changes: Sequence[str]
    work: request.Work
    seed: int
    own_locks: Given | None = None


def run(asked: Asked, sensitivity: bool, explain: bool, as_json: bool) -> ExitStatus:
    of = abilities()
    cells = _cells(asked, of)
    backgrounds = spread.default_backgrounds(asked.background)
    found = spread.simulate(cells, backgrounds, sensitivity)
    if as_json:
        print(json.dumps(_document(asked, found)))  # noqa: T201
    else:
        text.print_simulated(f"{asked.study} on {asked.machine}, simulated", found, explain)
    return ExitStatus.DONE


def run_published(as_json: bool) -> ExitStatus:
    figures = published.compared(abilities())
    _show_compared("published figures, simulated", "published", figures, (), as_json)
    return ExitStatus.DONE


def run_like(path: Path, machine: str, as_json: bool) -> ExitStatus:
    of = abilities()
    found = likeness.like(path, machines.load(machine, of), of)
    _show_compared(f"{path}, simulated", "measured", found.figures, found.notes, as_json)
    return ExitStatus.DONE


def _show_compared(
    title: str, reference: str, figures: list[Figure], notes: Sequence[str], as_json: bool
) -> None:
    agreements = published.agreements(figures)
    if as_json:
        document = {
            "figures": [dataclasses.asdict(each) for each in figures],
            "agreement": [dataclasses.asdict(each) for each in agreements],
            "notes": list(notes),
        }
        print(json.dumps(document))  # noqa: T201
    else:
        text.print_compared(title, reference, figures, agreements, notes)


def _cells(asked: Asked, of: Abilities) -> list[request.Cell]:
    if not asked.study:
        raise UsageError(f"nothing to simulate: name a study, one of {', '.join(of.studies)}, or "
                         "give --against-published or --like FILE")  # fmt: skip
    study = request.known_study(asked.study, of)
    machine = machines.load(asked.machine, of)
    schedulers = request.known_schedulers(asked.scheduler, of)
    machine, parameters = request.adjusted(machine, schedulers, asked.changes, of)
    threads = asked.threads or [machine.processors]
    request.check_threads(threads, machine, of)
    cell = request.Cell(
        study=study,
        lock="",
        machine=machine,
        scheduler="",
        threads=0,
        work=_work(asked.work, study, of),
        parameters={},
        background=request.known_background(asked.background or TIMED_BACKGROUND),
        seed=asked.seed,
    )
    locks = request.known_locks(asked.locks, of)
    combined = request.cells(cell, locks, schedulers, threads)
    if asked.own_locks is not None:
        mine = dataclasses.replace(cell, module=str(own.module_of(asked.own_locks)))
        combined += request.cells(mine, asked.own_locks.names, schedulers, threads)
    return [
        dataclasses.replace(
            each,
            parameters={
                one["name"]: parameters[one["name"]]
                for one in of.schedulers[each.scheduler]["parameters"]
                if one["name"] in parameters
            },
        )
        for each in combined
    ]


def _work(asked: request.Work, study: str, of: Abilities) -> request.Work:
    """Returns the work with the study's own defaults. Raises if an option does not apply."""
    if asked.loops and study not in ("wait", "idle"):
        raise UsageError(f"--loops applies only to wait and idle; {study} runs for a time: give "
                         "--for")  # fmt: skip
    if asked.runs > 1 and not asked.loops and study != "idle":
        raise UsageError("--runs applies only with --loops; give --loops, or drop --runs")
    if asked.workload not in of.workloads:
        raise UsageError(f"--workload {asked.workload}: no such workload; "
                         f"{machines.nearest(asked.workload, of.workloads)}")  # fmt: skip
    if study == "scale" and (asked.hold_ns or asked.gap_ns):
        raise UsageError("--hold and --gap do not apply to scale, whose workloads define the work; "
                         "drop them")  # fmt: skip
    if study == "idle" and not asked.loops:
        return dataclasses.replace(asked, loops=IDLE_LOOPS)
    return asked


def _document(asked: Asked, found: Sequence[Simulated]) -> dict[str, Any]:
    return {
        "study": asked.study,
        "machine": asked.machine,
        "seed": asked.seed,
        "cells": [
            {
                "lock": each.cell.lock,
                "scheduler": each.cell.scheduler,
                "threads": each.cell.threads,
                "figures": {
                    name: dataclasses.asdict(figure) for name, figure in each.figures.items()
                },
                "counted": dict(each.counted),
                "virtual_ns": each.virtual_ns,
            }
            for each in found
        ],
    }
