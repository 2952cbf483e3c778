# SPDX-License-Identifier: Apache-2.0
"""What a failing execution of a program says of threads that are blocked, and of main()'s own
variables."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from conftest import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(200)

LEFT_LOCKED = """
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
static pthread_rwlock_t door = PTHREAD_RWLOCK_INITIALIZER;
static void* leaver(void* unused) {
  pthread_rwlock_wrlock(&door);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, &leaver, NULL);
  pthread_join(thread, NULL);
  pthread_rwlock_rdlock(&door);  // blocked
}
"""
TWO_MUTEXES = """
#include <mutex>
#include <thread>
int main() {
  std::mutex one, other;
  int counter = 0;
  std::thread thread{[&] {
    const std::scoped_lock held{one};
    ++counter;
  }};
  {
    const std::scoped_lock held{other};
    ++counter;  // of main()
  }
  thread.join();
}
"""


def report_of(file: Path, text: str, environment: dict[str, str]) -> str:
    file.write_text(text)
    checked = subprocess.run(
        [COMMAND, "check", "--client", file.name],
        cwd=file.parent,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        env=environment,
    )
    assert checked.returncode == 4, checked.stderr
    return checked.stdout


def line_with(text: str, word: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if word in line)


def test_names_the_lock_and_the_line_at_which_a_thread_is_blocked(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    report = report_of(tmp_path / "left_locked.c", LEFT_LOCKED, environment)
    assert "hang: no thread can continue: T0 waits for door" in report
    line = line_with(LEFT_LOCKED, "// blocked")
    assert re.search(rf"left_locked\.c:{line} +T0  waits for door", report), report


def test_shows_how_a_thread_uses_its_own_variable_that_others_use_too(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    report = report_of(tmp_path / "two_mutexes.cpp", TWO_MUTEXES, environment)
    line = line_with(TWO_MUTEXES, "// of main()")
    written = re.search(
        rf"(\d+) two_mutexes\.cpp:{line} +T0  writes plain data counter on T0's stack", report
    )
    assert written, report
    assert f"[the other access is {written[1]}; neither happens before the other]" in report
    for mutex in ("one", "other"):
        assert f"exchange acquire on {mutex} on T0's stack" in report
