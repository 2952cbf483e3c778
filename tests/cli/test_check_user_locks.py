# SPDX-License-Identifier: Apache-2.0
"""Checks of a user's own lock, written with plain std::atomic, and of a user's own client."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

pytestmark = pytest.mark.timeout(300)

LOCKS = """
#pragma once
#include <atomic>
#include <linux/membarrier.h>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>
constexpr std::size_t length_of(const char* text) { return __builtin_strlen(text); }
static_assert(length_of("abc") == 3 && __builtin_memcmp("abc", "abe", 3) < 0);
namespace my {
template <std::memory_order Give>
class basic_ttas {
 public:
  void lock() {
    while (owner_.exchange(true, std::memory_order_acquire))
      while (owner_.load(std::memory_order_relaxed)) __builtin_ia32_pause();
  }
  void unlock() { owner_.store(false, Give); }

 private:
  char padding_[60];
  std::atomic<bool> owner_{false};
};
using ttas = basic_ttas<std::memory_order_release>;
using weak_ttas = basic_ttas<std::memory_order_relaxed>;
struct frees_plainly {
  int owner_ = 0;
  void lock() { while (__atomic_exchange_n(&owner_, 1, __ATOMIC_ACQUIRE) != 0) {} }
  void unlock() { owner_ = 0; }
};
struct large_lock {
  struct state { long words[3]; };
  std::atomic<state> state_{};
  void lock() { state_.load(); }
  void unlock() {}
};
struct assembled_lock {
  int state_ = 0;
  void lock() {
    char failed = 1;
    while (failed) asm volatile("xchg %0, %1" : "+q"(failed), "+m"(state_) : : "memory");
  }
  void unlock() { asm volatile("" : : : "memory"); state_ = 0; }
};
struct fenced_lock : ttas {
  void lock() {
    ttas::lock();
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
  }
};
struct unshared : ttas {
  void lock_shared() {}
  void unlock_shared() {}
};
struct looking_again {
  std::atomic<int> taken_{0};
  std::mutex queue_;
  void lock() {
    for (;;) {
      int found = taken_.load(std::memory_order_relaxed);
      if (found == 0) {
        if (taken_.compare_exchange_strong(found, 1, std::memory_order_acquire)) return;
        continue;
      }
      std::lock_guard hold(queue_);
    }
  }
  void unlock() { taken_.store(0, std::memory_order_release); }
};
struct late : ttas {
  std::atomic<int> left_{0};
  void unlock() {
    ttas::unlock();
    left_.store(1, std::memory_order_relaxed);
  }
};
struct no_lock { void lock() {} };
void absent();
struct misspelt { void lock() { absent(); } void unlock() {} };
}
"""
THREADED = """
#include <thread>
namespace my {
struct threaded {
  void lock() { std::thread{[] {}}.join(); }
  void unlock() {}
};
}
"""
CLIENT = """
#include <atomic>
#include <cassert>
struct client {
  static constexpr unsigned threads = 2;
  std::atomic<bool> ready_{false};
  int value_ = 0;
  void thread(unsigned index) {
    if (index == 0) { value_ = 42; ready_.store(true, std::memory_order_ORDER); }
    else if (ready_.load(std::memory_order_acquire)) assert(value_ == 42);
  }
};
"""

COMPUTED = """
#include <atomic>
#include <cmath>
struct client {
  static constexpr unsigned threads = 2;
  std::atomic<int> word_{0};
  double real_ = 2.5;
  unsigned long bits_ = 5;
  void thread(unsigned) {
    double real = real_;
    unsigned long bits = bits_;
    if (USES_LIBRARIES) {
      real = std::floor(real) + std::pow(real, 1.5) + std::hypot(real, 2.0);
      bits = static_cast<unsigned long>((static_cast<unsigned __int128>(bits) << 64) / (bits + 3));
      bits = __builtin_popcountl(bits);
    }
    word_.fetch_add(static_cast<int>(real) * static_cast<int>(bits));
    word_.load();
  }
};
"""
LEAF = """
struct client {
  static constexpr unsigned threads = 2;
  int value_ = 0;
  void thread(unsigned) { write(); }
  [[gnu::noinline]] void write() { value_ = 0; }
};
"""
ABSENT = """
struct client {
  static constexpr unsigned threads = 1;
  void thread(unsigned) { my::absent(1); }
};
"""
ARCHIVED = """
#include <cassert>
extern "C" int step(void);
struct client {
  static constexpr unsigned threads = 1;
  void thread(unsigned) { assert(step() == 1); }
};
"""


@pytest.fixture
def check(tmp_path: Path, environment: dict[str, str]) -> Callable[..., Outcome]:
    """Runs `lockyard check` in a folder with the headers above."""
    (tmp_path / "my.hpp").write_text(LOCKS)
    (tmp_path / "misspelt.hpp").write_text(LOCKS.replace("absent();", "absent() + ;"))
    (tmp_path / "threaded.hpp").write_text(THREADED)
    for order in ("release", "relaxed"):
        (tmp_path / f"{order}.cpp").write_text(CLIENT.replace("ORDER", order))

    def run(*arguments: str) -> Outcome:
        return subprocess.run(
            [COMMAND, "check", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
            env=environment,
        )

    return run


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_passes_a_lock_in_every_client_size(check: Callable[..., Outcome]) -> None:
    checked = check("--lock", "my.hpp:my::ttas", "--json")
    assert checked.returncode == 0, checked.stderr
    found = lines_of(checked.stdout)
    sizes = [(each["size"]["threads"], each["size"]["acquisitions"]) for each in found]
    assert sizes == [(2, 1), (2, 2), (3, 1), (2, 1)]
    for each in found:
        assert (each["client"], each["verdict"]) == ("my::ttas", "passed")
        assert each["coverage"] == "exhaustive"


def test_finds_equal_states_whatever_lay_on_the_stack_before(
    check: Callable[..., Outcome],
) -> None:
    found = check("--lock", "my.hpp:my::looking_again", "--threads", "2")
    assert found.returncode == 0, found.stderr
    found = check("--lock", "my.hpp:my::looking_again", "--threads", "3")
    assert "not deterministic" not in found.stdout, found.stdout


def test_shows_a_race_with_the_members_name_and_replays_it(check: Callable[..., Outcome]) -> None:
    checked = check("--lock", "my.hpp:my::weak_ttas", "--threads", "2")
    assert checked.returncode == 4, checked.stderr
    assert re.search(r"my\.hpp:\d+ +T0  store relaxed to owner_: 0", checked.stdout)
    assert "reads plain data of the critical section that T0 writes" in checked.stdout
    command = re.search(r"replay: lockyard check (.*)", checked.stdout)
    assert command
    replayed = check(*command[1].split())
    assert replayed.returncode == 4, replayed.stderr
    assert "store relaxed to owner_: 0" in replayed.stdout


@pytest.mark.parametrize("lock", ["frees_plainly", "weak_ttas"])
def test_names_the_write_of_a_race(check: Callable[..., Outcome], lock: str) -> None:
    checked = check("--lock", f"my.hpp:my::{lock}", "--threads", "2", "--json")
    assert checked.returncode == 4, checked.stderr
    failed = next(each for each in lines_of(checked.stdout) if each["verdict"] != "passed")
    assert failed["verdict"] == "race", failed["what"]
    other = failed["steps"][failed["steps"][-1]["conflicts_with"]]
    assert other["text"].startswith("writes "), other


def test_checks_the_readers_of_a_lock_and_replays_them(check: Callable[..., Outcome]) -> None:
    checked = check("--lock", "my.hpp:my::unshared", "--threads", "2", "--acquisitions", "1")
    assert checked.returncode == 4, checked.stderr
    assert re.search(r"^my::unshared +2x1 +passed", checked.stdout, re.MULTILINE)
    command = re.search(r"replay: lockyard check (.*my::unshared\.readers:.*)", checked.stdout)
    assert command
    replayed = check(*command[1].split())
    assert replayed.returncode == 4, replayed.stderr
    assert "plain data of the critical section that another thread uses" in replayed.stdout


def test_says_whose_use_of_a_lock_comes_too_late_for_its_end(check: Callable[..., Outcome]) -> None:
    checked = check("--lock", "my.hpp:my::late")
    assert checked.returncode == 4, checked.stderr
    found = re.search(
        r"^ +(\d+) my\.hpp:\d+ +T0  store release to owner_: 0\n"
        r" +(\d+) (my\.hpp:\d+) +T0  store relaxed to left_: 1\n(?:.*\n)*"
        r".* T1  left_ is destroyed .*\[the other access is (\d+); neither happens before .*\n"
        r"  T1, the last owner, destroys the lock after its unlock\(\)\. The use by T0 in line "
        r"(\d+) \((.*)\) does not happen before that: unlock\(\) must not use the lock after ",
        checked.stdout,
        re.MULTILINE,
    )
    assert found, checked.stdout
    assert {found[2], found[4], found[5]} == {found[2]}
    assert found[3] == found[6]


def test_checks_a_client_of_ones_own(check: Callable[..., Outcome]) -> None:
    passed = check("--client", "release.cpp", "--json")
    assert passed.returncode == 0, passed.stderr
    assert lines_of(passed.stdout)[0]["coverage"] == "exhaustive"
    failed = check("--client", "relaxed.cpp")
    assert failed.returncode == 4, failed.stderr
    assert "reads plain data value_ that T0 writes at the same time" in failed.stdout


@pytest.mark.parametrize("flags", ["kept/libstep.a", "-Lkept -lstep"])
def test_links_a_changed_archive_again(
    check: Callable[..., Outcome], tmp_path: Path, flags: str
) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "archived.cpp").write_text(ARCHIVED)
    checked = []
    for amount in (1, 1, 2):
        source = tmp_path / "step.c"
        source.write_text(f"int step(void) {{ return {amount}; }}\n")
        subprocess.run(["gcc", "-c", "-fPIC", source], cwd=tmp_path, check=True)
        subprocess.run(["ar", "rc", "kept/libstep.a", "step.o"], cwd=tmp_path, check=True)
        checked.append(check("--client", "archived.cpp", "--flags", flags))
    assert [each.returncode for each in checked] == [0, 0, 4], checked
    assert ["compiled in" in each.stderr for each in checked] == [True, False, True]
    assert checked[1].stderr == ""


def test_checks_the_source_files_among_the_flags(
    check: Callable[..., Outcome], tmp_path: Path
) -> None:
    """An object file's steps would be missing from the interleaving."""
    (tmp_path / "split.hpp").write_text(
        "#include <atomic>\nnamespace my {\nstruct split {\n  void lock();\n  void unlock();\n"
        "  std::atomic<bool> taken{false};\n};\n}\n"
    )
    (tmp_path / "split.cpp").write_text(
        '#include "split.hpp"\n'
        "void my::split::lock() { while (taken.exchange(true, std::memory_order_acquire)) {} }\n"
        "void my::split::unlock() { taken.store(false, std::ORDER); }\n"
    )
    options = ("--lock", "split.hpp:my::split", "--flags")
    passed = check(*options, "split.cpp -DORDER=memory_order_release", "--json")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    failed = check(*options, "split.cpp -DORDER=memory_order_relaxed")
    assert failed.returncode == 4, failed.stderr
    assert re.search(r"split\.cpp:3 +T0  store relaxed to taken", failed.stdout)


@pytest.mark.parametrize(
    ("lock", "cause", "remedy"),
    [
        ("my.hpp:my::large_lock", "an atomic object is larger than 16 bytes", "make it smaller"),
        ("my.hpp:my::assembled_lock", "has the instruction `xchg", "write it with std::atomic"),
        ("my.hpp:my::fenced_lock", "has no std::atomic_signal_fence()", "stop the compiler"),
        ("my.hpp:my::no_lock", "it lacks public functions lock()", "add what it lacks"),
        ("threaded.hpp:my::none", "declares no type my::none", "choose from my::threaded\n"),
        ("misspelt.hpp:my::misspelt", "does not compile", "fix the errors"),
        ("threaded.hpp:my::threaded", "creates a thread", "give the client more threads"),
        ("nowhere.hpp:my::ttas", "there is no file nowhere.hpp", "correct the path"),
    ],
)
def test_says_what_it_cannot_check(
    check: Callable[..., Outcome], lock: str, cause: str, remedy: str
) -> None:
    checked = check("--lock", lock)
    assert checked.returncode == 2, checked.stdout + checked.stderr
    assert cause in checked.stderr
    assert "nothing was checked" in checked.stderr
    assert remedy in checked.stderr


def test_arithmetic_of_libraries_needs_no_more_executions(
    check: Callable[..., Outcome], tmp_path: Path
) -> None:
    (tmp_path / "computed.cpp").write_text(COMPUTED)
    executions, unseen = set(), []
    for uses in "01":
        checked = check("--client", "computed.cpp", "--flags", f"-DUSES_LIBRARIES={uses}", "--json")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        (result,) = lines_of(checked.stdout)
        executions.add(result["executions"])
        unseen += result["unseen"]
    assert len(executions) == 1, executions
    assert unseen == []


def test_names_the_file_of_a_function_that_is_alone_in_it(
    check: Callable[..., Outcome], tmp_path: Path
) -> None:
    (tmp_path / "leaf.cpp").write_text(LEAF)
    checked = check("--client", "leaf.cpp", "--json")
    assert checked.returncode == 4, checked.stdout + checked.stderr
    (result,) = lines_of(checked.stdout)
    assert {each["where"] for each in result["steps"]} == {"leaf.cpp:6"}


def test_names_what_no_library_defines(check: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "absent.cpp").write_text("namespace my { void absent(int); }\n" + ABSENT)
    checked = check("--client", "absent.cpp")
    assert checked.returncode == 2, checked.stdout
    line = checked.stderr.splitlines()[-1]
    assert "uses `my::absent(int)`, which neither the code nor a library" in line
    assert "nothing was checked; name the source" in line


@pytest.mark.parametrize(
    ("types", "cause", "remedy"),
    [
        (["ttas"], "my.hpp declares no type ttas", "did you mean my::ttas or"),
        (["my::unshaerd"], "my.hpp declares no type my::unshaerd", "did you mean my::unshared?"),
        (["my::ttas", "my::no_loc"], "declares no type my::no_loc", "did you mean my::no_lock"),
        (["my::basic_ttas"], "is a template without its arguments", "as in my::basic_ttas<...>"),
        (["my::basic_ttas<1>"], "`my::basic_ttas<1>` is not a type", "what the compiler reports: "),
        (["my::absent"], "my::absent is not a type (`void my::absent()`)", "write the type with"),
    ],
)
def test_names_the_types_that_a_wrong_type_may_mean(
    check: Callable[..., Outcome], types: list[str], cause: str, remedy: str
) -> None:
    checked = check(*(word for each in types for word in ("--lock", f"my.hpp:{each}")))
    assert checked.returncode == 2, checked.stdout
    (line,) = checked.stderr.splitlines()
    assert line.startswith(f"lockyard: --lock my.hpp:{types[-1]}: ")
    assert f"{cause}, so nothing was checked; " in line
    assert remedy in line


def test_refuses_a_compiler_whose_instrumentation_leaves_accesses_out(
    tmp_path: Path, lockyard: Callable[..., Outcome]
) -> None:
    header = tmp_path / "my.hpp"
    header.write_text(LOCKS)
    fake = tmp_path / "c++"
    fake.write_text("#!/bin/sh\necho clang version 16.0.6\n")
    fake.chmod(0o755)
    checked = lockyard("check", "--lock", f"{header}:my::ttas", extra={"CXX": str(fake)})
    assert checked.returncode == 2
    assert f"the compiler {fake} is Clang" in checked.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--lock", "my.hpp:my::ttas", "--all"), "is checked alone"),
        (("--lock", "my.hpp:my::ttas", "mutex"), "is checked alone"),
        (("--client", "release.cpp", "--threads", "3"), "its constant `threads`"),
        (("--client", "absent.cpp"), "there is no such file"),
        (("--client", "."), "is a folder and not a C or C++ file"),
        (("--client", "one.cpp", "--client", "two.cpp"), "check one at a time"),
        (("--client", "release.cpp", "--lock", "my.hpp:my::ttas"), "drop --lock"),
    ],
)
def test_refuses_contradictory_options(
    check: Callable[..., Outcome], arguments: tuple[str, ...], message: str
) -> None:
    checked = check(*arguments)
    assert checked.returncode == 2, checked.stdout
    assert message in checked.stderr
