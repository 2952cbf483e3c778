# SPDX-License-Identifier: Apache-2.0
"""The example of a client passes, and its README tells what happens with a weaker order."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND

pytestmark = pytest.mark.timeout(200)

EXAMPLE = Path(__file__).parents[2] / "examples" / "checked_client"


@pytest.mark.parametrize(
    ("order", "status", "said"),
    [("release", 0, "exhaustive"), ("relaxed", 4, "reads plain data slot.value_")],
)
def test_example_of_a_client(
    tmp_path: Path, environment: dict[str, str], order: str, status: int, said: str
) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    header = tmp_path / "one_slot.hpp"
    text = header.read_text()
    assert "true, std::memory_order_release" in text
    header.write_text(
        text.replace("true, std::memory_order_release", f"true, std::memory_order_{order}")
    )
    checked = subprocess.run(
        [COMMAND, "check", "--client", "client.cpp"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        env=environment,
    )
    assert checked.returncode == status, checked.stdout + checked.stderr
    assert said in checked.stdout
