# SPDX-License-Identifier: Apache-2.0
"""Loops that look at data under locks: random programs have the verdicts of all interleavings."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from conftest import COMMAND
from polling_programs import Program

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.timeout(300), pytest.mark.deep]


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_polls_have_the_verdict_of_all_interleavings(
    first: int, tmp_path: Path, environment: dict[str, str]
) -> None:
    for seed in range(first, first + 20):
        program = Program(seed)
        path = tmp_path / f"polls{seed}.c"
        path.write_text(program.text())
        checked = subprocess.run(
            [COMMAND, "check", "--client", path.name, "--json", "--seconds", "60"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
            env=environment,
        )
        assert checked.stdout, checked.stderr
        found = json.loads(checked.stdout)
        expected = program.faults() or {"passed"}
        assert found["verdict"] in expected, f"{path}: {found['verdict']} {found['what']}"
