# SPDX-License-Identifier: Apache-2.0
"""The engine of campaigns with fake workers: who does what, what is kept, and what is lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lockyard.campaign import engine
from lockyard.campaign.engine import ANY_MACHINE, MOST_ATTEMPTS, Engine, LostError, Worker
from lockyard.campaign.plan import Campaign, Task
from lockyard.errors import ExitStatus, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class FakeRunning:
    def __init__(self, pool: FakePool, worker: Worker, task: Task) -> None:
        self.pool, self.worker, self.task = pool, worker, task
        self.polls = 0

    def result(self) -> dict[str, Any] | None:
        self.polls += 1
        if self.polls < 2:  # so that tasks overlap
            return None
        self.pool.now[self.worker.address] -= 1
        if self.pool.dies(self.worker, self.task):
            raise LostError(f"worker {self.worker.address} is gone")
        return self.pool.answer(self.task)

    def cancel(self) -> None:
        self.pool.cancelled.append(str(self.task))


class FakePool:
    """Workers that answer at their second poll, and show at each poll that they live, unless they
    are silent."""

    def __init__(self, *workers: Worker) -> None:
        self.there = list(workers)
        self.started: list[tuple[str, Task]] = []
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.most_of_machine: Counter[str] = Counter()
        self.cancelled: list[str] = []
        self.silent: set[str] = set()
        self.polls = 0
        self.dies: Callable[[Worker, Task], bool] = lambda _worker, _task: False
        self.answer: Callable[[Task], dict[str, Any]] = lambda task: _result(f"{task}\n")

    def workers(self) -> Sequence[Worker]:
        self.polls += 1
        for number, each in enumerate(self.there):
            if each.address not in self.silent:
                self.there[number] = replace(each, last_seen=float(self.polls))
        return list(self.there)

    def start(self, worker: Worker, task: Task, limit_s: float) -> FakeRunning:
        assert limit_s == 9.0
        self.started.append((worker.machine, task))
        self.now[worker.address] += 1
        self.most[worker.address] = max(self.most[worker.address], self.now[worker.address])
        together = sum(
            self.now[each.address] for each in self.there if each.machine == worker.machine
        )
        before = self.most_of_machine[worker.machine]
        self.most_of_machine[worker.machine] = max(before, together)
        return FakeRunning(self, worker, task)


def _result(output: str, status: int | None = 0, errors: str = "") -> dict[str, Any]:
    return {"status": status, "output": output, "errors": errors}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "POLL_S", 0.0)


def _campaign(path: Path, tasks: int = 3, command: str = "measure") -> Campaign:
    made = tuple(Task(command, (f"study{number}",)) for number in range(tasks))
    return Campaign(path / "c.toml", command, made, path / "out", 9.0)


def _run(campaign: Campaign, pool: FakePool, patience_s: float = 0.0) -> engine.Outcome:
    return Engine(campaign, pool, patience_s, lambda _text: None).run()


LONG_S = 30.0  # for what ends by itself
A, B = Worker("a", "tcp://a"), Worker("b", "tcp://b")


def test_every_machine_does_every_task_about_machines(tmp_path: Path) -> None:
    pool = FakePool(A, B)
    outcome = _run(_campaign(tmp_path), pool)
    assert (outcome.done, outcome.status) == (6, ExitStatus.DONE)
    assert Counter(machine for machine, _ in pool.started) == {"a": 3, "b": 3}
    assert len(list((tmp_path / "out" / "a").glob("*.jsonl"))) == 3


def test_a_machine_does_one_task_at_a_time_whatever_its_workers(tmp_path: Path) -> None:
    pool = FakePool(Worker("a", "tcp://1", slots=8), Worker("a", "tcp://2", slots=8))
    outcome = _run(_campaign(tmp_path, tasks=4), pool)
    assert outcome.done == 4
    assert pool.most_of_machine == {"a": 1}


def test_other_tasks_are_done_once_by_all_slots(tmp_path: Path) -> None:
    pool = FakePool(Worker("a", "tcp://a", slots=2), B)
    outcome = _run(_campaign(tmp_path, tasks=6, command="check"), pool)
    assert outcome.done == 6
    assert len(pool.started) == 6
    assert pool.most == {"tcp://a": 2, "tcp://b": 1}
    files = list((tmp_path / "out" / ANY_MACHINE).glob("*.jsonl"))
    assert len(files) == 6
    assert '"record": "task"' in files[0].read_text()


def test_a_failed_check_is_a_result(tmp_path: Path) -> None:
    pool = FakePool(A)
    pool.answer = lambda task: _result(f"{task}\n", ExitStatus.CHECK_FAILED)
    outcome = _run(_campaign(tmp_path, command="check"), pool)
    assert (outcome.done, outcome.failed) == (3, [])


def test_a_lost_worker_loses_only_its_running_task(tmp_path: Path) -> None:
    pool = FakePool(A, B)
    died: list[Task] = []

    def dies(worker: Worker, task: Task) -> bool:
        if worker == B and not died:
            died.append(task)
            return True
        return False

    pool.dies = dies
    outcome = _run(_campaign(tmp_path), pool)
    assert (outcome.done, len(outcome.lost), outcome.failed) == (6, 1, [])
    assert Counter(pool.started)["b", died[0]] == 2
    assert len(pool.started) == 7


def test_a_killed_worker_that_is_still_listed_costs_its_task_one_attempt(tmp_path: Path) -> None:
    """Its successor on the machine comes only after more polls than a task has attempts."""
    pool = FakePool(A, B)
    stale_polls = 4 * MOST_ATTEMPTS
    until = 0

    def dies(worker: Worker, _task: Task) -> bool:
        nonlocal until
        if worker != B:
            return False
        pool.silent.add(B.address)
        until = until or pool.polls + stale_polls
        return True

    def workers() -> Sequence[Worker]:
        if until and pool.polls >= until:
            pool.there = [A, Worker("b", "tcp://b2")]
        return FakePool.workers(pool)

    pool.dies = dies
    pool.workers = workers  # type: ignore[method-assign]
    outcome = _run(_campaign(tmp_path), pool, patience_s=LONG_S)
    assert (outcome.done, len(outcome.lost), outcome.failed) == (6, 1, [])
    assert Counter(machine for machine, _ in pool.started) == {"a": 3, "b": 4}


def test_a_worker_that_outlived_its_lost_task_gets_it_again(tmp_path: Path) -> None:
    pool = FakePool(A)
    lost: list[Task] = []

    def dies(_worker: Worker, task: Task) -> bool:
        lost.append(task)
        return len(lost) == 1

    pool.dies = dies
    outcome = _run(_campaign(tmp_path), pool)
    assert (outcome.done, len(outcome.lost)) == (3, 1)


def test_a_machine_that_stays_away_keeps_its_results_and_leaves_the_others_alone(
    tmp_path: Path,
) -> None:
    pool = FakePool(A, B)

    def dies(worker: Worker, task: Task) -> bool:
        if worker == B and task.arguments == ("study1",):
            pool.there = [A]
            return True
        return False

    pool.dies = dies
    outcome = _run(_campaign(tmp_path), pool)
    assert outcome.done == 4
    assert len(outcome.failed) == 2
    assert "no worker of it came back" in outcome.failed[0]
    assert outcome.status == ExitStatus.INCONCLUSIVE


def test_a_task_that_takes_every_worker_down_is_given_up(tmp_path: Path) -> None:
    pool = FakePool(A)
    pool.dies = lambda _worker, task: task.arguments == ("study0",)
    outcome = _run(_campaign(tmp_path), pool)
    assert outcome.done == 2
    assert f"its worker was lost {MOST_ATTEMPTS} times" in outcome.failed[0]


def test_a_second_campaign_does_only_what_is_left(tmp_path: Path) -> None:
    pool = FakePool(A)
    pool.answer = (
        lambda task: _result("", 2, "lockyard: refused")
        if task.arguments == ("study1",)
        else _result("x\n")
    )
    first = _run(_campaign(tmp_path), pool)
    assert (first.done, len(first.failed)) == (2, 1)
    assert first.failed[0].endswith("on a: lockyard: refused")
    again = FakePool(A)
    second = _run(_campaign(tmp_path), again)
    assert (second.done, second.kept) == (1, 2)
    assert [task.arguments for _, task in again.started] == [("study1",)]


def test_ctrl_c_keeps_results_and_cancels_what_runs(tmp_path: Path) -> None:
    pool = FakePool(A)

    def answer(task: Task) -> dict[str, Any]:
        if task.arguments == ("study1",):
            raise KeyboardInterrupt
        return _result("x\n")

    pool.answer = answer
    outcome = _run(_campaign(tmp_path), pool)
    assert outcome.status == ExitStatus.INTERRUPTED
    assert outcome.done == 1
    assert pool.cancelled == ["lockyard measure study1"]


def test_without_workers_nothing_is_done_and_it_says_how_to_start_some(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="dask worker"):
        _run(_campaign(tmp_path), FakePool())


def test_results_that_cannot_be_kept_end_the_campaign(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UsageError, match="results cannot be kept"):
        _run(_campaign(tmp_path), FakePool(A))
