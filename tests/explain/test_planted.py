# SPDX-License-Identifier: Apache-2.0
"""Real stalls whose cause was planted by the harness: is it found?"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from lockyard.harness import harness_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

TIMES = 200
LEAST_LEFT = 50  # of them; what the machine disturbed is no longer what was planted
NOT_PERMITTED = 3
RIGHT_SHARE = 0.95
CLASSES = (
    "holder_preempted",
    "holder_preempted_in_release",
    "holder_asleep",
    "woken_late",
    "waiter_not_running",
    "barging",
    "migration",
    "machine_gap",
    "held_running",
    "unexplained",
)


def plant(folder: Path, name: str) -> bool:
    """Whether it is permitted here: most need real-time rights, migrations tracepoints."""
    path = folder / f"{name}.trace"
    planted = subprocess.run(
        [harness_path(), "--plant", name, "--times", str(TIMES), "--trace", path],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    if planted.returncode == NOT_PERMITTED:
        return False
    assert planted.returncode == 0, planted.stderr
    return True


@pytest.mark.timeout(600)
def test_finds_the_planted_cause_of_real_stalls(
    lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    planted = {name for name in CLASSES if plant(tmp_path, name)}
    if not planted:
        pytest.skip("no stall may be planted here: it takes root, or real-time rights")
    print(lockyard("explain", "--truth", str(tmp_path)).stdout)  # noqa: T201
    matrix = json.loads(lockyard("explain", "--truth", str(tmp_path), "--json").stdout)
    assert matrix["planted"].keys() == planted
    for name, row in matrix["planted"].items():
        assert row["times"] >= LEAST_LEFT, name
        assert row["right_share"] >= RIGHT_SHARE, (name, row, matrix["wrong"][:5])
