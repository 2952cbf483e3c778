// SPDX-License-Identifier: Apache-2.0

// A process that the kernel denies membarrier, as a container's filter of system calls may: before
// it starts (`before`), or after mutexes and event counts have relied on it (`after`). Exclusion
// and wake-ups must not suffer, and the world must know what it has left. A test by its exit
// status.

#include <lockyard/park/mutex.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "clients/event_locks.hpp"

namespace {

using lockyard::native;
using mode = lockyard::detail::asymmetric_mode;

/// Has the kernel answer membarrier with EPERM in all threads of this process, and in whatever
/// program it becomes; for good.
void deny_membarrier() {
  std::array<sock_filter, 4> rules{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{.len = rules.size(), .filter = rules.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    std::fprintf(stderr, "cannot install a filter of system calls: %s\n", std::strerror(errno));
    std::exit(EXIT_FAILURE);
  }
}

mode current_mode() {
  return native::process_state<lockyard::detail::asymmetric_fence>().mode();
}

bool is_denied() {
  return lockyard::detail::os::membarrier() ==
             lockyard::detail::os::membarrier_outcome::unregistered &&
         !lockyard::detail::os::membarrier_register();
}

/// Threads count under two locks that are held past the end of every spin, so that some sleep all
/// the time; `meanwhile` comes about when half is done.
template <class Lock>
bool counts_exactly_under(void (*meanwhile)()) {
  constexpr std::uint64_t rounds = 150;
  constexpr unsigned threads = 6;
  struct counted {
    Lock lock;
    std::uint64_t value = 0;
  };
  std::array<counted, 2> counters;
  std::atomic<std::uint64_t> done{0};
  std::vector<std::thread> team;
  for (unsigned t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < rounds; ++i) {
        counted& chosen = counters[(t + i) % counters.size()];
        const std::scoped_lock guard{chosen.lock};
        ++chosen.value;
        if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds{50});
        ++done;
      }
    });
  }
  while (done < threads * rounds / 2) std::this_thread::yield();
  meanwhile();
  for (auto& thread : team) thread.join();
  return counters[0].value + counters[1].value == threads * rounds;
}

/// By a mutex, and by a lock whose waiters sleep by an event count.
bool counts_exactly(void (*meanwhile)()) {
  return counts_exactly_under<lockyard::mutex>(meanwhile) &&
         counts_exactly_under<lockyard::testing::event_count_lock<lockyard::default_world>>(
             meanwhile);
}

bool expect(bool holds, const char* what) {
  if (!holds) std::fprintf(stderr, "not so: %s\n", what);
  return holds;
}

bool denied_before() {
  return expect(is_denied(), "membarrier is denied") &&
         expect(current_mode() == mode::fences, "the world relies on fences from the start") &&
         expect(counts_exactly([] {}), "no update is lost") &&
         expect(current_mode() == mode::fences, "the world still relies on fences");
}

bool denied_after() {
  const mode first = native::asymmetric_fence_register() ? mode::membarrier : mode::fences;
  const mode last = first == mode::membarrier ? mode::lost : mode::fences;
  return expect(current_mode() == first, "the world says what it relies on") &&
         expect(counts_exactly(deny_membarrier), "no update is lost while the denial comes") &&
         expect(is_denied(), "membarrier is denied") &&
         expect(counts_exactly([] {}), "no update is lost afterwards") &&
         expect(current_mode() == last, "the world knows that it has lost membarrier");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view when = argc > 1 ? argv[1] : "";
  if (when == "before") {
    deny_membarrier();
    execl("/proc/self/exe", argv[0], "denied", nullptr);
    std::perror("cannot start again");
    return EXIT_FAILURE;
  }
  if (when != "denied" && when != "after") {
    std::fprintf(stderr, "usage: %s before|after\n", argv[0]);
    return EXIT_FAILURE;
  }
  const bool held = when == "denied" ? denied_before() : denied_after();
  std::printf("membarrier denied %s: %s\n", when == "denied" ? "before the start" : "in mid-flight",
              held ? "counts exactly" : "FAILED");
  return held ? EXIT_SUCCESS : EXIT_FAILURE;
}
