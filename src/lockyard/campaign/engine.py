# SPDX-License-Identifier: Apache-2.0
"""Hands tasks to machines and keeps their results; whatever was kept is not done again.

Tasks about machines are done by every machine, one at a time. Other tasks are done once, by any
worker. A task whose worker is lost is handed out again; nothing else of the campaign is lost.
"""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from lockyard.errors import ExitStatus, UsageError
from lockyard.records.tables import replaced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from lockyard.campaign.plan import Campaign, Task

# A task is handed out at most this often; one that takes its worker down each time is given up.
MOST_ATTEMPTS = 3
POLL_S = 0.1
# The message about the seconds without a worker, and the consequence.
NO_WORKER = (
    "no worker came within {:g} s, so {}; start workers with 'dask worker ADDRESS --nthreads 1 "
    "--no-nanny'"
)
# The name of the folder of tasks that any machine may do.
ANY_MACHINE = "any"
# Statuses of a task that are results, though not good news.
RESULTS = (ExitStatus.DONE, ExitStatus.CHECK_FAILED, ExitStatus.INCONCLUSIVE)


@dataclass(frozen=True)
class Worker:
    machine: str
    address: str
    slots: int = 1
    # When it last gave a sign of life, by the clock of the scheduler.
    last_seen: float = field(default=0.0, compare=False)


class Running(Protocol):
    """A task on a worker."""

    def result(self) -> dict[str, Any] | None:
        """Returns the result, or None as long as there is none. Raises LostError."""

    def cancel(self) -> None: ...


class LostError(Exception):
    """The worker is gone; the message says how that was noticed."""


class Pool(Protocol):
    def workers(self) -> Sequence[Worker]:
        """Returns the workers that are listed now; one that died may still be among them."""

    def start(self, worker: Worker, task: Task, limit_s: float) -> Running: ...


class Losses:
    """Tells which workers may get a task: a worker that lost a task gets no other task until the
    worker gives a sign of life. The list may still name a worker that was killed, and each task
    handed to that worker would cost an attempt."""

    def __init__(self) -> None:
        self._last_seen: dict[str, float] = {}  # by address, also of workers no longer listed
        self._lost_when_seen: dict[str, float] = {}  # the same, when a task was lost there

    def living(self, workers: Sequence[Worker]) -> list[Worker]:
        self._last_seen.update({each.address: each.last_seen for each in workers})
        lost = self._lost_when_seen
        return [
            each
            for each in workers
            if each.address not in lost or each.last_seen > lost[each.address]
        ]

    def record(self, address: str) -> None:
        """Records that the worker lost a task."""
        self._lost_when_seen[address] = self._last_seen[address]


@dataclass
class Job:
    task: Task
    target: Path
    machine: str
    attempts: int = 0


@dataclass
class Outcome:
    done: int = 0
    kept: int = 0  # done by an earlier campaign
    lost: list[str] = field(default_factory=list)  # events: a worker lost, a task started again
    failed: list[str] = field(default_factory=list)  # tasks without a result, with the reason
    interrupted: bool = False

    @property
    def status(self) -> ExitStatus:
        if self.interrupted:
            return ExitStatus.INTERRUPTED
        return ExitStatus.INCONCLUSIVE if self.failed else ExitStatus.DONE


class Engine:
    def __init__(
        self, campaign: Campaign, pool: Pool, patience_s: float, say: Callable[[str], None]
    ) -> None:
        """`patience_s` is how long the campaign waits for a worker while it has none to use."""
        self._campaign = campaign
        self._pool = pool
        self._patience_s = patience_s
        self._say = say
        self._queues: dict[str, deque[Job]] = {}  # by machine
        self._running: dict[str, list[tuple[Job, Running]]] = {}  # by the worker's address
        self._losses = Losses()
        self.outcome = Outcome()

    def run(self) -> Outcome:
        idle_since = time.monotonic()
        try:
            while True:
                workers = self._pool.workers()
                self._meet(workers)
                self._hand_out(self._losses.living(workers))
                was_busy = bool(self._running)
                self._collect()
                if was_busy:
                    idle_since = time.monotonic()
                elif not any(self._queues.values()) and self._queues:
                    break
                elif time.monotonic() - idle_since > self._patience_s:
                    self._give_up()
                    break
                time.sleep(POLL_S)
        except KeyboardInterrupt:
            self.outcome.interrupted = True
            for job, running in (each for some in self._running.values() for each in some):
                running.cancel()
                self.outcome.failed.append(f"{job.task} on {job.machine}: interrupted")
        return self.outcome

    def _meet(self, workers: Sequence[Worker]) -> None:
        """Plans the tasks of a machine that was not seen before."""
        machines = {worker.machine for worker in workers}
        if not self._campaign.is_of_machines:
            machines = {ANY_MACHINE} if workers else set()
        for machine in sorted(machines - self._queues.keys()):
            folder = self._campaign.out / machine
            jobs = [
                Job(task, folder / f"{task.name}.jsonl", machine) for task in self._campaign.tasks
            ]
            left = [job for job in jobs if not job.target.exists()]
            self.outcome.kept += len(jobs) - len(left)
            self._queues[machine] = deque(left)
            self._say(f"{machine}: {len(left)} tasks, {len(jobs) - len(left)} were done before")

    def _hand_out(self, workers: Sequence[Worker]) -> None:
        busy = {job.machine for some in self._running.values() for job, _ in some}
        for worker in workers:
            of_machines = self._campaign.is_of_machines
            machine = worker.machine if of_machines else ANY_MACHINE
            slots = 1 if of_machines else worker.slots
            queue = self._queues[machine]
            while queue and len(self._running.get(worker.address, ())) < slots:
                if of_machines and machine in busy:
                    break
                job = queue.popleft()
                job.attempts += 1
                busy.add(machine)
                running = self._pool.start(worker, job.task, self._campaign.limit_s)
                self._running.setdefault(worker.address, []).append((job, running))

    def _collect(self) -> None:
        for address, some in list(self._running.items()):
            left = [each for each in some if not self._is_over(address, *each)]
            if left:
                self._running[address] = left
            else:
                del self._running[address]

    def _is_over(self, address: str, job: Job, running: Running) -> bool:
        try:
            result = running.result()
        except LostError as error:
            self._losses.record(address)
            self._lost(job, str(error))
            return True
        if result is None:
            return False
        self._keep(job, result)
        return True

    def _lost(self, job: Job, reason: str) -> None:
        if job.attempts >= MOST_ATTEMPTS:
            self.outcome.failed.append(
                f"{job.task} on {job.machine}: its worker was lost {job.attempts} times"
            )
            return
        self._queues[job.machine].appendleft(job)
        event = f"{job.machine}: {reason}; {job.task} is started again"
        self.outcome.lost.append(event)
        self._say(event)

    def _keep(self, job: Job, result: dict[str, Any]) -> None:
        if result["status"] not in RESULTS or not result["output"].strip():
            reason = result["errors"].strip().splitlines() or [f"status {result['status']}"]
            self.outcome.failed.append(f"{job.task} on {job.machine}: {reason[-1]}")
            return
        try:
            job.target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{job.target.parent}: results cannot be kept there ({error.strerror}), so the "
                "campaign ended; name a folder that you may write to by out = in the campaign file"
            ) from None
        with replaced(job.target) as temporary:
            temporary.write_text(self._content(job, result), encoding="utf-8")
        self.outcome.done += 1

    def _content(self, job: Job, result: dict[str, Any]) -> str:
        """Returns the records of a measurement as they are, other results below their task."""
        output = str(result["output"])
        if self._campaign.is_of_machines:
            return output
        task = {
            "schema": 1,
            "record": "task",
            "command": job.task.command,
            "arguments": list(job.task.arguments),
            "status": result["status"],
        }
        return f"{json.dumps(task)}\n{output.rstrip()}\n"

    def _give_up(self) -> None:
        for machine, queue in self._queues.items():
            for job in queue:
                self.outcome.failed.append(f"{job.task} on {machine}: no worker of it came back")
        if not self._queues:
            raise UsageError(
                f"{NO_WORKER.format(self._patience_s, 'nothing was done')}, or give more --patience"
            )
