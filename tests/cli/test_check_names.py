# SPDX-License-Identifier: Apache-2.0
"""Failures name what they are about: objects, the first of two frees, and why the program ends."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from conftest import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = """
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>
"""
USED_AFTER_FREE = """
std::atomic<int*> shared{new int{1}};
int main() {
  std::thread other{[] { delete shared.exchange(nullptr); }};
  if (int* const mine = shared.load()) *mine = 2;
  other.join();
}
"""
FREED_TWICE = """
std::atomic<int*> shared{nullptr};
static void free_it() {
  delete shared.load();
}
int main() {
  shared = new int{1};
  std::thread other{free_it};
  free_it();
  other.join();
}
"""
NOT_CAUGHT = """
int main() {
  std::thread other{[] { throw std::runtime_error{"no"}; }};
  other.join();
}
"""
NOT_JOINED = """
int main() {
  std::thread other{[] {}};
}
"""
SPINS = """
std::atomic<bool> flag{false};
int main() {
  std::thread other{[] { while (!flag.load()) {} }};
  other.join();
}
"""
# The waiter takes any wake-up for the notification.
WAKES_SPURIOUSLY = """
#include <cassert>
std::mutex lock;
std::condition_variable changed;
bool is_ready = false;
int main() {
  std::thread other{[] {
    std::unique_lock guard{lock};
    if (!is_ready) changed.wait(guard);
    assert(is_ready);
  }};
  {
    const std::lock_guard guard{lock};
    is_ready = true;
  }
  changed.notify_one();
  other.join();
}
"""


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (USED_AFTER_FREE, r"load seq_cst of shared: &static heap object#0 \(initial\)"),
        (FREED_TWICE, r"freed a second time, which T\d has ended at name\.cpp:11"),
        (NOT_CAUGHT, r"nothing catches an exception of type std::runtime_error"),
        (NOT_CAUGHT, r"name\.cpp:10 .*nothing catches"),
        (NOT_JOINED, r"a std::thread ends, or gets another value, before join\(\) or detach\(\)"),
        (SPINS, r"no thread can continue: .*T1 spins on flag"),
        (WAKES_SPURIOUSLY, r"wakes up spuriously"),
    ],
)
def test_says(code: str, says: str, tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "name.cpp").write_text(BEGIN + code)
    checked = subprocess.run(
        [COMMAND, "check", "--client", "name.cpp"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env=environment,
    )
    assert checked.returncode == 4, checked.stdout + checked.stderr
    assert re.search(says, checked.stdout), checked.stdout
