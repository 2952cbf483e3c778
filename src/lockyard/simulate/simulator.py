# SPDX-License-Identifier: Apache-2.0
"""The simulator: its location, what it offers, and a pool of its processes."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from lockyard.errors import ExitStatus, LockyardError, UsageError
from lockyard.program import Job, Program, ProgramDiedError, program_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

LONGEST_S = 600.0


class SimulationFailedError(LockyardError):
    """The simulated program cannot go on, because of the lock or the machine."""

    status = ExitStatus.CHECK_FAILED


@dataclass(frozen=True)
class Abilities:
    """What the simulator offers. All of it is declared in C++."""

    studies: dict[str, dict[str, Any]]  # with their summaries, and what they do by default
    pools: list[str]  # which some studies measure instead of locks
    locks: dict[str, str]  # with their seed names
    schedulers: dict[str, dict[str, Any]]
    costs: dict[str, str]  # with their meanings
    workloads: list[str]
    most_threads: int

    @property
    def settings(self) -> list[str]:
        """The names of --set: the costs, and the parameters of all schedulers."""
        parameters = {
            one["name"] for each in self.schedulers.values() for one in each["parameters"]
        }
        return list(dict.fromkeys([*self.costs, *sorted(parameters)]))


def simulator_path() -> Path:
    """The simulator of this installation, or the one that LOCKYARD_SIMULATOR names."""
    return program_path("simulator", "LOCKYARD_SIMULATOR", "no machine can be simulated")


def abilities() -> Abilities:
    with Simulator() as one:
        found = one.answer({"ask": "list"})
    return Abilities(
        studies={each["name"]: each for each in found["studies"]},
        pools=found["pools"],
        locks={each["name"]: each["seed_name"] for each in found["locks"]},
        schedulers={each["name"]: each for each in found["schedulers"]},
        costs={each["name"]: each["meaning"] for each in found["costs"]},
        workloads=found["workloads"],
        most_threads=found["most_threads"],
    )


class Simulator:
    """A process that answers jobs, one after the other."""

    def __init__(self) -> None:
        self._program = Program("simulator", simulator_path())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._program.close()

    def answer(self, job: Job) -> Any:
        self._program.send(job)
        reply = self._program.receive(LONGEST_S)
        if "result" in reply:
            return reply["result"]
        if "failure" in reply:
            raise SimulationFailedError(f"{job.get('lock')}: {reply['failure']}")
        if "error" in reply:
            raise UsageError(f"the simulator refuses the job: {reply['error']}")
        raise ProgramDiedError("simulator", 0, f"it wrote no result but: {reply}"[:200])


def replies(jobs: Sequence[Job]) -> dict[str, Any]:
    """Returns the results of the jobs, or why there are none. It is called by name on the workers
    of a cluster, so it takes and returns plain values."""
    try:
        with Simulator() as one:
            return {"results": [one.answer(job) for job in jobs]}
    except LockyardError as error:
        return {"failure": str(error)}


class SimulatorPool:
    """Processes of the simulator, at most one for each processor, which start when needed."""

    def __init__(self, most: int) -> None:
        self.size = max(1, min(most, len(os.sched_getaffinity(0))))
        self._executor = ThreadPoolExecutor(self.size)
        self._of_thread = threading.local()
        self._started: list[Simulator] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        for each in list(self._started):
            self._close(each)
        self._executor.shutdown(wait=True)

    def submit(self, jobs: Sequence[Job]) -> Future[list[Any]]:
        return self._executor.submit(self._answers, jobs)

    def _answers(self, jobs: Sequence[Job]) -> list[Any]:
        if not hasattr(self._of_thread, "simulator"):
            self._of_thread.simulator = Simulator()
            self._started.append(self._of_thread.simulator)
        try:
            return [self._of_thread.simulator.answer(job) for job in jobs]
        except (SimulationFailedError, UsageError):
            raise  # the process has replied to the job
        except LockyardError:
            # The process is dead, or still owes the reply to this job. The next job needs another
            # process.
            lost = self._of_thread.simulator
            del self._of_thread.simulator
            self._close(lost)
            raise

    def _close(self, started: Simulator) -> None:
        """Closes the process unless another thread closes it."""
        try:
            self._started.remove(started)
        except ValueError:
            return
        started.close()


def answers(jobs: Iterable[Job]) -> Iterator[dict[str, Any]]:
    """Yields the results in the order of the jobs."""
    wanted = list(jobs)
    with SimulatorPool(len(wanted)) as pool:
        for each in [pool.submit([job]) for job in wanted]:
            yield each.result()[0]
