# SPDX-License-Identifier: Apache-2.0
"""Locks as a user may write them, each in a header of its own, and a way to have them measured."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# The wait is in another header, which is found by --include.
TICKET = """
#pragma once
#include <atomic>
#include <patience.hpp>
namespace my {
class ticket_lock {
 public:
  void lock() {
    const unsigned mine = next_.fetch_add(1, std::memory_order_relaxed);
    while (serving_.load(std::memory_order_acquire) != mine) be_patient();
  }
  void unlock() {
    serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  std::atomic<unsigned> next_{0};
  std::atomic<unsigned> serving_{0};
};
}
"""
PATIENCE = """
#pragma once
#include <sched.h>
inline void be_patient() { sched_yield(); }
"""
# The first thread believes to hold it, and so does every other thread.
OPEN_DOOR = """
#pragma once
namespace my {
template <int Keys>
struct open_door {
  void lock() {}
  bool try_lock() { return true; }
  void unlock() {}
};
}
"""
MISSPELT = """
#pragma once
#include <atomic>
namespace my {
class misspelt {
 public:
  void lock() { while (held_.exchange(true)) {} }
  void unlock() { held_.put(false); }

 private:
  std::atomic<bool> held_{false};
};
}
"""
NO_LOCKS = """
#pragma once
namespace my {
struct no_unlock { void lock(); };
struct no_lock { void unlock(); };
struct of_two_words { void lock(int); void unlock(); };
struct tries_in_vain { void lock(); void unlock(); void try_lock(); };
struct wants_a_name { explicit wants_a_name(const char*); void lock(); void unlock(); };
struct large { void lock(); void unlock(); char room[5000]; };
struct elsewhere { void lock(); void unlock(); };
}
"""
HEADERS = {
    "my/ticket_lock.hpp": TICKET,
    "waits/patience.hpp": PATIENCE,
    "my/open_door.hpp": OPEN_DOOR,
    "my/misspelt.hpp": MISSPELT,
    "my/no_locks.hpp": NO_LOCKS,
}
TICKET_LOCK = ("--lock", "my/ticket_lock.hpp:my::ticket_lock", "--include", "waits")


def write_headers(where: Path) -> Path:
    for name, text in HEADERS.items():
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return where


def measure(
    where: Path, environment: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Works like the fixture lockyard, in a folder, and with time for compilers."""
    return subprocess.run(
        [COMMAND, "measure", *arguments],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
