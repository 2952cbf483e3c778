# SPDX-License-Identifier: Apache-2.0
"""A cluster without a scheduler, whose worker is in this process."""

from __future__ import annotations

from typing import Any

from lockyard.campaign.engine import Worker


class FakeTask:
    def __init__(self, reply: dict[str, Any] | BaseException) -> None:
        self._reply = reply
        self.cancelled = False

    def result(self) -> dict[str, Any]:
        if isinstance(self._reply, BaseException):
            raise self._reply
        return self._reply

    def cancel(self) -> None:
        self.cancelled = True


class FakeCluster:
    """One worker, which replies to the n-th call with the n-th reply, and otherwise calls."""

    def __init__(self, *replies: dict[str, Any] | BaseException) -> None:
        self._replies = list(replies)
        self.tasks: list[FakeTask] = []
        self.asked = 0
        self.last_seen: list[float] = []  # one entry for each call

    def workers(self) -> list[Worker]:
        self.asked += 1
        return [Worker("far", "tcp://far", 1, last_seen=self.asked // 3)]

    def call(self, worker: Worker, function: Any, *arguments: Any) -> FakeTask:
        self.last_seen.append(worker.last_seen)
        self.tasks.append(FakeTask(self._replies.pop(0) if self._replies else function(*arguments)))
        return self.tasks[-1]
