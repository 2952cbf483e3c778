# SPDX-License-Identifier: Apache-2.0
"""Hands out calls to workers, again if their worker is lost, and yields the replies."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lockyard.campaign.engine import MOST_ATTEMPTS, NO_WORKER, Losses, LostError
from lockyard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lockyard.campaign.engine import Running, Worker

POLL_S = 0.02
PATIENCE_S = 60.0

Reply = dict[str, Any]


@dataclass(frozen=True)
class Calls:
    """So many calls, which `start` starts on a worker by their numbers."""

    count: int
    workers: Callable[[], Sequence[Worker]]
    start: Callable[[Worker, int], Running]
    consequence: str  # what follows if no worker comes, as in "nothing more was simulated"


def replies(calls: Calls) -> Iterator[tuple[int, Reply]]:
    """Yields the number of each call and its reply, as they arrive. The reply of a call whose
    workers were all lost has `failure`. Raises UsageError if no worker comes."""
    handout = _Handout(calls)
    try:
        while not handout.is_over:
            handout.hand_out()
            found = handout.collect()
            yield from found
            if found:
                handout.goes_on()
            else:
                time.sleep(POLL_S)
    finally:
        handout.cancel()


class _Handout:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._waiting = deque(range(calls.count))
        self._running: list[tuple[int, str, Running]] = []
        self._attempts = [0] * calls.count
        self._losses = Losses()
        self._idle_since = time.monotonic()

    @property
    def is_over(self) -> bool:
        return not self._waiting and not self._running

    def hand_out(self) -> None:
        for worker in self._losses.living(self._calls.workers()):
            busy = sum(address == worker.address for _, address, _ in self._running)
            for _ in range(min(worker.slots - busy, len(self._waiting))):
                number = self._waiting.popleft()
                self._attempts[number] += 1
                task = self._calls.start(worker, number)
                self._running.append((number, worker.address, task))
        if self._running:
            self._idle_since = time.monotonic()
        elif time.monotonic() - self._idle_since > PATIENCE_S:
            raise UsageError(NO_WORKER.format(PATIENCE_S, self._calls.consequence))

    def collect(self) -> list[tuple[int, Reply]]:
        """Returns the replies that have come."""
        found = []
        for each in list(self._running):
            number, address, task = each
            reply = _reply(task)
            if reply is None:
                continue
            self._running.remove(each)
            if "lost" in reply:
                self._losses.record(address)
                if self._attempts[number] < MOST_ATTEMPTS:
                    self._waiting.appendleft(number)
                    continue
            found.append((number, reply))
        return found

    def goes_on(self) -> None:
        """Waits anew for workers, because the caller may have needed long for the replies."""
        self._idle_since = time.monotonic()

    def cancel(self) -> None:
        for _, _, task in self._running:
            task.cancel()


def _reply(task: Running) -> Reply | None:
    try:
        return task.result()
    except LostError as error:
        return {"lost": True, "failure": str(error)}
