# SPDX-License-Identifier: Apache-2.0
"""The example of a client passes, and its README tells what happens with a weaker order; the lock
that the page begins with compiles, and has the fault that the page tells of."""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest
from conftest import COMMAND

pytestmark = pytest.mark.timeout(200)

PAGE = Path(__file__).parents[2] / "docs" / "checking.md"
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


@pytest.mark.parametrize(
    ("order", "status", "said"), [("release", 0, "passed"), ("relaxed", 4, "race")]
)
def test_lock_of_the_page_has_the_fault_that_the_page_tells_of(
    tmp_path: Path, environment: dict[str, str], order: str, status: int, said: str
) -> None:
    text = PAGE.read_text()
    start = text.index("## Your own lock in three minutes")
    code = re.search(r" +```cpp\n(.*?) +```\n", text[start:], re.DOTALL)
    command = re.search(r"`lockyard (check --lock (\S+?):\S+)`", text[start:])
    assert code
    assert command
    (tmp_path / "my").mkdir()
    (tmp_path / command[2]).write_text(
        textwrap.dedent(code[1]).replace("memory_order_relaxed", f"memory_order_{order}")
    )
    checked = subprocess.run(
        [COMMAND, *command[1].split(), "--threads", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        env=environment,
    )
    assert checked.returncode == status, checked.stdout + checked.stderr
    assert said in checked.stdout
