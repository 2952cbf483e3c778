# SPDX-License-Identifier: Apache-2.0
"""Simulates the cells that a command names, and shows their figures."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockyard.documents import print_document
from lockyard.errors import UsageError
from lockyard.measure.session import say
from lockyard.simulate import likeness, machines, own, published, request, spread, text
from lockyard.simulate.document import AgreementDocument, SimulatedCell, SimulationDocument
from lockyard.simulate.simulator import Simulator, abilities

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lockyard.simulate.published import Figure
    from lockyard.simulate.simulator import Abilities
    from lockyard.simulate.spread import Simulated
    from lockyard.user_locks.lock_spec import UserLocks

IDLE_LOOPS = 16384
TIMED_BACKGROUND = "server"


@dataclass(frozen=True)
class Wanted:
    """The cells as they are named; an empty name stands for the default."""

    study: str
    machine: str
    scheduler: str
    threads: Sequence[int] | None
    locks: str
    pools: str
    user_locks: UserLocks | None
    work: Mapping[str, Any]  # the fields of request.Work that are given
    background: str
    settings: Sequence[str]
    seed: int
    sensitivity: bool


def show(wanted: Wanted, trace: Path | None, *, explain: bool, as_json: bool) -> None:
    """Simulates the cells and shows them; writes the trace of a single cell."""
    cells = cells_of(wanted, abilities())
    if trace is not None:
        _write_trace(trace, cells)
    backgrounds = spread.default_backgrounds(wanted.background)
    found = spread.simulate(cells, backgrounds, wanted.sensitivity)
    if as_json:
        print_document(_document(wanted, found))
    else:
        text.print_simulated(f"{wanted.study} on {wanted.machine}, simulated", found, explain)


def _write_trace(path: Path, cells: Sequence[request.Cell]) -> None:
    if len(cells) != 1:
        raise UsageError(
            f"--trace {path}: a trace shows one run, but {len(cells)} cells are simulated; choose "
            "one lock, one scheduler and one number of threads"
        )
    with Simulator() as one:
        one.answer(cells[0].to_job() | {"trace": str(path.absolute())})
    say(f"trace: {path}; explain it by lockyard explain --file {path}")


def show_published(as_json: bool) -> None:
    """Shows the published tables next to their simulation."""
    figures = published.compared(abilities())
    notes = published.cliffs(figures)
    _show_compared("published figures, simulated", "published", figures, notes, as_json)


def show_like(path: Path, machine: str, as_json: bool) -> None:
    """Shows measured records next to their simulation."""
    of = abilities()
    found = likeness.like(path, machines.load(machine, of), of)
    _show_compared(f"{path}, simulated", "measured", found.figures, found.notes, as_json)


def _show_compared(
    title: str, reference: str, figures: list[Figure], notes: Sequence[str], as_json: bool
) -> None:
    agreements = published.agreements(figures)
    if as_json:
        print_document(AgreementDocument(figures, agreements, list(notes)))
    else:
        text.print_compared(title, reference, figures, agreements, notes)


def cells_of(wanted: Wanted, of: Abilities) -> list[request.Cell]:
    user_locks = wanted.user_locks
    if not wanted.study:
        raise UsageError(f"nothing to simulate: name a study, one of {', '.join(of.studies)}, or "
                         "give --against-published or --like FILE")  # fmt: skip
    study = request.known_study(wanted.study, of)
    machine = machines.load(wanted.machine, of)
    schedulers = request.known_schedulers(wanted.scheduler, of)
    machine, parameters = request.adjusted(machine, schedulers, wanted.settings, of)
    threads = wanted.threads or [of.studies[study]["threads"] or machine.processors]
    request.check_threads(threads, machine, of)
    cell = request.Cell(
        study=study,
        lock="",
        machine=machine,
        scheduler="",
        threads=0,
        work=_work(wanted.work, study, of),
        parameters={},
        background=request.known_background(wanted.background or TIMED_BACKGROUND),
        seed=wanted.seed,
    )
    locks = _subjects(wanted, study, of)
    combined = request.cells(cell, locks, schedulers, threads)
    if user_locks is not None:
        mine = dataclasses.replace(cell, module=str(own.module_of(user_locks)))
        combined += request.cells(mine, user_locks.names, schedulers, threads)
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


def _subjects(wanted: Wanted, study: str, of: Abilities) -> list[str]:
    """Returns the locks, or the pools of a study that measures pools."""
    if of.studies[study]["measures_pools"]:
        if wanted.locks or wanted.user_locks is not None:
            raise UsageError(f"{study} measures pools of workers, not locks; name --pools instead")
        return request.known_pools(wanted.pools or "all", of)
    if wanted.pools:
        raise UsageError(f"--pools: {study} measures locks; name --locks, or simulate workers")
    return request.known_locks(wanted.locks or request.DEFAULT_LOCKS, of)


def _work(given: Mapping[str, Any], study: str, of: Abilities) -> request.Work:
    """Returns the work with the study's own defaults. Raises if an option does not apply."""
    for name, (option, studies) in request.APPLIES.items():
        if name in given and study not in studies:
            raise UsageError(f"{option} applies only to {' and '.join(studies)}; drop it, or "
                             f"simulate that instead of {study}")  # fmt: skip
    usual = {name: of.studies[study][name] for name in ("duration_ns", "hold_ns", "gap_ns")}
    wanted = request.Work(**{**usual, **given})
    if study == "priority" and (wanted.pinned or wanted.lengths != "constant"):
        raise UsageError("--pin and --lengths do not apply to priority, whose threads share one "
                         "processor and whose times are constant; drop them")  # fmt: skip
    if wanted.loops and study not in ("wait", "idle"):
        raise UsageError(f"--loops applies only to wait and idle; {study} runs for a time: give "
                         "--for")  # fmt: skip
    if wanted.runs > 1 and not wanted.loops and study != "idle":
        raise UsageError("--runs applies only with --loops; give --loops, or drop --runs")
    if wanted.workload not in of.workloads:
        raise UsageError(f"--workload {wanted.workload}: no such workload; "
                         f"{machines.nearest(wanted.workload, of.workloads)}")  # fmt: skip
    if study == "scale" and (wanted.hold_ns or wanted.gap_ns):
        raise UsageError("--hold and --gap do not apply to scale, whose workloads define the work; "
                         "drop them")  # fmt: skip
    if study == "idle" and not wanted.loops:
        return dataclasses.replace(wanted, loops=IDLE_LOOPS)
    return wanted


def _document(wanted: Wanted, found: Sequence[Simulated]) -> SimulationDocument:
    cells = [SimulatedCell.of(each) for each in found]
    return SimulationDocument(wanted.study, wanted.machine, wanted.seed, cells)
