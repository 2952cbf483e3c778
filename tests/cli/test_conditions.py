# SPDX-License-Identifier: Apache-2.0
"""The conditions of measured threads: the scheduler, other load, and limits."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from conftest import COMMAND, as_nobody

from lockyard.errors import UsageError
from lockyard.harness import Harness
from lockyard.machine import cgroup
from lockyard.machine.conditions import (
    AUTOGROUP,
    Conditions,
    Deadline,
    RequestedConditions,
    check,
    variants,
)
from lockyard.machine.procfs import KernelFiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

PROCESSORS = len(os.sched_getaffinity(0))
NO_CLOCK = {"clock": {"source": "monotonic_raw", "ns_per_tick": 1.0}, "environment": "ab"}


def a_job(rehearse: bool = False, **conditions: Any) -> dict[str, Any]:
    from lockyard.measure.cell import Cell

    known = {key: conditions.pop(key) for key in ("threads", "pinning") if key in conditions}
    cell = Cell(
        study="wait",
        lock="futex_mutex",
        threads=known.get("threads", 2),
        pinning=known.get("pinning", "none"),
        conditions=Conditions(**conditions),
        loops=None,
        run_s=0.02,
        runs=1,
        budget_s=1.0,
        as_published=False,
    )
    job = cell.job(0, 0.02, 1, NO_CLOCK)
    return {**msgspec.to_builtins(job), "rehearse": rehearse}


def ran(**conditions: Any) -> dict[str, Any]:
    with Harness() as harness:
        return harness.run(a_job(**conditions), timeout_s=30)


@pytest.mark.parametrize(
    "conditions",
    [
        {"policy": "batch"},
        {"policy": "idle"},
        {"nice": 3},
        {"load": 2},
        {"load": 1, "load_nice": 5},
        {"timer_slack_ns": 1},
        {"timer_slack_ns": 1_000_000},
    ],
)
def test_measures_under_conditions_that_need_no_privilege(conditions: dict[str, Any]) -> None:
    record = ran(**conditions)
    assert record["status"] == "ok", record["reason"]
    for key, value in conditions.items():
        assert record["conditions"][key] == value


@pytest.mark.parametrize(
    "conditions",
    [
        {"policy": "fifo", "priority": 1},
        {"policy": "fifo", "priority": 1, "threads": 3 * PROCESSORS},
        {"policy": "rr", "priority": 99},
        {"policy": "deadline", "deadline": Deadline(2_000_000, 10_000_000, 10_000_000)},
        {"nice": -5},
    ],
)
def test_measures_or_says_that_it_is_not_permitted(conditions: dict[str, Any]) -> None:
    record = ran(**conditions)
    if record["status"] == "ok":
        assert record["values"]["threads_that_took_part"] > 0
    else:
        assert os.geteuid() != 0, record["reason"]
        assert "is not permitted" in record["reason"]
        assert "limits.d" in record["reason"] or "run as root" in record["reason"]


def threads_under_way(harness: Harness, job: dict[str, Any], threads: int) -> list[Path]:
    """The folders of the run's threads in /proc, once all of the team are there."""
    stdin = harness._process.stdin  # noqa: SLF001 - to look on while a run is under way
    assert stdin is not None
    stdin.write(json.dumps(job).encode() + b"\n")
    stdin.flush()
    while True:
        runs = children_of(harness._process.pid)  # noqa: SLF001
        found = list(Path(f"/proc/{runs[0]}/task").iterdir()) if runs else []
        if len(found) == threads + 1:
            return found


def stat_of(thread: Path) -> list[str]:
    """The fields of proc(5) from the third on."""
    return (thread / "stat").read_text().rsplit(")", 1)[1].split()


def test_threads_really_run_as_was_asked() -> None:
    """Looked at from outside, for the record only repeats what was asked."""
    conditions: dict[str, Any] = {
        "policy": "batch",
        "nice": 3,
        "timer_slack_ns": 777,
        "load": 1,
        "load_nice": 7,
    }
    job = a_job(threads=2, **conditions)
    job["conditions"]["duration_s"] = 20.0
    with Harness() as harness:
        team = {thread.name for thread in threads_under_way(harness, job, threads=2)}
        (run,) = children_of(harness._process.pid)  # noqa: SLF001
        team.discard(str(run))  # the one that starts the others
        seen: set[tuple[str, str, str]] = set()
        while len(seen) != 1 or "777" not in next(iter(seen)):  # until each has been put there
            seen = set()
            for thread in team:
                fields = stat_of(Path(f"/proc/{run}/task/{thread}"))
                slack = Path(f"/proc/{thread}/timerslack_ns").read_text().strip()
                seen.add((fields[38], fields[16], slack))
        assert seen == {(str(os.SCHED_BATCH), "3", "777")}
        (neighbour,) = children_of(run)
        fields = stat_of(Path(f"/proc/{neighbour}"))
        session, nice = int(fields[3]), fields[16]
        assert (session, nice) == (neighbour, "7")


def test_refuses_what_the_kernel_would_change() -> None:
    record = ran(slice_ns=1000)
    assert record["status"] == "unavailable"
    assert "1000 ns was requested" in record["reason"]


def test_a_rehearsal_measures_nothing() -> None:
    with Harness() as harness:
        record = harness.run(a_job(rehearse=True, load=1), timeout_s=30)
        assert (record["status"], record["values"]) == ("ok", {})
        refused = harness.run(a_job(rehearse=True, slice_ns=1000), timeout_s=30)
        assert refused["status"] == "unavailable"


def children_of(process: int) -> list[int]:
    listed = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(pid) for pid in listed.split()]


def test_no_load_outlives_its_run() -> None:
    others = set(children_of(os.getpid()))
    with Harness() as harness:
        record = harness.run(a_job(load=2), timeout_s=30)
        assert record["status"] == "ok"
        (child,) = set(children_of(os.getpid())) - others
        while children_of(child):  # the run has told its outcome, and may yet have to end
            time.sleep(0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--policy", "fair"), "--policy fair"),
        (("--policy", "fifo", "--priority", "100"), "from 1 to 99"),
        (("--policy", "rr", "--priority", "0"), "from 1 to 99"),
        (("--priority", "5"), "--priority: has no effect under other"),
        (("--policy", "fifo", "--nice", "5"), "--nice: has no effect under fifo"),
        (("--nice", "20"), "--nice 20"),
        (("--slice", "1us"), "--slice 1us: the kernel grants slices from 0.1 ms"),
        (("--slice", "1s"), "to 100 ms"),
        (("--policy", "idle", "--slice", "1ms"), "--slice: has no effect under idle"),
        (("--deadline", "1ms/2ms/3ms"), "--deadline: has no effect under other"),
        (("--policy", "deadline", "--deadline", "3ms/2ms/4ms"), "RUNTIME/DEADLINE/PERIOD"),
        (("--policy", "deadline", "--deadline", "3ms"), "RUNTIME/DEADLINE/PERIOD"),
        (("--policy", "deadline", "--pin", "compact"), "kernel does not confine a deadline"),
        (("--policy", "fifo", "--load", str(PROCESSORS + 1)), "real-time throttle leaves"),
        (("--load", "-1"), "--load -1"),
        (("--load-nice", "3"), "there is no load that it could apply to"),
        (("--load", "1", "--load-nice", "-30"), "--load-nice -30"),
        (("--timer-slack", "5"), "--timer-slack 5"),
        (("--autogroup", "maybe"), "must be on or off"),
        (("--quota", "0.5"), "must be at least 1 processor"),
        (("--quota", "2", "--policy", "rr"), "--quota with --policy rr"),
        (("--rest", "-1s"), "--rest -1s"),
        (("--pin", "4095"), "--pin 4095"),
    ],
)
def test_refuses_bad_conditions_with_cause_and_remedy(
    lockyard: Callable[..., Outcome], arguments: tuple[str, ...], message: str
) -> None:
    measured = lockyard("measure", "wait", *arguments)
    assert measured.returncode == 2, measured.stderr
    assert message in measured.stderr
    assert measured.stdout == ""


def test_a_parameter_goes_to_the_policies_that_know_it() -> None:
    asked = RequestedConditions(
        policies=["other", "fifo"], slices_ns=[100_000, 200_000], priority=7
    )
    found = [(each.policy, each.priority, each.slice_ns) for each in variants(asked, Conditions())]
    assert found == [("other", 0, 100_000), ("other", 0, 200_000), ("fifo", 7, None)]


def test_runs_are_as_the_command_was_started_unless_something_else_is_asked() -> None:
    base = Conditions(policy="rr", priority=3, autogroup=True)
    assert variants(RequestedConditions(), base) == [base]
    (fifo,) = variants(RequestedConditions(policies=["fifo"]), base)
    assert (fifo.policy, fifo.priority) == ("fifo", 1)


def test_deadline_threads_cannot_be_pinned() -> None:
    with pytest.raises(UsageError, match="drop one of the two"):
        check(Conditions(policy="deadline"), "spread")


def test_an_unprivileged_user_is_told_what_would_allow_it() -> None:
    told = subprocess.run(
        as_nobody(COMMAND, "measure", "wait", "--policy", "fifo", "--runs", "1", "--json"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert told.returncode == 3, told.stderr
    assert "ulimit -r is" in told.stderr
    assert "CAP_SYS_NICE" in told.stderr
    assert "/etc/security/limits.d" in told.stderr


def fake_v2(tmp_path: Path, controllers: str) -> KernelFiles:
    own = tmp_path / "sys/fs/cgroup/user.slice/own"
    own.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    mount = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
    (tmp_path / "proc/self/mountinfo").write_text(mount)
    (tmp_path / "proc/self/cgroup").write_text("0::/user.slice/own\n")
    (tmp_path / "sys/fs/cgroup/cgroup.controllers").write_text("cpu memory\n")
    (own / "cgroup.subtree_control").write_text("")
    (own.parent / "cgroup.subtree_control").write_text(controllers)
    return KernelFiles(tmp_path)


def test_a_group_of_version_2_is_made_where_processor_time_is_limited(tmp_path: Path) -> None:
    group = cgroup.create(1.5, fake_v2(tmp_path, "cpu memory"))
    assert group.parent == tmp_path / "sys/fs/cgroup/user.slice"
    assert (group / "cpu.max").read_text() == "150000 100000"


def test_says_so_where_no_group_limits_processor_time(tmp_path: Path) -> None:
    with pytest.raises(cgroup.CgroupError, match=r"subtree_control lacks cpu.*systemd-run"):
        cgroup.create(1.5, fake_v2(tmp_path, "memory"))


def leftover_groups() -> set[Path]:
    where = cgroup.groups(KernelFiles(), cgroup.CONTROLLER)
    return set(Path(where.paths[0]).glob("lockyard.*")) if where else set()


def the_other_switch() -> str:
    return "off" if AUTOGROUP.read_text().strip() == "1" else "on"


def machine_can_be_changed() -> bool:
    return os.access(AUTOGROUP, os.W_OK) and os.geteuid() == 0


@pytest.mark.alone
@pytest.mark.parametrize("end", [None, signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_machine_is_as_found_afterwards_however_it_ends(
    environment: dict[str, str], tmp_path: Path, end: signal.Signals | None
) -> None:
    """Where it may not be changed, it is not, and that is said."""
    before = AUTOGROUP.read_text()
    command = [str(COMMAND), "measure", "wait", "--locks", "futex_mutex", "--threads", "2"]
    command += ["--for", "60ms" if end is None else "60s", "--out", str(tmp_path / "records.jsonl")]
    changes = ["--quota", "1.5", "--autogroup", the_other_switch()]
    with subprocess.Popen(
        [*command, *changes],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        if end is not None and machine_can_be_changed():
            while AUTOGROUP.read_text() == before or not leftover_groups():
                assert process.poll() is None, process.communicate()
                time.sleep(0.01)
            process.send_signal(end)
        _, stderr = process.communicate(timeout=60)
    if end is None and machine_can_be_changed():
        assert process.returncode == 0, stderr
    if not machine_can_be_changed():
        assert process.returncode == 3, stderr
        assert "run as root" in stderr
    deadline = time.monotonic() + 60
    while AUTOGROUP.read_text() != before or leftover_groups():
        assert time.monotonic() < deadline, stderr
        time.sleep(0.05)


def test_setpriv_is_there_for_the_tests_of_missing_privileges() -> None:
    assert os.geteuid() != 0 or shutil.which("setpriv")


def test_a_guardian_that_cannot_change_the_machine_says_so(tmp_path: Path) -> None:
    switch = the_other_switch() == "on"
    wanted = json.dumps({"autogroup": switch, "quotas_cpus": [], "settings": False})
    told = subprocess.run(
        as_nobody(sys.executable, "-m", "lockyard.machine.guardian", wanted),
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert "cannot be changed" in json.loads(told.stdout)["error"]
