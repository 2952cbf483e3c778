# SPDX-License-Identifier: Apache-2.0
"""Real stalls that the harness injected: explain finds their causes."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from lockyard.harness import harness_path
from lockyard.measure import defaults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

TIMES = 200
LEAST_LEFT = 100  # rounds; others were disturbed by the machine and dropped
RIGHT_SHARE = 0.95
CLASSES = (
    "holder_preempted",
    "holder_preempted_in_release",
    "holder_asleep",
    "woken_late",
    "wakeup_in_flight",
    "woken_not_running",
    "waiter_not_running",
    "barging",
    "migration",
    "machine_gap",
    "held_running",
    "unexplained",
)


# Without them nothing says when a thread was moved, or could run again.
NEED_TRACEPOINTS = ("wakeup_in_flight", "woken_not_running", "migration")


def inject(folder: Path, name: str) -> bool:
    """Tells whether it was injected: the kernel may refuse to record wake-ups and migrations."""
    path = folder / f"{name}.trace"
    injected = subprocess.run(
        [harness_path(), "--inject", name, "--times", str(TIMES), "--trace", path],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    if name in NEED_TRACEPOINTS and "needs scheduler tracepoints" in injected.stderr:
        return False
    assert injected.returncode == 0, injected.stderr
    return True


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="holder and waiter need a processor each"
)
@pytest.mark.skipif(
    not defaults.is_permitted("fifo"), reason="holder, waiter and hog need a real-time priority"
)
@pytest.mark.timeout(600)
def test_finds_the_injected_cause_of_real_stalls(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    made = [name for name in CLASSES if inject(tmp_path, name)]
    print(lockyard("explain", "--truth", str(tmp_path)).stdout)  # noqa: T201
    matrix = json.loads(lockyard("explain", "--truth", str(tmp_path), "--json").stdout)
    assert matrix["injected"].keys() == set(made)
    for name, row in matrix["injected"].items():
        assert row["times"] >= LEAST_LEFT, name
        assert row["right_share"] >= RIGHT_SHARE, (name, row, matrix["wrong"][:5])
