# SPDX-License-Identifier: Apache-2.0
"""Checks of programs with main(), in C and in C++, and automatic mutants of a user's own lock."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

pytestmark = pytest.mark.timeout(300)

WAITS = """#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static atomic_int word = 1;
static void* lock_twice(void* unused) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  return unused;
}
static void* meet(void* unused) {
  pthread_barrier_wait(&barrier);
  return unused;
}
static void* spin(void* unused) {
  while (atomic_fetch_or(&word, 1) == 1) {
  }
  return unused;
}
int main(void) {
  pthread_t threads[3];
  pthread_barrier_init(&barrier, 0, 2);
  pthread_create(&threads[0], 0, lock_twice, 0);
  pthread_create(&threads[1], 0, meet, 0);
  pthread_create(&threads[2], 0, spin, 0);
  pthread_join(threads[0], 0);
}
"""
MESSAGE = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
extern void __VERIFIER_assume(int);
atomic_int flag;
int data;
static void *writer(void *unused) {
  data = 42;
  atomic_store_explicit(&flag, 1, memory_order_ORDER);
  return unused;
}
static void *reader(void *unused) {
  __VERIFIER_assume(atomic_load_explicit(&flag, memory_order_acquire) == 1);
  assert(data == 42);
  return unused;
}
int main() {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, reader, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
"""
COUNT = """
#include <atomic>
#include <cassert>
#include <thread>
int main() {
  std::atomic<int> count{0};
  const auto add = [&count] { STEP; };
  std::thread first{add}, second{add};
  first.join();
  second.join();
  assert(count == 2);
}
"""
LOCK = """
#pragma once
#include <atomic>
class spin {
 public:
  void lock() {
    while (taken_.load(std::memory_order_acquire) ||
           taken_.exchange(true, std::memory_order_acquire)) {
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};
"""
REFUSED = """
#include <pthread.h>
#include <cstdlib>
struct client {
  static constexpr unsigned threads = 2;
  void thread(unsigned) { CALL; }
};
"""
# Each turn of a spin takes a recursive mutex again, so the other thread never gets it.
TAKES_AGAIN = """
#include <atomic>
#include <mutex>
#include <thread>
std::atomic<int> word{0};
std::recursive_mutex lock;
int main() {
  std::thread first{[] {
    lock.lock();
    while (word.load() == 0) lock.try_lock();
    lock.unlock();
    while (word.load() != 2) {
    }
  }};
  std::thread second{[] {
    word.store(1);
    lock.lock();
    lock.unlock();
    word.store(2);
  }};
  first.join();
  second.join();
}
"""
# A variable of a thread that calls pthread_exit() is used by another thread.
EXIT = """
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
static _Atomic(atomic_int *) shared;
static atomic_int steps;
static void *exits(void *unused) {
  atomic_int mine = 1;
  atomic_store_explicit(&shared, &mine, memory_order_release);
  atomic_store_explicit(&steps, 1, memory_order_relaxed);
  pthread_exit(unused);
}
static void *uses(void *unused) {
  atomic_int *found = atomic_load_explicit(&shared, memory_order_acquire);
  if (found != NULL) atomic_store_explicit(found, 2, memory_order_relaxed);
  return unused;
}
int main() {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, exits, NULL);
  pthread_create(&threads[1], NULL, uses, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
"""
# The second word that a spin looks at is a variable of a thread that may end before the last look.
TWO_WORDS = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
static _Atomic(atomic_bool *) other;
static atomic_bool goes_on, has_ended, may_end, of_first_turn;
__attribute__((noinline)) static bool is_last(atomic_bool *word, atomic_bool *second) {
  return atomic_load_explicit(word, memory_order_acquire) ||
         atomic_load_explicit(second, memory_order_acquire);
}
static void *spins(void *unused) {
  atomic_bool *theirs = atomic_load_explicit(&other, memory_order_acquire);
  if (theirs != NULL) {
    atomic_bool *word = &of_first_turn, *second = &of_first_turn;
    while (!is_last(word, second)) word = &goes_on, second = theirs;
    atomic_store_explicit(&has_ended, true, memory_order_relaxed);
  }
  atomic_store_explicit(&may_end, true, memory_order_release);
  return unused;
}
static void *ends(void *unused) {
  atomic_bool mine = false;
  atomic_store_explicit(&other, &mine, memory_order_release);
  atomic_store_explicit(&goes_on, true, memory_order_relaxed);
  if (!atomic_load_explicit(&has_ended, memory_order_relaxed)) {
    while (!atomic_load_explicit(&may_end, memory_order_acquire)) {
    }
  }
  return unused;
}
int main() {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, spins, NULL);
  pthread_create(&threads[1], NULL, ends, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
"""


# Each thread stores the same number.
STORES = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int word;
static void* set(void* unused) {
  atomic_store_explicit(&word, 1, memory_order_relaxed);
  return unused;
}
int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], 0, set, 0);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], 0);
  assert(word == 1);
}
"""


@pytest.fixture
def check(tmp_path: Path, environment: dict[str, str]) -> Callable[..., Outcome]:
    def run(name: str, text: str, *arguments: str) -> Outcome:
        (tmp_path / name).write_text(text)
        option = "--lock" if name.endswith(".hpp") else "--client"
        return subprocess.run(
            [COMMAND, "check", option, f"{name}:spin" if option == "--lock" else name, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
            env=environment,
        )

    return run


def test_passes_a_program_in_c(check: Callable[..., Outcome]) -> None:
    checked = check("message.c", MESSAGE.replace("ORDER", "release"), "--json")
    assert checked.returncode == 0, checked.stderr
    found = json.loads(checked.stdout)
    assert (found["verdict"], found["coverage"], found["threads"]) == ("passed", "exhaustive", 3)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("variant.c", '#include "message.h"\n'),
        ("variant.cpp", '#include "count.h"\n'),
        ("macro.cpp", "#define MAIN int main()\nMAIN { return 0; }\n"),
        ("old.c", "main(count, texts) int count; char** texts; { return 0; }\n"),
    ],
)
def test_finds_a_main_that_is_not_spelled_out(
    check: Callable[..., Outcome], tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / "message.h").write_text(MESSAGE.replace("ORDER", "release"))
    (tmp_path / "count.h").write_text(COUNT.replace("STEP", "++count"))
    checked = check(name, text)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_has_room_for_eight_threads_besides_main(check: Callable[..., Outcome]) -> None:
    sampled = ("--search", "random", "--seconds", "1")
    eight = check("stores.c", STORES.replace("THREADS", "8"), *sampled)
    assert eight.returncode == 0, eight.stdout + eight.stderr
    nine = check("stores.c", STORES.replace("THREADS", "9"), *sampled)
    assert nine.returncode == 2
    assert "creates more than 8 threads, so nothing was checked" in nine.stderr


def test_refuses_a_program_in_c_without_main(check: Callable[..., Outcome]) -> None:
    checked = check("part.c", "int part(void) { return 0; }\n")
    assert checked.returncode == 2
    assert "does not link, so nothing was checked" in checked.stderr


def test_shows_lanes_and_edges_of_a_failing_program(check: Callable[..., Outcome]) -> None:
    checked = check("message.c", MESSAGE.replace("ORDER", "relaxed"))
    assert checked.returncode == 4, checked.stderr
    assert re.search(
        r"(\d+) message\.c:10 +│   T1  writes plain data data\n.*"
        r"T2  load acquire of flag: 1 \(by T1\)  \[could read 0\]\n.*"
        r"T2  reads plain data data that T1 writes at the same time  \[the other access is \1;",
        checked.stdout,
        re.DOTALL,
    ), checked.stdout
    assert re.search(
        r"await acquire on the start of T1: 1 \(by T0\)  \[after \d+\]", checked.stdout
    )


def test_says_what_the_threads_of_a_hang_wait_for(check: Callable[..., Outcome]) -> None:
    checked = check("waits.c", WAITS)
    assert checked.returncode == 4, checked.stderr
    waits = "T0 waits for the end of T1, T1 waits for mutex, T2 waits for barrier, T3 spins"
    assert f"no thread can continue: {waits}" in checked.stdout


def test_describes_the_failing_execution_as_data(check: Callable[..., Outcome]) -> None:
    checked = check("message.c", MESSAGE.replace("ORDER", "relaxed"), "--json")
    steps = json.loads(checked.stdout)["steps"]
    load = next(step for step in steps if step["kind"] == "load")
    assert (load["word"], load["order"], load["read"]) == ("flag", "acquire", "1")
    assert steps[load["reads_from"]]["written"] == "1"
    assert load["could_read"] == [{"value": "0", "written_by": None}]
    started = next(step for step in steps if step["word"] == "the start of T2" and step["read"])
    assert steps[started["after"][0]]["thread"] == 0
    failure = steps[-1]
    assert failure["kind"] == "failure"
    assert steps[failure["conflicts_with"]]["kind"] == "plain write"


@pytest.mark.parametrize(
    ("step", "status"), [("++count", 0), ("count = count + 1", 4)], ids=["right", "wrong"]
)
def test_checks_a_program_with_std_thread(
    check: Callable[..., Outcome], step: str, status: int
) -> None:
    checked = check("count.cpp", COUNT.replace("STEP", step))
    assert checked.returncode == status, checked.stdout + checked.stderr


def test_names_the_lines_that_it_takes_as_spins(check: Callable[..., Outcome]) -> None:
    checked = check("spin.hpp", LOCK, "--threads", "2")
    assert re.search(r"^spin\.hpp:\d+ is treated as a spin: ", checked.stdout, re.MULTILINE)
    described = json.loads(check("spin.hpp", LOCK, "--threads", "2", "--json").stdout)
    assert described["spins"] in (["spin.hpp:7"], ["spin.hpp:8"], ["spin.hpp:7", "spin.hpp:8"])
    message = json.loads(check("message.c", MESSAGE.replace("ORDER", "release"), "--json").stdout)
    assert message["spins"] == []


def test_names_the_calls_that_it_does_not_see(check: Callable[..., Outcome]) -> None:
    processor = REFUSED.replace("<cstdlib>", "<sched.h>").replace("CALL", "(void)sched_getcpu()")
    checked = check("processor.cpp", processor)
    assert "not seen by the checker: sched_getcpu\n" in checked.stdout
    assert "processors, nor races on what the functions below use." in checked.stdout
    assert json.loads(check("processor.cpp", processor, "--json").stdout)["unseen"] == [
        "sched_getcpu"
    ]
    count = json.loads(check("count.cpp", COUNT.replace("STEP", "++count"), "--json").stdout)
    assert count["unseen"] == []


def test_refuses_a_function_that_the_checker_defines(check: Callable[..., Outcome]) -> None:
    own = 'extern "C" void* __wrap_malloc(size_t) { return nullptr; }\nstruct'
    checked = check("own.cpp", REFUSED.replace("CALL", "std::malloc(1)").replace("struct", own))
    assert checked.returncode == 2, checked.stdout + checked.stderr
    assert "defines `__wrap_malloc`, which the checker defines itself" in checked.stderr


def test_a_sample_without_an_end_is_no_pass(check: Callable[..., Outcome]) -> None:
    endless = "#include <stdatomic.h>\natomic_int n;\nint main(void) { for (;;) ++n; }\n"
    checked = check("endless.c", endless, "--search", "random", "--seconds", "0.2")
    assert checked.returncode == 5, checked.stdout + checked.stderr
    assert "each sampled execution was cut at the depth limit" in checked.stdout


def test_names_the_orders_that_no_client_needs(check: Callable[..., Outcome]) -> None:
    checked = check("spin.hpp", LOCK, "--mutants", "--threads", "2")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "2 of 3 mutants killed" in checked.stdout
    assert re.search(r"spin\.hpp:7: this `acquire` is not needed by any client", checked.stdout)


def test_no_mutant_is_checked_of_a_lock_that_fails(check: Callable[..., Outcome]) -> None:
    broken = LOCK.replace("memory_order_release", "memory_order_relaxed")
    checked = check("broken.hpp", broken, "--mutants", "--threads", "2")
    assert checked.returncode == 4, checked.stdout + checked.stderr
    assert "fails as it is, so no mutant was checked" in checked.stderr
    assert "mutants killed" not in checked.stdout


@pytest.mark.parametrize(
    ("call", "cause", "remedy"),
    [
        ("pthread_cancel(pthread_self())", "calls `pthread_cancel`", "leave the call out"),
        ("(void)std::rand()", "calls `rand`, whose result differs", "use a fixed value"),
        ("__builtin_ia32_sfence()", "has the instruction `sfence", "write it with std::atomic"),
    ],
)
def test_refuses_calls_that_it_has_no_model_of(
    check: Callable[..., Outcome], call: str, cause: str, remedy: str
) -> None:
    checked = check("refused.cpp", REFUSED.replace("CALL", call))
    assert checked.returncode == 2, checked.stdout + checked.stderr
    assert re.search(r"refused\.cpp:6 ", checked.stderr)
    assert cause in checked.stderr
    assert remedy in checked.stderr


def test_takes_a_function_of_the_programs_own_for_what_it_is(check: Callable[..., Outcome]) -> None:
    own = REFUSED.replace("struct", 'extern "C" [[gnu::noipa]] int raise() { return 1; }\nstruct')
    checked = check("own.cpp", own.replace("CALL", "raise()"))
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("program", [EXIT, TWO_WORDS], ids=["pthread_exit", "return"])
def test_ends_the_variables_of_a_thread_that_ends(
    check: Callable[..., Outcome], program: str
) -> None:
    checked = check("ends.c", program, "--json")
    assert checked.returncode == 4, checked.stderr
    found = json.loads(checked.stdout)
    assert found["verdict"] == "lifetime", found["what"]
    assert re.search("variable (of|on) T[12]'s stack", found["what"])


def test_reproduces_a_failure_of_a_deep_execution(check: Callable[..., Outcome]) -> None:
    checked = check("deep.cpp", TAKES_AGAIN, "--json")
    found = json.loads(checked.stdout)
    assert found["verdict"] == "hang", found["what"]


RACE = """#include <pthread.h>
int data;
void* run(void* unused) { data++; return unused; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  data++;
  pthread_join(thread, 0);
}
"""


@pytest.mark.parametrize("flag", ["-flto", "-fwhole-program", "-fvisibility=hidden"])
@pytest.mark.parametrize("name", ["race.c", "race.hpp", "race.txt"])
def test_flags_and_names_that_projects_use_hide_no_access(
    name: str, flag: str, lockyard: Callable[..., Outcome], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(RACE)
    checked = lockyard("check", "--client", str(tmp_path / name), f"--flags={flag}", "--json")
    assert json.loads(checked.stdout)["verdict"] == "race", checked.stderr
