# SPDX-License-Identifier: Apache-2.0
"""Campaigns on a real scheduler with two workers on loopback, which play two machines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from fake_files import an_environment
from fake_records import a_record

from lockyard.campaign import pools
from lockyard.campaign.engine import Engine, LostError, Outcome
from lockyard.campaign.plan import Campaign, Task
from lockyard.campaign.pools import cluster
from lockyard.campaign.text import side_by_side
from lockyard.campaign.work import identity
from lockyard.errors import MissingCapabilityError, UsageError
from lockyard.records import read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Outcome as Shown

distributed = pytest.importorskip(
    "distributed", reason="the extra lockyard[cluster] is not installed"
)

LIMIT_S = 60
# A fake command: writes records, the faster the machine the higher, and takes a while.
COMMAND = """
import json, os, sys, time
place = os.environ["LOCKYARD_MACHINE"]
open(os.environ["STARTED"] + "." + place, "a").write(" ".join(sys.argv[1:]) + "\\n")
time.sleep(float(os.environ.get("TASK_S", "0.2")))
for line in open(os.environ["RECORDS"] + "." + place):
    print(line, end="")
"""


@contextmanager
def _process(environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    line = [sys.executable, "-m", *arguments]
    with subprocess.Popen(
        line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def _scheduler(path: Path) -> Iterator[str]:
    file = path / "scheduler.json"
    own = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with _process(dict(os.environ), "distributed.cli.dask_scheduler", *own):
        _wait(lambda: file.exists() and file.stat().st_size > 0)
        yield json.loads(file.read_text())["address"]


@contextmanager
def _worker(
    address: str, path: Path, machine: str, **others: str
) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        **os.environ,
        "LOCKYARD_MACHINE": machine,
        "RECORDS": str(path / "records"),
        "STARTED": str(path / "started"),
        "PYTHONPATH": os.pathsep.join([str(path), *sys.path]),
        **others,
    }
    own = (address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
    folder = ("--local-directory", str(path / f"of.{machine}"))
    with _process(environment, "distributed.cli.dask_worker", *own, *folder) as process:
        yield process


def _wait(condition: object) -> None:
    assert callable(condition)
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Three tasks, and a fake command on the workers."""
    package = tmp_path / "lockyard_stand_in.py"
    package.write_text(COMMAND)
    for machine, rate in (("fast", 4e6), ("slow", 1e6)):
        run = a_record("throughput", "mutex", values={"operations_per_s": rate})
        environment = an_environment()
        run = {"schema": 1, "environment": environment["environment"], **run}
        (tmp_path / f"records.{machine}").write_text(
            f"{json.dumps(environment)}\n{json.dumps(run)}\n"
        )
    tasks = tuple(Task("measure", ("throughput", "--threads", str(n))) for n in (1, 2, 3))
    return Campaign(tmp_path / "c.toml", "measure", tasks, tmp_path / "out", LIMIT_S)


def _run(campaign: Campaign, address: str, patience_s: float = LIMIT_S) -> Outcome:
    with cluster(address) as pool:
        return Engine(campaign, pool, patience_s, lambda _text: None).run()


def _stand_in(others: dict[str, str] | None = None) -> dict[str, str]:
    return {"LOCKYARD_CAMPAIGN_START": "import lockyard_stand_in", **(others or {})}


@pytest.mark.timeout(LIMIT_S * 2)
def test_two_machines_do_every_task_and_stand_side_by_side(
    campaign: Campaign, tmp_path: Path
) -> None:
    with (
        _scheduler(tmp_path) as address,
        _worker(address, tmp_path, "fast", **_stand_in()),
        _worker(address, tmp_path, "slow", **_stand_in()),
        cluster(address) as pool,
    ):
        _wait(lambda: len(pool.workers()) == 2)
        outcome = Engine(campaign, pool, LIMIT_S, lambda _text: None).run()
    assert (outcome.done, outcome.failed, outcome.lost) == (6, [], [])
    shown = [" ".join(line.split()) for line in side_by_side(campaign.out, 100)]
    assert "study lock threads figure fast slow" in shown
    assert "throughput mutex 2 rate 4.00 M/s 1.00 M/s" in shown


@pytest.mark.timeout(LIMIT_S * 2)
def test_a_worker_checks(tmp_path: Path, lockyard: Callable[..., Shown]) -> None:
    names = ("ticket_spinlock", "tas_spinlock")
    with _scheduler(tmp_path) as address, _worker(address, tmp_path, "fast"):
        done = lockyard("check", *names, "--cluster", address, "--json")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {each["client"] for each in found} == set(names)
    assert {each["verdict"] for each in found} == {"passed"}


@pytest.mark.timeout(LIMIT_S * 2)
def test_a_killed_worker_loses_only_its_running_task(campaign: Campaign, tmp_path: Path) -> None:
    started = tmp_path / "started.slow"
    with (
        _scheduler(tmp_path) as address,
        _worker(address, tmp_path, "fast", **_stand_in()),
        _worker(address, tmp_path, "slow", **_stand_in({"TASK_S": "2"})) as victim,
    ):
        outcomes: list[Outcome] = []
        runs = threading.Thread(target=lambda: outcomes.append(_run(campaign, address)))
        runs.start()
        # The second task of the machine is running: the first is kept.
        _wait(lambda: started.exists() and len(started.read_text().splitlines()) == 2)
        victim.send_signal(signal.SIGKILL)
        victim.wait(LIMIT_S)
        with _worker(address, tmp_path, "slow", **_stand_in()):
            runs.join(LIMIT_S)
    assert not runs.is_alive()
    (outcome,) = outcomes
    assert (outcome.done, outcome.failed, len(outcome.lost)) == (6, [], 1)
    assert "--threads 2" in outcome.lost[0]
    assert len(started.read_text().splitlines()) == 4  # one of three tasks twice
    assert len(list((campaign.out / "slow").glob("*.jsonl"))) == 3


MEASURED = ("wait", "--locks", "mutex", "--for", "3s", "--runs", "5")


@pytest.mark.timeout(LIMIT_S * 4)
def test_a_real_measurement_goes_on_after_a_worker_was_killed(tmp_path: Path) -> None:
    tasks = tuple(Task("measure", (*MEASURED, "--threads", str(n))) for n in (1, 2))
    campaign = Campaign(tmp_path / "c.toml", "measure", tasks, tmp_path / "out", LIMIT_S)
    impatient_s = 3.0
    with _scheduler(tmp_path) as address, _worker(address, tmp_path, "first"):
        with _worker(address, tmp_path, "second") as victim:
            with cluster(address) as pool:
                _wait(lambda: len(pool.workers()) == 2)
            outcomes: list[Outcome] = []
            campaigning = threading.Thread(
                target=lambda: outcomes.append(_run(campaign, address, impatient_s))
            )
            campaigning.start()
            # The victim has done one task, and is in the middle of the other.
            _wait(lambda: len(list((campaign.out / "second").glob("*.jsonl"))) == 1)
            time.sleep(1)
            victim.send_signal(signal.SIGKILL)
            victim.wait(LIMIT_S)
            campaigning.join(LIMIT_S)
        (outcome,) = outcomes
        assert (outcome.done, len(outcome.failed)) == (3, 1)
        assert [event.partition(":")[0] for event in outcome.lost] == ["second"]
        with _worker(address, tmp_path, "second"), cluster(address) as pool:
            _wait(lambda: len(pool.workers()) == 2)
            again = Engine(campaign, pool, LIMIT_S, lambda _text: None).run()
    assert (again.done, again.kept, again.lost, again.failed) == (1, 3, [], [])
    for machine in ("first", "second"):
        found = [read_records(file) for file in (campaign.out / machine).glob("*.jsonl")]
        assert all(each.environment["cpu"] for each in found)
        runs = [run for each in found for run in each.runs if run["lock"] == "mutex"]
        assert {run["conditions"]["threads"] for run in runs} == {1, 2}
        assert all(run["status"] == "ok" and run["checks"]["counter"] for run in runs)


@pytest.mark.timeout(LIMIT_S * 2)
def test_a_worker_of_another_version_is_refused(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {**identity(), "lockyard": "99.0"}
    monkeypatch.setattr(pools, "identity", _Identity(own))
    with (
        _scheduler(tmp_path) as address,
        _worker(address, tmp_path, "fast", **_stand_in()),
        pytest.raises(MissingCapabilityError, match=r"this is 99\.0 .*install the same version"),
    ):
        _run(campaign, address)
    assert not campaign.out.exists()


@pytest.mark.timeout(LIMIT_S * 2)
def test_last_list_of_workers_holds_after_the_scheduler_has_gone(tmp_path: Path) -> None:
    with _scheduler(tmp_path) as address, _worker(address, tmp_path, "fast"):
        client = distributed.Client(address, timeout=3, set_as_default=False)
        pool = pools.ClusterPool(client)
        _wait(pool.workers)
        listed = pool.workers()
    _wait(lambda: client.scheduler is None)
    assert pool.workers() == listed
    task = pool.call(listed[0], dict)
    with pytest.raises(LostError, match=r"worker .* is gone: .*closed"):
        task.result()
    task.cancel()


class _Identity:
    """Answers for this process, while workers answer for themselves."""

    def __init__(self, own: dict[str, object]) -> None:
        self._own = own

    def __call__(self) -> dict[str, object]:
        return self._own

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return _remote_identity, ()


def _remote_identity() -> object:
    from lockyard.campaign.work import identity

    return identity


def test_says_that_no_scheduler_answers(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "CONNECT_S", 0.5)
    with pytest.raises(UsageError, match="no scheduler answers"):
        _run(campaign, "tcp://127.0.0.1:9")
