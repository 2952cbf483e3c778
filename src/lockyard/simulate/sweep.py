# SPDX-License-Identifier: Apache-2.0
"""Simulates all combinations of the values of some parameters, here or on a cluster."""

from __future__ import annotations

import itertools
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from rich.progress import MofNCompleteColumn

from lockyard import options
from lockyard.campaign import handout
from lockyard.campaign.engine import LostError, Worker
from lockyard.campaign.pools import cluster
from lockyard.documents import print_document
from lockyard.errors import ExitStatus, LockyardError, UsageError
from lockyard.measure.progress import bar
from lockyard.measure.session import say
from lockyard.simulate import spread, text
from lockyard.simulate.document import SimulatedCell, SweepDocument, SweptCell
from lockyard.simulate.machines import nearest
from lockyard.simulate.run import cells_of
from lockyard.simulate.simulator import SimulatorPool, abilities, replies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from lockyard.campaign.engine import Running
    from lockyard.campaign.pools import ClusterPool
    from lockyard.program import Job
    from lockyard.simulate.request import Cell
    from lockyard.simulate.run import Wanted
    from lockyard.simulate.simulator import Abilities
    from lockyard.simulate.spread import Simulated

# Parameters that may have several values without being swept.
LISTED = ("scheduler", "threads")


def _threads(wanted: Wanted, value: str) -> Wanted:
    return replace(wanted, threads=options.threads("--sweep threads", value))


def _hold(wanted: Wanted, value: str) -> Wanted:
    length_ns = options.duration_ns("--sweep hold", value)
    return replace(wanted, work={**wanted.work, "hold_ns": length_ns})


def _gap(wanted: Wanted, value: str) -> Wanted:
    length_ns = options.duration_ns("--sweep gap", value)
    return replace(wanted, work={**wanted.work, "gap_ns": length_ns})


def _workload(wanted: Wanted, value: str) -> Wanted:
    return replace(wanted, work={**wanted.work, "workload": value})


# The other parameters that can be swept are the names of --set.
SWEPT: dict[str, Callable[[Wanted, str], Wanted]] = {
    "threads": _threads,
    "hold": _hold,
    "gap": _gap,
    "workload": _workload,
    "machine": lambda wanted, value: replace(wanted, machine=value),
    "scheduler": lambda wanted, value: replace(wanted, scheduler=value),
    "background": lambda wanted, value: replace(wanted, background=value),
}


@dataclass(frozen=True)
class Point:
    """One lock with one value of each swept parameter, and the variations for its range."""

    at: Mapping[str, str]
    cell: Cell
    variations: Sequence[tuple[str, Cell]]
    listed: Sequence[str] = ()  # the parameters of LISTED that have several values

    def __str__(self) -> str:
        named = (f"{name} {value}" for name, value in self.named.items())
        return ", ".join([self.cell.lock, *named])

    @property
    def named(self) -> dict[str, str]:
        """The values of all parameters that tell the point from other points of its lock."""
        return {**self.at, **{name: str(getattr(self.cell, name)) for name in self.listed}}

    @property
    def jobs(self) -> list[Job]:
        return [each.to_job() for _, each in self.variations]


@dataclass
class Found:
    points: dict[int, Simulated] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    interrupted: bool = False
    error: LockyardError | None = None  # the error that ended the sweep
    unfinished: list[str] = field(default_factory=list)  # the points left when `error` came

    @property
    def status(self) -> ExitStatus:
        if self.interrupted:
            return ExitStatus.INTERRUPTED
        if self.error is not None:
            return ExitStatus(self.error.status)
        return ExitStatus.CHECK_FAILED if self.failed else ExitStatus.DONE


class Workers(Protocol):
    def workers(self) -> Sequence[Worker]: ...

    def start(self, worker: Worker, jobs: list[Job]) -> Running: ...


class HereTask:
    def __init__(self, future: Future[list[Any]]) -> None:
        self._future = future

    def result(self) -> dict[str, Any] | None:
        if not self._future.done():
            return None
        try:
            return {"results": self._future.result()}
        except LockyardError as error:
            return {"failure": str(error)}

    def cancel(self) -> None:
        self._future.cancel()


class HereWorkers:
    """The processors of this machine."""

    def __init__(self, pool: SimulatorPool) -> None:
        self._pool = pool

    def workers(self) -> Sequence[Worker]:
        return [Worker("here", "here", self._pool.size)]

    def start(self, _worker: Worker, jobs: list[Job]) -> Running:
        return HereTask(self._pool.submit(jobs))


class ClusterWorkers:
    def __init__(self, pool: ClusterPool) -> None:
        self._pool = pool

    def workers(self) -> Sequence[Worker]:
        return self._pool.workers()

    def start(self, worker: Worker, jobs: list[Job]) -> Running:
        return self._pool.call(worker, replies, jobs)


def show(wanted: Wanted, sweeps: Sequence[str], address: str, *, as_json: bool) -> ExitStatus:
    """Simulates the points and shows them; Ctrl-C keeps those that are done. Raises the error that
    ended the sweep, after showing the points that were done before."""
    of = abilities()
    axes = known_axes(sweeps, of)
    points = points_of(wanted, axes, of)
    if address and wanted.user_locks is not None:
        raise UsageError(
            "--lock and --cluster exclude each other, because the lock is compiled on this machine "
            "alone; drop one"
        )
    say(f"{len(points)} cells, {sum(len(each.variations) for each in points)} simulations")
    with _workers(address, len(points)) as workers, _progress(len(points)) as on_done:
        found = simulated(points, workers, on_done)
    done = [(points[index], each) for index, each in sorted(found.points.items())]
    if as_json:
        print_document(_document(wanted, axes, len(points), done, found))
    else:
        _print(f"{wanted.study}, simulated", len(points), done, found)
    if found.error is not None:
        raise found.error
    return found.status


def _print(title: str, count: int, done: Sequence[tuple[Point, Simulated]], found: Found) -> None:
    if done:
        rows = [(point.named, each) for point, each in done]
        text.print_swept(title, list(rows[0][0]), rows)
    for failure in found.failed:
        say(f"no result: {failure}")
    if found.interrupted:
        say(f"interrupted: {len(done)} of {count} cells are shown")
    elif found.error is not None:
        say(f"the sweep ended early: {len(done)} of {count} cells are shown")


def known_axes(sweeps: Sequence[str], of: Abilities) -> dict[str, list[str]]:
    """Returns the values of each swept parameter. Raises UsageError."""
    known = [*SWEPT, *of.settings]
    axes: dict[str, list[str]] = {}
    for each in sweeps:
        name, _, listed = each.partition("=")
        values = [value.strip() for value in listed.split(",")]
        if not all(values):
            raise UsageError(f"--sweep {each}: not NAME=VALUE,..., as in threads=1,4,16")
        if name not in known:
            raise UsageError(f"--sweep {name}: no such parameter; {nearest(name, known)}")
        if name in axes:
            raise UsageError(f"--sweep {name}: given twice; put all values into one list")
        axes[name] = list(dict.fromkeys(values))
    return axes


def points_of(wanted: Wanted, axes: Mapping[str, Sequence[str]], of: Abilities) -> list[Point]:
    """Returns a point for each lock and each combination of values. Raises UsageError."""
    points = list(_points(wanted, axes, of))
    listed = [
        name
        for name in LISTED
        if name not in axes and len({getattr(each.cell, name) for each in points}) > 1
    ]
    return [replace(each, listed=listed) for each in points]


def _points(wanted: Wanted, axes: Mapping[str, Sequence[str]], of: Abilities) -> Iterator[Point]:
    for values in itertools.product(*axes.values()):
        at = dict(zip(axes, values, strict=True))
        chosen = wanted
        for name, value in at.items():
            change = SWEPT.get(name)
            if change is not None:
                chosen = change(chosen, value)
            else:
                chosen = replace(chosen, settings=[*chosen.settings, f"{name}={value}"])
        backgrounds = spread.default_backgrounds(chosen.background)
        for cell in cells_of(chosen, of):
            variations = list(spread.variations(cell, backgrounds, wanted.sensitivity))
            yield Point(at, cell, variations)


@contextmanager
def _workers(address: str, most: int) -> Iterator[Workers]:
    with cluster(address) if address else nullcontext() as there:
        if there is not None:
            yield ClusterWorkers(there)
            return
        with SimulatorPool(most) as pool:
            yield HereWorkers(pool)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """Shows the cells done, on standard error and only on a terminal."""
    with bar("cells", MofNCompleteColumn(), total) as (progress, task):
        yield lambda: progress.advance(task)


def simulated(points: Sequence[Point], on: Workers, on_done: Callable[[], None]) -> Found:
    """Simulates the points. Keeps what is done if Ctrl-C or an error ends the sweep."""
    found = Found()
    left = dict.fromkeys(range(len(points)))
    calls = handout.Calls(
        len(points),
        on.workers,
        lambda worker, index: on.start(worker, points[index].jobs),
        "nothing more was simulated",
    )
    try:
        for index, reply in handout.replies(calls):
            del left[index]
            if "failure" in reply:
                found.failed.append(f"{points[index]}: {reply['failure']}")
            else:
                results = reply["results"]
                found.points[index] = spread.summary(points[index].variations, results)
            on_done()
    except KeyboardInterrupt:
        found.interrupted = True
    except (LockyardError, LostError) as error:
        found.error = error if isinstance(error, LockyardError) else _lost_cluster(error)
        found.unfinished = [f"{points[index]}: {found.error}" for index in left]
    return found


def _lost_cluster(error: LostError) -> LockyardError:
    return LockyardError(
        f"the cluster no longer answers ({error}), so nothing more was simulated; check that its "
        "scheduler and workers run, and start the sweep again"
    )


def _document(
    wanted: Wanted,
    axes: Mapping[str, list[str]],
    count: int,
    done: Sequence[tuple[Point, Simulated]],
    found: Found,
) -> SweepDocument:
    points = [SweptCell(point.at, SimulatedCell.of(each)) for point, each in done]
    failed = [*found.failed, *found.unfinished]
    return SweepDocument(wanted.study, wanted.seed, axes, count, points, failed)
