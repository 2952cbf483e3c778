// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/bounds.hpp>

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace lockyard::inline v0::detail::os {

/// Ends the process because the kernel refused a call that a lock depends on. A lock that continued
/// would silently lose its guarantee; the message names `call` and the error.
[[noreturn, gnu::cold, gnu::noinline]] inline void fatal(const char* call, int error) noexcept {
  std::fprintf(stderr, "lockyard: %s failed with errno %d; a lock cannot go on without it\n", call,
               error);
  std::abort();
}

/// Ends the process because the caller requested the impossible; the message says what is wrong,
/// and what to do.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(const char* message) noexcept {
  std::fprintf(stderr, "lockyard: %s\n", message);
  std::abort();
}

/// Makes a system call and preserves errno, because a lock may be acquired between a call that sets
/// errno and the line that reads it. Returns the result or the negated error.
template <class... Arguments>
inline long call(long number, Arguments... arguments) noexcept {
  const int saved = errno;
  const long result = syscall(number, arguments...);
  const long outcome = result >= 0 ? result : -static_cast<long>(errno);
  errno = saved;
  return outcome;
}

/// Cannot fail on Linux, so errno is safe.
inline void yield() noexcept {
  sched_yield();
}

/// Returns the number of processors on which this thread may run; 1 if the kernel does not say.
inline int allowed_processors() noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // More processors than the set has room for are certainly more than one.
  const long size = call(SYS_sched_getaffinity, 0, sizeof allowed, &allowed);
  if (size == -EINVAL) return CPU_SETSIZE;
  return size > 0 ? at_least(CPU_COUNT(&allowed), 1) : 1;
}

enum class wait_result : std::uint8_t {
  woken,      ///< by a wake, by a signal, or spuriously: look again
  changed,    ///< the word did not hold the expected value, so there was no sleep
  timed_out,  ///< the deadline passed
};

// All futex calls name the word by its address alone, and only the kernel reads the word. A wake
// may therefore name a word that has been freed in the meantime: at worst it wakes a thread that
// sleeps on a new object at that address, which is a spurious wake-up.

inline wait_result outcome_of_wait(long result) noexcept {
  switch (-result) {
    case 0:
    case EINTR: return wait_result::woken;
    case EAGAIN: return wait_result::changed;
    case ETIMEDOUT: return wait_result::timed_out;
    default: fatal("futex wait", static_cast<int>(-result));
  }
}

/// Sleeps while the word holds `expected`, at most until `deadline` (CLOCK_MONOTONIC; null means
/// without a limit).
inline wait_result futex_wait(const void* word, std::uint32_t expected,
                              const timespec* deadline) noexcept {
  return outcome_of_wait(call(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline,
                              nullptr, FUTEX_BITSET_MATCH_ANY));
}

/// Returns the count for the kernel, which takes an int; more than INT_MAX sleepers cannot exist.
inline long futex_count(std::uint32_t count) noexcept {
  return count > INT_MAX ? INT_MAX : count;
}

/// Wakes at most `count` sleepers; returns how many it woke. Two errors are not failures here,
/// because the word may be gone, and all its sleepers with it: EFAULT, the word's page is unmapped;
/// EINVAL, a priority-inheritance futex is at the word's address now.
inline std::uint32_t futex_wake(const void* word, std::uint32_t count) noexcept {
  if (count == 0) return 0;  // the kernel would wake one
  const long result = call(SYS_futex, word, FUTEX_WAKE_PRIVATE, futex_count(count));
  if (result >= 0) return static_cast<std::uint32_t>(result);
  if (result == -EFAULT || result == -EINVAL) return 0;
  fatal("futex wake", static_cast<int>(-result));
}

/// Wakes one sleeper of each of these words, as so many calls of futex_wake do. The sleepers first
/// come together on one word, where one call wakes them. Woken one by one, each of them would take
/// the processor from this thread if the others are busy. A sleeper that another thread wants to
/// wake meanwhile wakes a little later.
inline void futex_wake_each(const void* const* words, std::uint32_t count) noexcept {
  constexpr std::uint32_t few = 2;  // the common word would cost more calls than it saves switches
  const std::uint32_t together = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool is_moved =
        count > few && call(SYS_futex, words[i], FUTEX_REQUEUE_PRIVATE, 0, 1, &together, 0) >= 0;
    if (!is_moved) futex_wake(words[i], 1);
  }
  if (count > few) futex_wake(&together, UINT32_MAX);
}

/// As futex_wait, for a word that other processes map too.
inline wait_result futex_wait_shared(const void* word, std::uint32_t expected,
                                     const timespec* deadline) noexcept {
  return outcome_of_wait(call(SYS_futex, word, FUTEX_WAIT_BITSET, expected, deadline, nullptr,
                              FUTEX_BITSET_MATCH_ANY));
}
/// Wakes one sleeper of a word that other processes map too. Errors as in futex_wake.
inline void futex_wake_shared(const void* word) noexcept {
  const long result = call(SYS_futex, word, FUTEX_WAKE, 1);
  if (result < 0 && result != -EFAULT && result != -EINVAL) {
    fatal("futex wake", static_cast<int>(-result));
  }
}

/// If `from` still holds `expected`: wakes at most `wake` of its sleepers, moves at most `move`
/// other sleepers to `to`, and returns the sum of both numbers. Empty if the word has changed.
inline std::optional<std::uint32_t> futex_requeue(const void* from, std::uint32_t expected,
                                                  std::uint32_t wake, std::uint32_t move,
                                                  const void* to) noexcept {
  const long result = call(SYS_futex, from, FUTEX_CMP_REQUEUE_PRIVATE, futex_count(wake),
                           futex_count(move), to, expected);
  if (result >= 0) return static_cast<std::uint32_t>(result);
  if (result == -EAGAIN) return std::nullopt;
  fatal("futex requeue", static_cast<int>(-result));
}

/// Returns the calling thread's number in the system.
inline std::uint32_t thread_id() noexcept {
  return static_cast<std::uint32_t>(call(SYS_gettid));
}

/// Makes each fork call `handler` in the child; returns false if memory for that is unavailable.
inline bool call_in_forked_child(void (*handler)()) noexcept {
  return pthread_atfork(nullptr, nullptr, handler) == 0;
}

/// Makes the kernel fill these pages with zero bytes in every child of a later fork, before any
/// code runs there; returns false where that is unavailable, as on kernels before 4.14. The range
/// starts at a page, and the rest of its last page is filled too.
inline bool wipe_on_fork(void* begin, std::size_t bytes) noexcept {
  // Some emulators report success for any advice, and ignore the advice.
  constexpr int no_advice = -1;
  return call(SYS_madvise, begin, bytes, no_advice) != 0 &&
         call(SYS_madvise, begin, bytes, MADV_WIPEONFORK) == 0;
}

/// The same as FUTEX_LOCK_PI2, for kernels before 5.14, whose only clock for this call is the wall
/// clock. A time-out that comes too soon, because the clock was set, is reported as EAGAIN.
[[gnu::cold]] inline long lock_pi_by_wall_clock(const void* word,
                                                const timespec* deadline) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  const auto nanoseconds = [](const timespec& t) { return t.tv_sec * second + t.tv_nsec; };
  const auto left = [&] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return nanoseconds(*deadline) - nanoseconds(now);
  };
  if (deadline == nullptr) {
    return call(SYS_futex, word, FUTEX_LOCK_PI_PRIVATE, 0, nullptr, nullptr, 0);
  }
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  const std::int64_t limit = at_least<std::int64_t>(
      at_most(nanoseconds(wall), INT64_MAX - at_least<std::int64_t>(left(), 0)) + left(), 0);
  wall = {.tv_sec = limit / second, .tv_nsec = limit % second};
  const long result = call(SYS_futex, word, FUTEX_LOCK_PI_PRIVATE, 0, &wall, nullptr, 0);
  return result == -ETIMEDOUT && left() > 0 ? -EAGAIN : result;
}

/// Sleeps for a millisecond, at most until `deadline` (CLOCK_MONOTONIC); returns false if the
/// deadline has passed.
[[gnu::cold]] inline bool nap_until(const timespec& deadline) noexcept {
  const auto is_before = [](const timespec& a, const timespec& b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
  };
  constexpr std::int64_t second = 1'000'000'000, nap = 1'000'000;
  timespec end{};
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (!is_before(end, deadline)) return false;
  end.tv_nsec += nap;
  if (end.tv_nsec >= second) end = {.tv_sec = end.tv_sec + 1, .tv_nsec = end.tv_nsec - second};
  if (is_before(deadline, end)) end = deadline;
  call(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr);
  return true;
}

/// Acquires a priority-inheritance word for the calling thread; returns false if `deadline`
/// (CLOCK_MONOTONIC; null means without a limit) passed first. The kernel's EAGAIN means that the
/// owner is ending. EDEADLK means a cycle of threads that wait for each other's words; a wait with
/// a deadline may be part of a cycle, because it ends. The kernel does not queue such a thread, so
/// the thread naps and tries again. `is_mine` tells whether the calling thread itself holds the
/// word, in which case the wait could never succeed.
template <class Predicate>
bool futex_lock_pi(const void* word, const timespec* deadline, Predicate is_mine) noexcept {
  for (;;) {
    long result = call(SYS_futex, word, FUTEX_LOCK_PI2_PRIVATE, 0, deadline, nullptr, 0);
    if (result == -ENOSYS) result = lock_pi_by_wall_clock(word, deadline);
    if (result == -EDEADLK && deadline != nullptr && !is_mine()) {
      if (!nap_until(*deadline)) return false;
      continue;
    }
    switch (-result) {
      case 0: return true;
      case ETIMEDOUT: return false;
      case EINTR:
      case EAGAIN: break;
      default: fatal("futex lock with priority inheritance", static_cast<int>(-result));
    }
  }
}

/// Returns the NUMA node whose processor runs this thread; 0 if the kernel does not say. On x86-64
/// the C library answers without a system call.
inline std::uint32_t numa_node() noexcept {
  unsigned node = 0;
#ifdef __GLIBC__
  if (getcpu(nullptr, &node) != 0) return 0;
#else
  if (call(SYS_getcpu, nullptr, &node, nullptr) != 0) return 0;
#endif
  return node;
}

/// Whether this thread has a real-time scheduling policy; false if the kernel does not say.
inline bool is_real_time() noexcept {
  const long policy = call(SYS_sched_getscheduler, 0) & ~long{SCHED_RESET_ON_FORK};
  constexpr long deadline = 6;  // SCHED_DEADLINE, which the C library does not name
  return policy == SCHED_FIFO || policy == SCHED_RR || policy == deadline;
}

/// Hands off the word that the calling thread holds, or frees it if no thread waits.
inline void futex_unlock_pi(const void* word) noexcept {
  long result = 0;
  do {
    result = call(SYS_futex, word, FUTEX_UNLOCK_PI_PRIVATE, 0, nullptr, nullptr, 0);
  } while (result == -EINTR || result == -EAGAIN);
  if (result != 0) fatal("futex unlock with priority inheritance", static_cast<int>(-result));
}

enum class membarrier_outcome : std::uint8_t { done, unregistered, unavailable };

/// Registers the process for expedited barriers; false where the kernel or a filter refuses.
inline bool membarrier_register() noexcept {
  return call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/// Executes a full barrier on every core that runs a thread of this process.
inline membarrier_outcome membarrier() noexcept {
  switch (call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)) {
    case 0: return membarrier_outcome::done;
    case -EPERM: return membarrier_outcome::unregistered;
    default: return membarrier_outcome::unavailable;
  }
}

}  // namespace lockyard::inline v0::detail::os
