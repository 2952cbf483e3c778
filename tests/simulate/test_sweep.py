# SPDX-License-Identifier: Apache-2.0
"""`lockyard simulate --sweep`: combinations of values, here and on workers that may be lost."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fake_cluster import FakeCluster

from lockyard.campaign import handout
from lockyard.campaign.engine import LostError, Worker
from lockyard.errors import ExitStatus, LockyardError, MissingCapabilityError
from lockyard.program import ProgramDiedError, ProgramOverrunError
from lockyard.simulate import simulator, sweep
from lockyard.simulate.request import Cell
from lockyard.simulate.run import Wanted
from lockyard.simulate.simulator import (
    SimulationFailedError,
    SimulatorPool,
    abilities,
    replies,
)
from lockyard.simulate.sweep import ClusterWorkers, Point

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Outcome

QUICK = ("throughput", "--machine", "xeon8468", "--for", "2ms", "--background", "quiet")


def test_simulates_all_combinations_as_one_simulation_of_each_does(
    lockyard: Callable[..., Outcome],
) -> None:
    names = ("--locks", "mcs_spinlock,mutex")
    swept = ("--sweep", "threads=2,3", "--sweep", "pause_ns=10,90", "--sweep", "gap=1us")
    done = lockyard("simulate", *QUICK, *names, *swept, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["wanted"] == len(document["points"]) == 8
    assert document["swept"] == {"threads": ["2", "3"], "pause_ns": ["10", "90"], "gap": ["1us"]}
    last = document["points"][-1]
    assert last["at"] == {"threads": "3", "pause_ns": "90", "gap": "1us"}
    one = ("--locks", "mutex", "--threads", "3", "--set", "pause_ns=90", "--gap", "1us", "--json")
    assert last["cell"] == json.loads(lockyard("simulate", *QUICK, *one).stdout)["cells"][0]


def test_shows_a_column_for_each_swept_parameter(lockyard: Callable[..., Outcome]) -> None:
    swept = ("--sweep", "machine=xeon8468,ryzen1700", "--locks", "mcs_spinlock", "--threads", "2")
    shown = lockyard("simulate", *QUICK, *swept)
    assert shown.returncode == 0, shown.stderr
    rows = [line.split()[:2] for line in shown.stdout.splitlines()]
    expected = [["machine", "lock"], ["xeon8468", "mcs_spinlock"], ["ryzen1700", "mcs_spinlock"]]
    assert [row for row in rows if row in expected] == expected
    assert "2 cells, 6 simulations" in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["--scheduler", "cfs,eevdf", "--sweep", "threads=2,3"],
            [["threads", "scheduler"], ["2", "cfs"], ["2", "eevdf"], ["3", "cfs"], ["3", "eevdf"]],
        ),
        (
            ["--threads", "2,3", "--sweep", "gap=1us"],
            [["gap", "threads"], ["1us", "2"], ["1us", "3"]],
        ),
        (["--threads", "2", "--sweep", "gap=1us"], [["gap", "lock"], ["1us", "mutex"]]),
    ],
)
def test_row_names_each_parameter_with_several_values(
    lockyard: Callable[..., Outcome], arguments: list[str], expected: list[list[str]]
) -> None:
    shown = lockyard("simulate", *QUICK, "--locks", "mutex", *arguments)
    assert shown.returncode == 0, shown.stderr
    rows = [line.split()[:2] for line in shown.stdout.splitlines()]
    assert [row for row in rows if row in expected] == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--sweep", "thread=2"], "did you mean threads?"),
        (["--sweep", "threads"], "not NAME=VALUE"),
        (["--sweep", "threads=2,,3"], "not NAME=VALUE"),
        (["--sweep", "threads=0"], "must be from 1"),
        (["--sweep", "machine=xeon"], "did you mean xeon8468?"),
        (["--sweep", "threads=2", "--sweep", "threads=3"], "given twice"),
        (["--sweep", "threads=2", "--trace", "x"], "drop --sweep"),
        (["--cluster", "tcp://127.0.0.1:1"], "applies only to --sweep"),
    ],
)
def test_refuses_what_cannot_be_swept(
    lockyard: Callable[..., Outcome], arguments: list[str], expected: str
) -> None:
    refused = lockyard("simulate", *QUICK, *arguments)
    assert refused.returncode == 2
    assert expected in refused.stderr.replace("\n", " ")


@pytest.fixture
def points() -> list[Point]:
    from lockyard.simulate import machines

    machine = machines.load("xeon8468", abilities())
    cells = [Cell("throughput", "mutex", machine, "eevdf", threads) for threads in (1, 2)]
    return [Point({"threads": str(each.threads)}, each, [("", each)]) for each in cells]


def simulated(points: list[Point], pool: FakeCluster) -> sweep.Found:
    return sweep.simulated(points, ClusterWorkers(pool), lambda: None)  # type: ignore[arg-type]


def test_point_of_a_lost_worker_is_simulated_again(points: list[Point]) -> None:
    pool = FakeCluster(LostError("gone"), LostError("gone"))
    found = simulated(points, pool)
    assert sorted(found.points) == [0, 1]
    assert len(pool.tasks) == 4
    first, second, third, _ = pool.last_seen
    assert first < second < third  # it gave a sign of life in between
    assert found.status == ExitStatus.DONE


def test_point_whose_worker_is_lost_each_time_fails_and_the_others_do_not(
    points: list[Point],
) -> None:
    found = simulated(points, FakeCluster(*(LostError("gone") for _ in range(3))))
    assert sorted(found.points) == [1]
    assert found.failed == ["mutex, threads 1: gone"]
    assert found.status == ExitStatus.CHECK_FAILED


def test_interrupted_sweep_keeps_what_is_done_and_cancels_the_rest(points: list[Point]) -> None:
    pool = FakeCluster(replies(points[0].jobs), KeyboardInterrupt())
    found = simulated(points, pool)
    assert sorted(found.points) == [0]
    assert found.status == ExitStatus.INTERRUPTED
    assert pool.tasks[-1].cancelled


def test_failed_simulation_is_a_failure_of_its_point_alone(points: list[Point]) -> None:
    found = simulated(points, FakeCluster({"failure": "it spins"}))
    assert found.failed == ["mutex, threads 1: it spins"]
    assert sorted(found.points) == [1]


class FailingCluster(FakeCluster):
    """The same worker for one call. Then the list of workers raises `error`, or is empty."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self._error = error

    def workers(self) -> list[Worker]:
        if not self.tasks:
            return super().workers()
        if self._error is not None:
            raise self._error
        return []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (MissingCapabilityError("another version"), ExitStatus.MISSING_CAPABILITY),
        (LostError("another version"), ExitStatus.MISSING_CAPABILITY),
    ],
)
def test_sweep_that_an_error_ends_keeps_finished_points_and_names_the_rest(
    points: list[Point], error: Exception, status: ExitStatus
) -> None:
    found = simulated([*points, points[0]], FailingCluster(error))
    assert sorted(found.points) == [0]
    assert "another version" in str(found.error)
    assert found.unfinished == [f"mutex, threads {n}: {found.error}" for n in (2, 1)]
    assert not found.failed
    assert found.status == status


def test_sweep_without_workers_keeps_finished_points(
    points: list[Point], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handout, "PATIENCE_S", 0.1)
    found = simulated(points, FailingCluster(None))
    assert sorted(found.points) == [0]
    (unfinished,) = found.unfinished
    assert unfinished.startswith("mutex, threads 2: no worker came")
    assert found.status == ExitStatus.BAD_USAGE


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("error", [MissingCapabilityError("too old"), LostError("too old")])
def test_finished_points_are_shown_before_the_error_that_ended_the_sweep(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    as_json: bool,
) -> None:
    @contextmanager
    def workers(_address: str, _most: int) -> Iterator[ClusterWorkers]:
        yield ClusterWorkers(FailingCluster(error))  # type: ignore[arg-type]

    monkeypatch.setattr(sweep, "_workers", workers)
    with pytest.raises(LockyardError, match="too old") as raised:
        sweep.show(QUICK_WANTED, ["threads=2,3"], "tcp://far:1", as_json=as_json)
    assert raised.value.status == ExitStatus.MISSING_CAPABILITY
    printed = capsys.readouterr()
    if as_json:
        document = json.loads(printed.out)
        assert [each["at"] for each in document["points"]] == [{"threads": "2"}]
        assert document["failed"] == [f"mutex, threads 3: {raised.value}"]
    else:
        assert "mutex" in printed.out
        assert "1 of 2 cells are shown" in printed.err


QUICK_WANTED = Wanted(
    study="throughput",
    machine="xeon8468",
    scheduler="eevdf",
    threads=None,
    locks="mutex",
    pools="",
    user_locks=None,
    work={"duration_ns": 2e6},
    background="quiet",
    settings=(),
    seed=1,
    sensitivity=False,
)


def test_label_of_a_point_names_each_parameter_with_several_values() -> None:
    wanted = replace(QUICK_WANTED, scheduler="cfs,eevdf", threads=(2, 3))
    labels = [str(each) for each in sweep.points_of(wanted, {"gap": ["1us"]}, abilities())]
    assert labels == [
        f"mutex, gap 1us, scheduler {scheduler}, threads {threads}"
        for scheduler in ("cfs", "eevdf")
        for threads in (2, 3)
    ]


FAKE_SIMULATOR = """#!/bin/sh
while read -r job; do
  case "$job" in
    *slow*) sleep 1.5 ;;
    *dies*) exit 3 ;;
    *fails*) echo '{"failure": "it spins"}'; continue ;;
  esac
  echo "{\\"result\\": {\\"job\\": $job, \\"process\\": $$}}"
done
"""


@pytest.fixture
def one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimulatorPool]:
    """A pool with one process of a simulator that does what the lock of its job says."""
    program = tmp_path / "simulator"
    program.write_text(FAKE_SIMULATOR)
    program.chmod(0o755)
    monkeypatch.setenv("LOCKYARD_SIMULATOR", str(program))
    monkeypatch.setattr(simulator, "LONGEST_S", 1.0)
    with SimulatorPool(1) as pool:
        yield pool


@pytest.mark.parametrize(
    ("lock", "error"), [("slow", ProgramOverrunError), ("dies", ProgramDiedError)]
)
def test_job_after_a_process_was_lost_gets_its_own_reply(
    one_process: SimulatorPool, lock: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        one_process.submit([{"lock": lock}]).result()
    (reply,) = one_process.submit([{"lock": "mutex"}]).result()
    assert reply["job"] == {"lock": "mutex"}


def test_process_goes_on_after_a_simulation_failed(one_process: SimulatorPool) -> None:
    (before,) = one_process.submit([{"lock": "mutex"}]).result()
    with pytest.raises(SimulationFailedError):
        one_process.submit([{"lock": "fails"}]).result()
    (after,) = one_process.submit([{"lock": "mutex"}]).result()
    assert before == after
