# SPDX-License-Identifier: Apache-2.0
"""`lockyard check --replay TEXT --gdb`: a failing execution, step by step under gdb."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

pytestmark = pytest.mark.timeout(300)

CLIENT = """#include <atomic>
#include <cassert>
struct client {
  static constexpr unsigned threads = 2;
  std::atomic<bool> ready_{false};
  int value_ = 0;
  void thread(unsigned index) {
    if (index == 0) {
      value_ = 42;
      ready_.store(true, std::memory_order_relaxed);
    } else if (ready_.load(std::memory_order_acquire)) {
      assert(value_ == 42);
    }
  }
};
"""


@pytest.fixture
def check(tmp_path: Path, environment: dict[str, str]) -> Callable[..., Outcome]:
    (tmp_path / "weak.cpp").write_text(CLIENT)

    def run(*arguments: str, typed: str = "", **extra: str) -> Outcome:
        return subprocess.run(
            [COMMAND, "check", *arguments],
            cwd=tmp_path,
            input=typed,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
            env=environment | extra,
        )

    return run


@pytest.fixture
def replay(check: Callable[..., Outcome]) -> str:
    failed = check("--client", "weak.cpp", "--json")
    assert failed.returncode == 4, failed.stderr
    text: str = json.loads(failed.stdout)["replay"]
    return text


def test_steps_through_the_threads_of_a_failing_execution(
    check: Callable[..., Outcome], replay: str
) -> None:
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed")
    walked = check(
        *("--client", "weak.cpp", "--replay", replay, "--gdb"),
        typed="lockyard-step\nlockyard-failure\nlockyard-step\nquit\n",
    )
    assert walked.returncode == 0, walked.stdout + walked.stderr
    assert re.search(r"=> step 1 of 4: T0 weak\.cpp:9: writes plain data value_", walked.stdout)
    assert re.search(r"=> step 2 of 4: T0 weak\.cpp:10: store relaxed", walked.stdout)
    assert re.search(r"^10\s+ready_\.store", walked.stdout, re.MULTILINE)
    assert re.search(r"=> step 4 of 4: T1 weak\.cpp:12: reads plain data value_", walked.stdout)
    assert "this is the last step: the failure" in walked.stdout


def test_refuses_a_replay_of_another_program(check: Callable[..., Outcome], replay: str) -> None:
    other = check("--client", "weak.cpp", "--replay", replay.replace("weak", "strong"), "--gdb")
    assert other.returncode == 2
    assert "an execution of strong.cpp, not of weak.cpp" in other.stderr


def test_says_that_gdb_is_missing(
    check: Callable[..., Outcome], replay: str, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("g++", "as", "ld", "addr2line"):
        found = shutil.which(name)
        assert found
        (tools / name).symlink_to(found)
    missing = check("--client", "weak.cpp", "--replay", replay, "--gdb", PATH=str(tools))
    assert missing.returncode == 3, missing.stderr
    assert "gdb is not installed" in missing.stderr


def test_gdb_needs_a_replay_of_user_code(check: Callable[..., Outcome]) -> None:
    alone = check("--client", "weak.cpp", "--gdb")
    assert alone.returncode == 2
    assert "add --lock or --client, and the --replay" in alone.stderr
