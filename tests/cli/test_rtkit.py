# SPDX-License-Identifier: Apache-2.0
"""rr without the right to it: rtkit is asked, and what it does not grant is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from lockyard.harness import harness_path

if TYPE_CHECKING:
    from pathlib import Path

JOB: dict[str, Any] = {
    "schema": 2,
    "study": "wait",
    "lock": "mutex",
    "conditions": {
        "threads": 1,
        "pinning": "none",
        "nice": 0,
        "slice_ns": None,
        "deadline": None,
        "load": 0,
        "load_nice": 0,
        "timer_slack_ns": None,
        "hold_ns": 0,
        "gap_ns": 0,
        "lengths": "constant",
        "parameters": {},
        "loops": 1,
        "duration_s": 0.01,
        "as_published": False,
        "seed": 1,
        "priority": 1,
    },
    "rehearse": True,
    "block": 0,
    "run": 0,
    "cgroup": None,
    "environment": "",
    "clock": {"source": "monotonic_raw", "ns_per_tick": 1.0},
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that any user may use, with the harness and a busctl that grants nothing."""
    tmp_path.chmod(0o777)
    for folder in list(tmp_path.parents)[:3]:
        if folder.owner() == "root" and os.geteuid() == 0 and str(folder).startswith("/tmp/"):  # noqa: S108
            folder.chmod(0o755)
    shutil.copy2(harness_path(), tmp_path / "harness")
    (tmp_path / "harness").chmod(0o755)
    busctl = tmp_path / "busctl"
    busctl.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\nexit 1\n')
    busctl.chmod(0o755)
    return tmp_path


def reason(place: Path, policy: str) -> str:
    """Runs the harness without rights; returns why the run is unavailable."""
    job = {**JOB, "conditions": {**JOB["conditions"], "policy": policy}}
    without = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    found = subprocess.run(
        [*(without if os.geteuid() == 0 else []), place / "harness"],
        input=json.dumps(job) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": f"{place}:{os.environ['PATH']}"},
    )
    assert found.returncode == 0, found.stderr
    record = json.loads(found.stdout)
    if record["status"] == "ok":
        pytest.skip("this user may use real-time policies")
    return str(record["reason"])


def test_rtkit_is_asked_for_rr(place: Path) -> None:
    assert "rtkit refused, or does not run here (busctl ended with status 1)" in reason(place, "rr")
    *_, method, types, pid, tid, priority = (place / "asked").read_text().split()
    assert (method, types, priority) == ("MakeThreadRealtimeWithPID", "ttu", "1")
    assert int(pid) > 1
    assert int(tid) > 1


def test_rtkit_is_not_asked_for_fifo(place: Path) -> None:
    assert "rtkit could grant rr, and never fifo" in reason(place, "fifo")
    assert not (place / "asked").exists()


def test_an_answer_is_no_grant_unless_the_kernel_confirms_it(place: Path) -> None:
    (place / "busctl").write_text("#!/bin/sh\nexit 0\n")
    assert "the kernel granted another policy" in reason(place, "rr")
