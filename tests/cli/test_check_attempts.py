# SPDX-License-Identifier: Apache-2.0
"""Faults of a user's lock that only a thread which gives up, or tries, brings about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from user_lock_checks import check, results, size_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Checks = Callable[..., list[dict[str, Any]]]

pytestmark = pytest.mark.timeout(300)

LOCKS = """
#pragma once
#include <atomic>
#include <chrono>
#include <shared_mutex>
#ifndef FAULT
#define FAULT 0
#endif
namespace my {
// 1 is held, 2 is held while others wait. Fault 1: an attempt that fails forgets those that wait.
struct waited_for {
  std::atomic<int> state_{0};
  void lock() {
    if (state_.exchange(1) == 0) return;
    while (state_.exchange(2) != 0) state_.wait(2);
  }
#if FAULT == 1
  bool try_lock() { return state_.exchange(1) == 0; }
#else
  bool try_lock() {
    int free = 0;
    return state_.compare_exchange_strong(free, 1);
  }
#endif
  void unlock() {
    if (state_.exchange(0) == 2) state_.notify_one();
  }
};
// Fault 2: a reader's attempt always succeeds; fault 3: one with a time limit does, and fault 4:
// the writer's with a number of milliseconds.
struct shared {
  std::atomic<int> inside_{0};  // readers, or -1 for a writer
  bool take() {
    int none = 0;
    return inside_.compare_exchange_strong(none, -1);
  }
  bool enter() {
    int found = inside_.load();
    return found >= 0 && inside_.compare_exchange_strong(found, found + 1);
  }
  void lock() { while (!take()) {} }
  bool try_lock() { return take(); }
  bool try_lock_for(unsigned) { return FAULT == 4 || take(); }
  void unlock() { inside_.store(0); }
  void lock_shared() { while (!enter()) {} }
  bool try_lock_shared() { return FAULT == 2 || enter(); }
  bool try_lock_shared_until(std::chrono::steady_clock::time_point) {
    return FAULT == 3 || enter();
  }
  void unlock_shared() { inside_.fetch_sub(1); }
};
}
"""


@pytest.fixture
def checks(tmp_path: Path, environment: dict[str, str]) -> Checks:
    header = tmp_path / "my.hpp"
    header.write_text(LOCKS)

    def run(lock: str, *more: str) -> list[dict[str, Any]]:
        return results(check(header, [lock], environment, *more))

    return run


def faults_in(found: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {
        (each["client"].rpartition("::")[2], size_of(each))
        for each in found
        if each["verdict"] != "passed"
    }


def test_finds_waiters_that_an_attempt_forgets(checks: Checks) -> None:
    assert not faults_in(checks("waited_for"))
    found = checks("waited_for", "--flags", "-DFAULT=1")
    assert faults_in(found) == {("waited_for", "3x1t")}


def test_makes_attempts_in_a_size_that_is_given(checks: Checks) -> None:
    found = checks("waited_for", "--threads", "3", "--flags", "-DFAULT=1")
    assert [size_of(each) for each in found] == ["3x1", "3x1t"]
    assert faults_in(found) == {("waited_for", "3x1t")}


@pytest.mark.parametrize(
    ("fault", "client", "size"),
    [
        ("2", "shared.readers", "3x1t"),
        ("3", "shared.readers", "3x1w"),
        ("4", "shared", "2x1w"),
    ],
)
def test_makes_each_attempt_that_a_lock_has(
    checks: Checks, fault: str, client: str, size: str
) -> None:
    found = checks("shared", "--seconds", "20", "--flags", f"-DFAULT={fault}")
    assert (client, size) in faults_in(found)
