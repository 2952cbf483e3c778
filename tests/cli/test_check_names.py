# SPDX-License-Identifier: Apache-2.0
"""Failures name what they are about: objects, the first of two frees, and why the program ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

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
# The line of an exception that was caught is not the line of one that the library throws.
NOT_CAUGHT_LATER = """
int main() {
  std::thread other{[] {
    try {
      throw 1;
    } catch (int) {
    }
    std::vector<int>{}.at(0);
  }};
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
        (NOT_CAUGHT_LATER, r"\n +│   T1  nothing catches an exception of type std::out_of_range"),
        (NOT_JOINED, r"a std::thread ends, or gets another value, before join\(\) or detach\(\)"),
        (SPINS, r"no thread can continue: .*T1 spins on flag"),
        (WAKES_SPURIOUSLY, r"wakes up spuriously"),
    ],
)
def test_says(code: str, says: str, tmp_path: Path, lockyard: Callable[..., Outcome]) -> None:
    client = tmp_path / "name.cpp"
    client.write_text(BEGIN + code)
    checked = lockyard("check", "--client", str(client))
    assert checked.returncode == 4, checked.stdout + checked.stderr
    assert re.search(says, checked.stdout), checked.stdout
