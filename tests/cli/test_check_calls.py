# SPDX-License-Identifier: Apache-2.0
"""Locks with functions of other names, and with arguments (virtual/plain/calls.hpp)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND
from user_lock_checks import check, results, size_of

pytestmark = pytest.mark.timeout(300)

# With GIVE=relaxed, all of them are races; with LATE, an owner uses a node that has ended.
LOCKS = """
#pragma once
#include <atomic>
#include <chrono>
#include <vector>
namespace my {
constexpr auto acquiring = std::memory_order_acquire;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto giving = std::memory_order::GIVE;
struct base {
  bool attempt() { return !held_.exchange(true, acquiring); }
  void take() { while (!attempt()) {} }
  void give() { held_.store(false, giving); }
  std::atomic<bool> held_{false};
};
struct Capital : private base {
  void Lock() { take(); }
  void Unlock() { give(); }
  bool TryLock() { return attempt(); }
};
struct with_node : private base {
  struct node { std::atomic<int> used{0}; };
  std::atomic<node*> last_{nullptr};
  void acquire(node* own) {
    take();
#ifdef LATE
    if (node* other = last_.load(relaxed)) other->used.store(1, relaxed);
    last_.store(own, relaxed);
#endif
  }
  void release(node*) { give(); }
  bool try_acquire(node*) { return attempt(); }
};
struct with_reference : private base {
  struct alignas(64) node { int words[4]; };
  bool try_lock_for(std::chrono::milliseconds) { return attempt(); }  // lacks a node
  void lock(node& own) noexcept { take(); own.words[3] = 1; }
  void unlock(node& own) noexcept { own.words[3] = 0; give(); }
};
class with_exchange {  // CLH
 public:
  struct node { std::atomic<bool> is_held{false}; node* before = nullptr; };
  void lock(node*& own) {
    own->is_held.store(true, relaxed);
    own->before = last_.exchange(own, std::memory_order_acq_rel);
    while (own->before->is_held.load(acquiring)) {}
  }
  void unlock(node*& own) {
    node* const before = own->before;
    own->is_held.store(false, giving);
    own = before;
  }
 private:
  node first_;
  std::atomic<node*> last_{&first_};
};
struct with_token : private base {
  struct token { token() = default; token(token&&) = default; };
  [[nodiscard]] token lock() { take(); return {}; }
  void unlock(token&&) { give(); }
};
struct with_guard : private base {
  struct guard {
    base& of;
    explicit guard(base& lock) : of{lock} {}
    guard(const guard&) = delete;
    ~guard() { of.give(); }
  };
  guard lock() { take(); return guard{*this}; }
};
struct with_scope : private base {
  class scoped_lock {
   public:
    scoped_lock() = default;
    explicit scoped_lock(with_scope& of) : of_{&of} { of.take(); }
    bool try_acquire(with_scope& of) {
      if (!of.attempt()) return false;
      of_ = &of;
      return true;
    }
    ~scoped_lock() { if (of_ != nullptr) of_->give(); }
   private:
    with_scope* of_ = nullptr;
  };
};
struct for_two : private base {  // Peterson's way to call it
  int inside_[2] = {0, 0};
  void lock(int me) { take(); inside_[me] = 1; }
  void unlock(int me) { inside_[me] = 0; give(); }
};
struct for_many : private base {
  std::vector<int> inside_;
  explicit for_many(int count) : inside_(count) {}
  void lock(int me) { take(); inside_.at(me) = 1; }
  void unlock(int me) { inside_.at(me) = 0; give(); }
};
class with_readers {
 public:
  void wrlock() {
    for (int none = 0; !inside_.compare_exchange_weak(none, -1, acquiring); none = 0) {}
  }
  void rdlock() { while (!tryrdlock()) {} }
  bool tryrdlock() {
    int found = inside_.load(relaxed);
    return found >= 0 && inside_.compare_exchange_strong(found, found + 1, acquiring);
  }
  void unlock() {
    if (inside_.load(relaxed) < 0) inside_.store(0, giving);
    else inside_.fetch_sub(1, giving);
  }
 private:
  std::atomic<int> inside_{0};
};
struct like_posix : private base {  // 0 is success
  void lock() { take(); }
  void unlock() { give(); }
  int trylock() { return attempt() ? 0 : 16; }
};
struct of_parts {  // no member can be made by = {}
  struct part { explicit part(unsigned = 0) {} };
  part first_;
  base rest_;
  void lock() { rest_.take(); }
  void unlock() { rest_.give(); }
};
struct by_nothing { void grab() {} };
struct by_names { explicit by_names(const char*) {} void lock() {} void unlock() {} };
}
"""
SIZES = {
    "of_parts": {"2x1", "2x2", "3x1", "2x1d"},
    "Capital": {"2x1", "2x1t", "2x2", "3x1", "3x1t", "2x1d"},
    "with_node": {"2x1", "2x1t", "2x2", "3x1", "3x1t", "2x1d"},
    "with_reference": {"2x1", "2x2", "3x1", "2x1d"},
    "with_exchange": {"2x1", "2x2", "3x1", "2x1d"},
    "with_token": {"2x1", "2x2", "3x1", "2x1d"},
    "with_guard": {"2x1", "2x2", "3x1", "2x1d"},
    "with_scope": {"2x1", "2x1t", "2x2", "3x1", "3x1t", "2x1d"},
    "like_posix": {"2x1", "2x2", "3x1", "2x1d"},
    "for_two": {"2x1", "2x2", "2x1d"},
    "for_many": {"2x1", "2x2", "3x1", "2x1d"},
    "with_readers": {"2x1", "2x2", "3x1", "2x1d"},
    "with_readers.readers": {"3x1", "3x1t"},
}


def checked(
    folder: Path, environment: dict[str, str], *locks: str, flags: str = "-DGIVE=release"
) -> subprocess.CompletedProcess[str]:
    header = folder / "my.hpp"
    header.write_text(LOCKS)
    return check(header, locks, environment, "--flags", flags, "--seconds", "30")


def verdicts(run: subprocess.CompletedProcess[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for each in results(run):
        name = each["client"].removeprefix("my::")
        found.setdefault(name, {})[size_of(each)] = each["verdict"]
    return found


BOOST = Path("/usr/include/boost/smart_ptr/detail/spinlock.hpp")
LOCK_NAMES = [name for name in SIZES if not name.endswith(".readers")]


def test_calls_locks_as_they_ask_for_it(tmp_path: Path, environment: dict[str, str]) -> None:
    found = verdicts(checked(tmp_path, environment, *LOCK_NAMES))
    assert found == {name: dict.fromkeys(sizes, "passed") for name, sizes in SIZES.items()}


def test_gives_back_what_it_takes(tmp_path: Path, environment: dict[str, str]) -> None:
    found = verdicts(checked(tmp_path, environment, *LOCK_NAMES, flags="-DGIVE=relaxed"))
    assert {name: set(all_of.values()) for name, all_of in found.items()} == {
        name: {"race"} for name in SIZES
    }


def test_a_node_ends_when_the_lock_is_given_back(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    first = results(checked(tmp_path, environment, "with_node", flags="-DGIVE=release -DLATE"))[0]
    assert first["verdict"] == "lifetime"
    assert "node#" in first["what"]
    assert ".used" in first["what"]


@pytest.mark.skipif(not BOOST.exists(), reason="Boost is not installed")
def test_names_lines_of_a_library(environment: dict[str, str]) -> None:
    lock = f"{BOOST}:boost::detail::spinlock"
    run = subprocess.run(
        [COMMAND, "check", "--lock", lock, "--threads", "2", "--json"],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
        env=environment,
    )
    found = results(run)[0]
    assert found["verdict"] == "passed"
    assert [spin.partition(":")[0] for spin in found["spins"]] == ["spinlock_gcc_atomic.hpp"]


@pytest.mark.parametrize(
    ("lock", "cause"),
    [
        ("by_nothing", "it lacks public functions lock() and unlock()"),
        ("by_names", "it lacks a constructor without arguments"),
    ],
)
def test_refuses_what_it_cannot_call(
    tmp_path: Path, environment: dict[str, str], lock: str, cause: str
) -> None:
    refused = checked(tmp_path, environment, lock)
    assert refused.returncode == 2
    assert cause in refused.stderr
    assert "write a client" in refused.stderr
    assert "module.hpp" not in refused.stderr


CLIENT = """
#include <atomic>
#include <cassert>
struct client {
  static constexpr unsigned threads = 2;
  void thread(unsigned) { count.fetch_sub(1); }
  void END() { assert(count == -1); }
  std::atomic<int> count{0};
};
"""


def test_calls_the_end_of_a_client_finish(tmp_path: Path, environment: dict[str, str]) -> None:
    client = tmp_path / "client.cpp"
    client.write_text(CLIENT)
    finished, refused = (
        subprocess.run(
            [COMMAND, "check", "--client", str(client), f"--flags=-DEND={name}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=environment,
        )
        for name in ("finish", "finally")
    )
    assert finished.returncode == 4, finished.stderr
    assert "on count: -1 (by T0) becomes -2" in finished.stdout
    assert refused.returncode == 2
    assert "finally(), which nothing calls: the function is called finish()" in refused.stderr
