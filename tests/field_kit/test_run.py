# SPDX-License-Identifier: Apache-2.0
"""`lockyard run` swaps a program's locks, and leaves everything else to the program."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import COMMAND, as_nobody
from swapped_programs import compiled

from lockyard.errors import LockyardError
from lockyard.field_kit.preload import Launch, Reported

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

    Lockyard = Callable[..., Outcome]

PATIENCE_S = 60
USERS = """
#include <pthread.h>
#include <stdio.h>
int main(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  printf("users %u\\n", ((unsigned*)&mutex)[3]); /* glibc counts, a swapped mutex does not */
  pthread_mutex_unlock(&mutex);
  return 0;
}
"""
LEDGERS = """
#include <mutex>
#include <pthread.h>
#include <stdio.h>
#include <thread>
pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static void show(const char* name, pthread_mutex_t* mutex) {
  pthread_mutex_lock(mutex);
  printf("%s %u\\n", name, ((unsigned*)mutex)[3]); /* glibc counts, a swapped mutex does not */
  pthread_mutex_unlock(mutex);
}
namespace bank {
struct ledger {
  pthread_mutex_t mutex;
  int sum = 0;
  ledger() { pthread_mutex_init(&mutex, nullptr); }
  __attribute__((noinline)) void post() {
    pthread_mutex_lock(&mutex);
    ++sum;
    pthread_mutex_unlock(&mutex);
  }
};
struct journal {
  std::mutex mutex;
  __attribute__((noinline)) void write() { const std::lock_guard held{mutex}; }
};
}  // namespace bank
int main() {
  bank::ledger ledger;
  bank::journal journal;
  std::thread others[4];
  for (auto& each : others) each = std::thread{[&] {
    for (int i = 0; i < 10000; ++i) ledger.post(), journal.write();
  }};
  for (auto& each : others) each.join();
  show("account", &account);
  show("ledger", &ledger.mutex);
  show("journal", journal.mutex.native_handle());
  return ledger.sum == 40000 ? 0 : 1;
}
"""
PASSED = """
#include <pthread.h>
int main(void) {
  pthread_mutexattr_t robust, inheriting;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_init(&inheriting);
  pthread_mutexattr_setprotocol(&inheriting, PTHREAD_PRIO_INHERIT);
  pthread_mutex_t mutexes[3];
  pthread_mutex_init(mutexes, &robust);
  pthread_mutex_init(mutexes + 1, &inheriting);
  pthread_mutex_init(mutexes + 2, &inheriting);
  return 0;
}
"""
SIGNALLED = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void end(int number) { _exit(number == SIGTERM ? 7 : 8); }
int main(void) {
  signal(SIGTERM, end);
  signal(SIGINT, end);
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}
"""
RACE_FREE = """
#include <condition_variable>
#include <mutex>
#include <thread>
int main() {
  std::mutex mutex;
  std::condition_variable condition;
  int turns = 0;
  std::thread other{[&] {
    std::unique_lock held{mutex};
    for (int i = 0; i < 1000; ++i) {
      condition.wait(held, [&] { return turns % 2 == 1; });
      ++turns;
      condition.notify_one();
    }
  }};
  {
    std::unique_lock held{mutex};
    for (int i = 0; i < 1000; ++i) {
      condition.wait(held, [&] { return turns % 2 == 0; });
      ++turns;
      condition.notify_one();
    }
  }
  other.join();
  return turns == 2000 ? 0 : 1;
}
"""


@pytest.mark.parametrize("lock", ["mutex", "fair_mutex", "futex_mutex", "ttas_spinlock"])
def test_swaps_and_says_so(lockyard: Lockyard, tmp_path: Path, lock: str) -> None:
    program = compiled(USERS, tmp_path / "users.c")
    shown = lockyard("run", "--mutex", lock, "--", str(program))
    assert shown.returncode == 0
    assert shown.stdout == "users 0\n"
    assert shown.stderr.startswith(f"lockyard: {lock} in 1 process; load ")


def test_control_swaps_nothing(lockyard: Lockyard, tmp_path: Path) -> None:
    program = compiled(USERS, tmp_path / "users.c")
    shown = lockyard("run", "--mutex", "glibc", "-q", str(program))
    assert (shown.stdout, shown.stderr) == ("users 1\n", "")


@pytest.mark.parametrize(
    ("site", "swapped"),
    [
        ("account", {"account"}),
        ("bank", {"ledger", "journal"}),
        ("ledger", {"ledger"}),
        ("bank::journal::write", {"journal"}),
        ("show", {"account"}),  # the first to acquire it; the others' first use was before
    ],
)
def test_swaps_only_what_was_chosen(
    lockyard: Lockyard, tmp_path: Path, site: str, swapped: set[str]
) -> None:
    program = compiled(LEDGERS, tmp_path / "ledgers.cpp")
    shown = lockyard("run", "--only", site, "--", str(program))
    assert shown.returncode == 0, shown.stderr
    users = dict(line.split() for line in shown.stdout.splitlines())
    assert {name for name, count in users.items() if count == "0"} == swapped
    assert f"mutexes of {site}: {len(swapped)}; " in shown.stderr


def test_a_site_that_has_no_mutex_is_told(lockyard: Lockyard, tmp_path: Path) -> None:
    program = compiled(LEDGERS, tmp_path / "ledgers.cpp")
    unknown = lockyard("run", "--only", "teller", "--", str(program))
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "have a variable or function of this name" in unknown.stderr
    other = lockyard("run", "--only", "printf", "--", str(program))
    assert "no mutex was swapped, because printf is not a mutex" in other.stderr
    assert set(other.stdout.split()[1::2]) == {"1"}


def test_counts_mutexes_that_stay_glibcs(lockyard: Lockyard, tmp_path: Path) -> None:
    program = compiled(PASSED, tmp_path / "passed.c")
    shown = lockyard("run", "--mutex", "mutex", "--", str(program))
    assert "mutexes that stayed glibc's: 1 robust, 2 inheriting; load " in shown.stderr


def test_streams_and_status_are_the_programs(lockyard: Lockyard) -> None:
    command = [str(COMMAND), "run", "-q", "--", "sh", "-c", "cat; echo error >&2; exit 42"]
    shown = subprocess.run(
        command, input="input\n", capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (shown.returncode, shown.stdout, shown.stderr) == (42, "input\n", "error\n")
    by_signal = lockyard("run", "-q", "--", "sh", "-c", "kill -SEGV $$")
    assert by_signal.returncode == -signal.SIGSEGV


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 7), (signal.SIGINT, 8)])
def test_signals_reach_the_program(tmp_path: Path, number: signal.Signals, status: int) -> None:
    program = compiled(SIGNALLED, tmp_path / "signalled.c")
    process = subprocess.Popen(
        [COMMAND, "run", "-q", program], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == status
    process.stdout.close()


def test_program_that_is_not_there_or_not_executable(lockyard: Lockyard, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program\n")
    assert lockyard("run", "--", "no-such-program").returncode == 127
    assert lockyard("run", "--", str(tmp_path / "missing")).returncode == 127
    assert lockyard("run", "--", str(text)).returncode == 126
    assert lockyard("run", "--", str(tmp_path)).returncode == 126
    text.chmod(stat.S_IRWXU)
    shown = lockyard("run", "--", str(text))
    assert shown.returncode == 126
    assert "neither a program of this system nor a script" in shown.stderr


def _other_interpreter(program: Path) -> None:
    binary = program.read_bytes()
    own = b"/lib64/ld-linux-x86-64.so.2\0"
    assert binary.count(own) == 1
    program.write_bytes(binary.replace(own, b"/lib/ld-musl-x86_64.so.1".ljust(len(own), b"\0")))


def _go_section(program: Path) -> None:
    subprocess.run(
        ["objcopy", "--add-section", ".go.buildinfo=/etc/hostname", program],
        check=True, timeout=PATIENCE_S,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "change", "why"),
    [
        (("-static",), None, "linked statically"),
        (("-static-pie",), None, "linked statically"),
        ((), _other_interpreter, "uses musl"),
        ((), _go_section, "is a Go program"),
    ],
)
def test_refuses_programs_that_no_library_reaches(
    lockyard: Lockyard,
    tmp_path: Path,
    flags: tuple[str, ...],
    change: Callable[[Path], None] | None,
    why: str,
) -> None:
    program = compiled(USERS, tmp_path / "users.c", *flags)
    if change is not None:
        change(program)
    script = tmp_path / "script"
    script.write_text(f"#!/usr/bin/env {program}\n")
    script.chmod(stat.S_IRWXU)
    for path in (program, script):
        shown = lockyard("run", "--", str(path))
        assert shown.returncode == 3
        assert why in shown.stderr
        assert shown.stdout == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program of another user setuid")
def test_refuses_a_setuid_program() -> None:
    with tempfile.TemporaryDirectory() as folder:  # another user looks inside
        Path(folder).chmod(0o755)
        program = Path(folder) / "setuid"
        shutil.copy("/bin/true", program)
        program.chmod(0o4755)
        shown = subprocess.run(
            as_nobody(COMMAND, "run", "--", program),
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
    assert shown.returncode == 3
    assert "is setuid" in shown.stderr


def test_refuses_a_glibc_of_unknown_layout(lockyard: Lockyard, tmp_path: Path) -> None:
    source = 'const char* gnu_get_libc_version(void) { return "2.99"; }'
    other = compiled(source, tmp_path / "version.c", "-shared", "-fPIC")
    shown = lockyard("run", "--", "true", extra={"LD_PRELOAD": str(other)})
    assert shown.returncode == 3
    assert "glibc 2.34 to 2.41 are known, and this program runs with 2.99" in shown.stderr


def test_says_if_the_library_was_not_loaded_after_all() -> None:
    launch = Launch(["true"], "mutex", {})
    with pytest.raises(LockyardError, match="locks were left alone"):
        launch.check(Reported())


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
@pytest.mark.parametrize("lock", ["mutex", "fair_mutex"])
def test_swaps_locks_under_sanitizers(
    lockyard: Lockyard, tmp_path: Path, sanitizer: str, lock: str
) -> None:
    program = compiled(RACE_FREE, tmp_path / "race_free.cpp", f"-fsanitize={sanitizer}")
    shown = lockyard("run", "--mutex", lock, "--", str(program))
    assert shown.returncode == 0, shown.stderr
    assert f"lockyard: {lock} in 1 process" in shown.stderr


def test_processes_of_a_script_are_counted(lockyard: Lockyard) -> None:
    shown = lockyard("run", "--", "sh", "-c", "/bin/true; /bin/true; exit 0")
    assert shown.stderr.startswith("lockyard: mutex in 3 processes; ")


def test_a_refused_name_lists_the_locks(lockyard: Lockyard) -> None:
    shown = lockyard("run", "--mutex", "mcs_spinlock", "--", "true")
    assert shown.returncode == 2
    assert "fair_mutex[strict]" in shown.stderr
    assert lockyard("run", "--condition", "none", "--", "true").returncode == 2
    assert lockyard("run").returncode == 2
