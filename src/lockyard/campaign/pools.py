# SPDX-License-Identifier: Apache-2.0
"""The workers of a campaign: this machine, or a cluster of Dask distributed."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lockyard.campaign.engine import LostError, Worker
from lockyard.campaign.work import identity, run_task
from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.extras import optional

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from lockyard.campaign.engine import Running
    from lockyard.campaign.plan import Task

EXTRA = "cluster"
CONNECT_S = 10
HEARTBEAT_S = 10.0
CLOSED = "closed"  # the status of a client that has given up reconnecting to its scheduler
VERSIONS = ("lockyard", "schema")


class LocalTask:
    def __init__(self, future: Future[dict[str, Any]]) -> None:
        self._future = future

    def result(self) -> dict[str, Any] | None:
        return self._future.result() if self._future.done() else None

    def cancel(self) -> None:
        self._future.cancel()


class LocalPool:
    """One worker, on this machine, without any cluster."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1)

    def workers(self) -> Sequence[Worker]:
        return [Worker(identity()["machine"], "here")]

    def start(self, _worker: Worker, task: Task, limit_s: float) -> Running:
        arguments = list(task.arguments)
        return LocalTask(self._executor.submit(run_task, task.command, arguments, limit_s))


class ClusterTask:
    def __init__(self, future: Any, is_there: Any, address: str) -> None:
        self._future = future
        self._is_there = is_there
        self._address = address

    def result(self) -> dict[str, Any] | None:
        if self._future.done():
            try:
                found: dict[str, Any] = self._future.result(timeout=CONNECT_S)
            except Exception as error:  # noqa: BLE001 - whatever ended the task on its worker
                raise LostError(f"worker {self._address}: {error}") from None
            return found
        if not self._is_there(self._address):
            self.cancel()
            raise LostError(f"worker {self._address} is gone")
        return None

    def cancel(self) -> None:
        self._future.cancel()


class LostTask:
    """A task that could not be sent to its worker."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def result(self) -> dict[str, Any] | None:
        raise LostError(self._reason)

    def cancel(self) -> None:
        """Does nothing, because nothing runs."""


class ClusterPool:
    """The workers of a scheduler, as long as they have this version of lockyard."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._known: dict[str, Worker] = {}
        self._listed: dict[str, Any] = {}

    def workers(self) -> Sequence[Worker]:
        there = self._there()
        new = [address for address in there if address not in self._known]
        if new:
            for address, about in self._identities(new).items():
                slots = int(there[address].get("nthreads", 1))
                self._known[address] = Worker(about["machine"], address, slots)
        return [
            replace(worker, last_seen=float(there[address]["last_seen"]))
            for address, worker in self._known.items()
            if address in there
        ]

    def start(self, worker: Worker, task: Task, limit_s: float) -> Running:
        return self.call(worker, run_task, task.command, list(task.arguments), limit_s)

    def call(
        self, worker: Worker, function: Callable[..., dict[str, Any]], *arguments: Any
    ) -> Running:
        """Calls a function of lockyard on the worker."""
        try:
            future = self._client.submit(
                function,
                *arguments,
                workers=[worker.address],
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
        except Exception as error:
            if self._client.status != CLOSED:
                raise
            return LostTask(f"worker {worker.address} is gone: {error}")
        return ClusterTask(future, lambda address: address in self._there(), worker.address)

    def _there(self) -> dict[str, Any]:
        """Asks the scheduler itself: client.scheduler_info() may return what the client's periodic
        update stored in between, a list without workers, and then every task would seem lost. As
        long as the scheduler does not answer, its last list holds, also after the client has given
        up reconnecting and has no scheduler any longer."""
        scheduler = self._client.scheduler
        if scheduler is None:
            return self._listed
        try:
            about = self._client.sync(scheduler.identity, n_workers=-1)
        except OSError:
            return self._listed
        self._listed = about["workers"]
        return self._listed

    def _identities(self, addresses: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Raises MissingCapabilityError if a worker has another version, or none."""
        try:
            found: dict[str, dict[str, Any]] = self._client.run(
                identity, workers=list(addresses), on_error="return"
            )
        except OSError as error:
            raise LostError(str(error)) from None
        own = identity()
        for address, about in found.items():
            if not isinstance(about, dict):
                raise MissingCapabilityError(
                    f"worker {address} cannot run lockyard ({about}), so no more tasks were "
                    f"started; install lockyard {own['lockyard']} there, or stop that worker"
                )
            if any(about[key] != own[key] for key in VERSIONS):
                raise MissingCapabilityError(
                    f"worker {address} on {about['machine']} has lockyard {about['lockyard']} "
                    f"(records of schema {about['schema']}), but this is {own['lockyard']} (schema "
                    f"{own['schema']}), so their results could not be compared; install the same "
                    "version there, or stop that worker"
                )
        return found


@contextmanager
def cluster(address: str) -> Iterator[ClusterPool]:
    """Connects to a scheduler."""
    distributed = optional(
        "distributed", EXTRA, "tasks cannot be sent to a cluster; without --cluster they run here"
    )
    logging.getLogger("distributed").setLevel(logging.ERROR)
    try:
        client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--cluster {address}: no scheduler answers ({error}), so nothing was started; start "
            "one with 'dask scheduler', and give the address that it prints"
        ) from None
    try:
        yield ClusterPool(client)
    finally:
        client.close(timeout=CONNECT_S)
