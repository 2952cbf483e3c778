# SPDX-License-Identifier: Apache-2.0
"""Random programs have the verdicts of a search of all interleavings: loops that look at data under
locks, waits that notifications end, and the locks of the C library."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import locking_programs
import polling_programs
import pytest
import waiting_programs
from conftest import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(300)


def verdict_of(
    program: polling_programs.Program | waiting_programs.Program | locking_programs.Program,
    path: Path,
    environment: dict[str, str],
) -> str:
    path.write_text(program.text())
    checked = subprocess.run(
        [COMMAND, "check", "--client", path.name, "--json", "--seconds", "60"],
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env=environment,
    )
    assert checked.stdout, checked.stderr
    return str(json.loads(checked.stdout)["verdict"])


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_loops_that_look_under_locks(
    first: int, tmp_path: Path, environment: dict[str, str]
) -> None:
    for seed in range(first, first + 20):
        program = polling_programs.Program(seed)
        path = tmp_path / f"polls{seed}.c"
        expected = program.faults() or {"passed"}
        assert verdict_of(program, path, environment) in expected, path


@pytest.mark.parametrize("has_futex", [False, True])
@pytest.mark.parametrize(
    ("first", "count"),
    [(0, 4), *(pytest.param(first, 20, marks=pytest.mark.deep) for first in range(4, 204, 20))],
)
def test_waits_for_another_value(
    first: int, count: int, has_futex: bool, tmp_path: Path, environment: dict[str, str]
) -> None:
    for seed in range(first, first + count):
        program = waiting_programs.Program(seed, has_futex=has_futex)
        path = tmp_path / f"waits{seed}.cpp"
        found = verdict_of(program, path, environment)
        if found == "passed":
            assert not program.faults(), path
        else:
            assert found in program.faults(wakes_order=False), path


@pytest.mark.parametrize(
    ("first", "count"),
    [(0, 4), *(pytest.param(first, 20, marks=pytest.mark.deep) for first in range(4, 404, 20))],
)
def test_locks_of_the_c_library(
    first: int, count: int, tmp_path: Path, environment: dict[str, str]
) -> None:
    for seed in range(first, first + count):
        program = locking_programs.Program(seed)
        path = tmp_path / f"locks{seed}.c"
        found = verdict_of(program, path, environment)
        # A fault that needs more than the limits of the search may be missed.
        if found == "passed":
            assert not program.faults(is_limited=True), path
        else:
            assert found in program.faults(), path
