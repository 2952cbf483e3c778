# SPDX-License-Identifier: Apache-2.0
"""Locks and containers of other libraries, compiled unchanged: they pass, and a fault that is
seeded in a copy of their source is found.

A fault is a change of the library's text, made in a copy of the file during the test.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import COMMAND

pytestmark = [pytest.mark.deep, pytest.mark.timeout(600)]

HERE = Path(__file__).with_name("libraries")
SYSTEM = Path("/usr/include")
# ./yard check-deep puts the sources of Abseil and folly there: Debian's packages have none.
ABSEIL = Path(__file__).parents[2] / "build" / "sources" / "abseil-cpp"
FOLLY = Path(__file__).parents[2] / "build" / "sources" / "folly"
# A machine's counter of cycles is not the checker's clock, and inline assembly has other ways.
OF_FOLLY = f"-DFOLLY_NO_CONFIG=1 -DFOLLY_HAVE_LIBGFLAGS=0 -DFOLLY_SANITIZE=1 -I{HERE}"
FLAGS = {
    "abseil.hpp": "-DABSL_USE_UNSCALED_CYCLECLOCK=0",
    "abseil_mutex.hpp": "-DABSL_USE_UNSCALED_CYCLECLOCK=0 -DABSL_FORCE_THREAD_IDENTITY_MODE=2",
    "folly.hpp": OF_FOLLY,
    "folly_baton.cpp": OF_FOLLY,
    "folly_readers.cpp": OF_FOLLY,
}


@dataclass(frozen=True)
class Fault:
    file: str  # in the library
    old: str
    new: str
    verdict: str


@dataclass(frozen=True)
class Case:
    source: str  # the adapter, or the client
    lock: str  # of the adapter
    root: Path  # of the library's headers
    folder: str  # which is copied, because its files include each other by their relative names
    fault: Fault

    def __str__(self) -> str:
        return f"{self.source}:{self.lock}" if self.lock else self.source

    def arguments(self) -> tuple[str, ...]:
        source = str(HERE / self.source)
        if not self.lock:
            return ("--client", source)
        return ("--lock", f"{source}:adapters::{self.lock}", "--threads", "2")


CASES = (
    Case(
        *("tbb.hpp", "spin_mutex", SYSTEM, "oneapi"),
        Fault(
            "oneapi/tbb/spin_mutex.h",
            "m_flag.store(false, std::memory_order_release)",
            "m_flag.store(false, std::memory_order_relaxed)",
            "race",
        ),
    ),
    Case(
        *("tbb.hpp", "queuing_mutex", SYSTEM, "oneapi"),
        Fault(
            "oneapi/tbb/queuing_mutex.h",
            "m_going.store(1U, std::memory_order_release)",
            "m_going.store(1U, std::memory_order_relaxed)",
            "race",
        ),
    ),
    Case(
        *("tbb.hpp", "spin_rw_mutex", SYSTEM, "oneapi"),
        Fault(
            "oneapi/tbb/spin_rw_mutex.h",
            "m_state &= READERS;",
            "m_state.fetch_and(READERS, std::memory_order_relaxed);",
            "race",
        ),
    ),
    Case(
        *("tbb.hpp", "mutex", SYSTEM, "oneapi"),
        Fault("oneapi/tbb/mutex.h", "my_flag.notify_one_relaxed();", "", "hang"),
    ),
    Case(
        *("tbb.hpp", "rw_mutex", SYSTEM, "oneapi"),
        Fault("oneapi/tbb/rw_mutex.h", "r1::notify_by_address(this, WRITER_CONTEXT);", "", "hang"),
    ),
    Case(
        *("tbb_spin_readers.cpp", "", SYSTEM, "oneapi"),
        Fault(
            "oneapi/tbb/spin_rw_mutex.h",
            "m_state -= ONE_READER;",
            "m_state.fetch_sub(ONE_READER, std::memory_order_relaxed);",
            "race",
        ),
    ),
    Case(
        *("tbb_readers.cpp", "", SYSTEM, "oneapi"),
        Fault(
            "oneapi/tbb/rw_mutex.h",
            "(m_state -= ONE_READER); // Returns",
            "m_state.fetch_sub(ONE_READER, std::memory_order_relaxed) - ONE_READER; // Returns",
            "race",
        ),
    ),
    Case(
        *("boost.hpp", "spinlock", SYSTEM, "boost/smart_ptr/detail"),
        Fault(
            "boost/smart_ptr/detail/spinlock_gcc_atomic.hpp",
            "__ATOMIC_RELEASE",
            "__ATOMIC_RELAXED",
            "race",
        ),
    ),
    Case(
        *("boost_ring.cpp", "", SYSTEM, "boost/lockfree"),
        Fault(
            "boost/lockfree/spsc_queue.hpp",
            "write_index_.store(next, memory_order_release)",
            "write_index_.store(next, memory_order_relaxed)",
            "race",
        ),
    ),
    Case(
        *("boost_stack.cpp", "", SYSTEM, "boost/lockfree"),
        Fault(
            "boost/lockfree/stack.hpp",
            "tos.compare_exchange_weak(old_tos, new_tos)",
            "tos.compare_exchange_weak(old_tos, new_tos, detail::memory_order_relaxed)",
            "race",
        ),
    ),
    Case(
        *("boost_queue.cpp", "", SYSTEM, "boost/lockfree"),
        Fault(
            "boost/lockfree/queue.hpp",
            "tail_node->next.compare_exchange_weak(next, new_tail_next)",
            "tail_node->next.compare_exchange_weak(next, new_tail_next, "
            "detail::memory_order_relaxed)",
            "race",
        ),
    ),
    Case(
        *("moodycamel_queue.cpp", "", SYSTEM, "concurrentqueue"),
        Fault(
            "concurrentqueue/concurrentqueue.h",
            "tail = this->tailIndex.load(std::memory_order_acquire);",
            "tail = this->tailIndex.load(std::memory_order_relaxed);",
            "race",
        ),
    ),
    Case(
        *("moodycamel_ring.cpp", "", SYSTEM, "readerwriterqueue"),
        Fault(
            "readerwriterqueue/readerwriterqueue.h",
            "fence(memory_order_release);\n\t\t\ttailBlock_->tail = nextBlockTail",
            "tailBlock_->tail = nextBlockTail",
            "race",
        ),
    ),
    Case(
        *("atomic_queue.cpp", "", SYSTEM, "atomic_queue"),
        Fault(
            "atomic_queue/defs.h",
            "R = std::memory_order_release",
            "R = std::memory_order_relaxed",
            "race",
        ),
    ),
    Case(
        *("folly_readers.cpp", "", FOLLY, "folly/synchronization"),
        Fault(
            "folly/synchronization/RWSpinLock.h",
            "bits_.fetch_and(~(WRITER | UPGRADED), std::memory_order_release)",
            "bits_.fetch_and(~(WRITER | UPGRADED), std::memory_order_relaxed)",
            "race",
        ),
    ),
    Case(
        *("abseil.hpp", "spin_lock", ABSEIL, "absl/base/internal"),
        Fault(
            "absl/base/internal/spinlock.cc",
            "base_internal::SpinLockWake(&lockword_,",
            "if (lock_value == 0) base_internal::SpinLockWake(&lockword_,",
            "hang",
        ),
    ),
    Case(
        *("abseil_mutex.hpp", "mutex", ABSEIL, "absl/synchronization"),
        Fault(
            "absl/synchronization/mutex.cc",
            "memory_order_release);\n  IncrementSynchSem(this, w);",
            "memory_order_release);",
            "hang",
        ),
    ),
    Case(
        *("folly.hpp", "micro_spin_lock", FOLLY, "folly/synchronization"),
        Fault(
            "folly/synchronization/MicroSpinLock.h",
            "payload()->store(FREE, std::memory_order_release)",
            "payload()->store(FREE, std::memory_order_relaxed)",
            "race",
        ),
    ),
    Case(
        *("folly.hpp", "pico_spin_lock", FOLLY, "folly/synchronization"),
        Fault(
            "folly/synchronization/PicoSpinLock.h",
            "atomic_fetch_reset(ref, Bit, std::memory_order_release)",
            "atomic_fetch_reset(ref, Bit, std::memory_order_relaxed)",
            "race",
        ),
    ),
    Case(
        *("folly_baton.cpp", "", FOLLY, "folly/synchronization"),
        Fault(
            "folly/synchronization/Baton.h",
            "state_.store(LATE_DELIVERY, std::memory_order_release);",
            "state_.store(LATE_DELIVERY, std::memory_order_relaxed);",
            "race",
        ),
    ),
    Case(
        *("folly.hpp", "shared_mutex", FOLLY, "folly"),
        Fault(
            "folly/SharedMutex.h",
            "auto state = (state_ &= ~(kWaitingNotS | kPrevDefer | kHasE));",
            "auto state = state_.fetch_and(~(kWaitingNotS | kPrevDefer | kHasE), "
            "std::memory_order_relaxed) & ~(kWaitingNotS | kPrevDefer | kHasE);",
            "race",
        ),
    ),
    Case(
        *("folly.hpp", "distributed_mutex", FOLLY, "folly/synchronization"),
        Fault(
            "folly/synchronization/DistributedMutex-inl.h",
            "waiter->futex_.store(kWake, std::memory_order_release)",
            "waiter->futex_.store(kWake, std::memory_order_relaxed)",
            "race",
        ),
    ),
)
# A whole search takes longer than the test may: these loops publish the time.
SAMPLED = {"abseil_mutex.hpp:mutex", "folly.hpp:distributed_mutex"}


def checked(case: Case, environment: dict[str, str], *include: Path) -> tuple[str, str]:
    """Returns the verdict and the explanation."""
    options = [word for each in include for word in ("--include", str(each))]
    flags = ("--flags", FLAGS[case.source]) if case.source in FLAGS else ()
    search = (
        ("--search", "pct", "--seconds", "20") if str(case) in SAMPLED else ("--seconds", "200")
    )
    run = subprocess.run(
        [
            *(COMMAND, "check", *case.arguments(), *options, *flags),
            *(*search, "--json"),
        ],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        env=environment,
    )
    assert run.stdout, run.stderr
    # A lock with readers is checked with and without them.
    checks = [json.loads(line) for line in run.stdout.splitlines()]
    found = next((each for each in checks if each["verdict"] != "passed"), checks[0])
    return found["verdict"], found["what"]


def need(case: Case) -> None:
    if not (case.root / case.fault.file).is_file():
        pytest.skip(f"{case.root / case.fault.file} is missing; ./yard check-deep fetches it")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_unchanged_sources_pass(case: Case, environment: dict[str, str]) -> None:
    need(case)
    found, what = (
        checked(case, environment, case.root) if case.root != SYSTEM else checked(case, environment)
    )
    assert found == "passed", what


@pytest.mark.parametrize("case", CASES, ids=str)
def test_seeded_faults_are_found(case: Case, environment: dict[str, str], tmp_path: Path) -> None:
    need(case)
    shutil.copytree(case.root / case.folder, tmp_path / case.folder)
    copy = tmp_path / case.fault.file
    text = copy.read_text()
    assert case.fault.old in text, f"{case.fault.file} has changed: seed another fault"
    copy.write_text(text.replace(case.fault.old, case.fault.new))
    include = (tmp_path,) if case.root == SYSTEM else (tmp_path, case.root)
    found, what = checked(case, environment, *include)
    assert found == case.fault.verdict, what


def test_inline_assembly_of_boost_is_refused_by_name(environment: dict[str, str]) -> None:
    run = subprocess.run(
        [COMMAND, "check", "--lock", f"{HERE / 'boost.hpp'}:adapters::assembled"],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env=environment,
    )
    assert run.returncode == 2
    assert "boost/interprocess/detail/atomic.hpp" in run.stderr
