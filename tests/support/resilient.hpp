// SPDX-License-Identifier: Apache-2.0
#pragma once

// What tests of resilient locks share: who waits for what, stall time-outs for one test, and what
// has been reported.

#include <lockyard/detail/held_locks.hpp>
#include <lockyard/lock_report.hpp>
#include <lockyard/resilience.hpp>
#include <lockyard/resilient/resilient_mutex.hpp>
#include <lockyard/resilient/resilient_spinlock.hpp>
#include <lockyard/world/in_world.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lockyard::testing {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// The world in which a lock's tables are.
template <class Lock>
using tables_of = lockyard::detail::held_locks<lockyard::detail::unwatched<world_of_t<Lock>>>;

/// How many threads are in line for the lock and have looked for reasons to leave at least once.
/// Without those that have no table, and those whose wait a handler's has interrupted.
template <class Lock>
std::size_t waiters_of(const Lock& lock) {
  using tables = tables_of<Lock>;
  std::size_t found = 0;
  for (std::size_t slot = 0; slot < tables::count(); ++slot) {
    const auto& table = tables::of(slot);
    const std::uint64_t wait = table.wait.load(std::memory_order_acquire);
    if (wait == 0) continue;
    const std::uint64_t entry =
        table.entries[table.entry_of_wait(wait)].load(std::memory_order_relaxed);
    const void* const key = lockyard::detail::entry_tag::lock_of(entry);
    if (lockyard::detail::address_of_key(key) == static_cast<const void*>(&lock)) ++found;
  }
  return found;
}

template <class Condition>
void await(Condition condition) {
  while (!condition()) std::this_thread::yield();
}
template <class Lock>
void await_waiters(const Lock& lock, std::size_t count) {
  await([&] { return waiters_of(lock) == count; });
}

/// What the calling thread's table lists, the oldest first.
template <class Lock>
std::vector<const void*> listed() {
  std::vector<const void*> found;
  for (const auto& each : tables_of<Lock>::own_below(nullptr)) {
    const std::uint64_t entry = each.load(std::memory_order_relaxed);
    found.push_back(lockyard::detail::address_of_key(lockyard::detail::entry_tag::lock_of(entry)));
  }
  return found;
}

/// Whether another thread gets the lock at once.
template <class Lock>
bool is_free(Lock& lock) {
  bool admitted = false;
  std::thread{[&] {
    admitted = lock.try_lock();
    if (admitted) lock.unlock();
  }}.join();
  return admitted;
}

/// No thread leaves because a lock stalls, however slow the machine is.
inline constexpr stall_limits patient{stall_limits::never, stall_limits::never};

/// The stall time-outs of a type of locks, to the end of the scope.
template <class Lock>
class limits_for {
 public:
  explicit limits_for(stall_limits limits) { EXPECT_TRUE(Lock::set_stall_limits(limits)); }
  limits_for(const limits_for&) = delete;
  limits_for& operator=(const limits_for&) = delete;
  ~limits_for() { EXPECT_TRUE(Lock::set_stall_limits(before_)); }

 private:
  stall_limits before_ = Lock::current_stall_limits();
};

/// Time-outs for tests in which locks stall: short ones, or, where the environment asks for it,
/// those that users get.
inline stall_limits short_limits() {
  if (std::getenv("LOCKYARD_REAL_STALL_LIMITS") != nullptr) {
    return {milliseconds{resilience{}.pending_ms}, milliseconds{resilience{}.head_ms}};
  }
  return {milliseconds{20}, milliseconds{40}};
}

/// A report that outlives its handler.
struct told {
  lock_event what;
  lock_wait wait;
  std::vector<lock_label> held;
  std::vector<lock_wait> cycle;
};

/// Keeps all reports of its time.
class reports {
 public:
  reports() {
    all().clear();
    before_ = set_lock_report_handler(&keep);
  }
  reports(const reports&) = delete;
  reports& operator=(const reports&) = delete;
  ~reports() { set_lock_report_handler(before_); }

  [[nodiscard]] static std::vector<told> list() {
    const std::lock_guard guard{mutex()};
    return all();
  }
  [[nodiscard]] static std::size_t count(lock_event what) {
    std::size_t found = 0;
    for (const told& each : list()) found += each.what == what ? 1U : 0U;
    return found;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex of_all;
    return of_all;
  }
  static std::vector<told>& all() {
    static std::vector<told> list;
    return list;
  }
  static void keep(const lock_report& report) {
    const std::lock_guard guard{mutex()};
    all().push_back({report.what,
                     report.wait,
                     {report.held.begin(), report.held.end()},
                     {report.cycle.begin(), report.cycle.end()}});
  }

  lock_report_handler before_;
};

/// Threads that are joined at the end of the scope.
class team {
 public:
  team() = default;
  team(const team&) = delete;
  team& operator=(const team&) = delete;
  ~team() { join(); }

  template <class Body>
  void start(Body body) {
    threads_.emplace_back(body);
  }
  /// Starts a thread, and returns when one more is in line for the lock.
  template <class Lock, class Body>
  void enter(const Lock& lock, Body body) {
    const std::size_t before = waiters_of(lock);
    start(body);
    await_waiters(lock, before + 1);
  }
  void join() {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::vector<std::thread> threads_;
};

/// What a forked child makes of it.
template <class Work>
bool forked_child_succeeds(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // one that hangs does not outlive its test
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

/// Names a typed test after what its lock does.
struct form_name {
  template <class Lock>
  static std::string GetName(int index) {
    return index == 0 ? "spinlock" : index == 1 ? "mutex" : "unnamed_spinlock";
  }
};

/// The types of a suite: both forms, in one world.
template <world W, resilience R = resilience{}>
using both_forms = ::testing::Types<basic_resilient_spinlock<W, R>, basic_resilient_mutex<W, R>>;
using both_locks = ::testing::Types<resilient_spinlock, resilient_mutex>;

/// The spinlock of 4 bytes, whose key in the tables is not its address.
template <world W>
using unnamed_in = basic_resilient_spinlock<W, resilience{.named = false}>;
static_assert(sizeof(unnamed_in<native>) == 4 && alignof(unnamed_in<native>) == 4);
using all_locks = ::testing::Types<resilient_spinlock, resilient_mutex, unnamed_in<native>>;

}  // namespace lockyard::testing
