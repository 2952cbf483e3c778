// SPDX-License-Identifier: Apache-2.0

// Forks of a process whose other threads fight for locks, and handlers of fork that use locks in
// the child before any handler of the library could run there.

#include <pthread.h>

namespace lockyard::testing {
namespace {

void prepare_first();
void release_first();
void prepare_second();
void release_second();
void run_in_child();

/// Registered before any object of the library in this file exists.
const struct early_handlers {
  early_handlers() { pthread_atfork(prepare_first, release_first, release_first); }
} early;

[[gnu::constructor(101)]] void register_earlier_handlers() {
  pthread_atfork(prepare_second, release_second, run_in_child);
}

}  // namespace
}  // namespace lockyard::testing

#include <lockyard/park/shared_mutex.hpp>
#include <lockyard/resilient/resilient_mutex.hpp>
#include <lockyard/world/native.hpp>
#include <lockyard/world/trace_rings.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "stress/contention.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::microseconds;

/// What the handlers hold over a fork.
struct handled_locks {
  some_lock* first = nullptr;
  some_lock* second = nullptr;
} handled;

/// What the earliest handler does in the child.
void (*in_child)() = nullptr;

void lock_if_there(some_lock* lock) {
  if (lock != nullptr) lock->lock();
}
void unlock_if_there(some_lock* lock) {
  if (lock != nullptr) lock->unlock();
}
void prepare_first() {
  lock_if_there(handled.first);
}
void release_first() {
  unlock_if_there(handled.first);
}
void release_second() {
  unlock_if_there(handled.second);
}
void run_in_child() {
  release_second();
  if (in_child != nullptr) in_child();
}
void prepare_second() {
  lock_if_there(handled.second);
}

unsigned children() {
  return scaled(300);
}

/// Whether the child ends well before the deadline; a child that hangs is killed.
::testing::AssertionResult ends_well(pid_t child) {
  if (child <= 0) return ::testing::AssertionFailure() << "fork failed";
  constexpr auto patience = std::chrono::seconds{15};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return ::testing::AssertionFailure() << "a child hung";
    }
    std::this_thread::sleep_for(microseconds{100});
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "wait status " << status;
}

/// Forks many children that do the same and must end. Before and after each fork the parent takes
/// its own steps, and waits in between for as long as `pause`, drawn anew each time, at most.
template <class Before, class After, class Work>
void fork_children(microseconds pause, Before before, After after, Work work) {
  std::minstd_rand random{static_cast<std::uint32_t>(seed())};
  for (unsigned i = 0; i < children(); ++i) {
    before();
    std::this_thread::sleep_for(microseconds{random() % pause.count()});
    const pid_t child = fork();
    if (child == 0) {
      work();
      _exit(0);
    }
    after();
    ASSERT_TRUE(ends_well(child)) << "child " << i;
  }
}

/// Threads that lock and unlock until they are told to end.
template <class Pair>
class hammers {
 public:
  hammers(unsigned threads, Pair pair) {
    for (unsigned i = 0; i < threads; ++i) {
      team_.emplace_back([this, pair] {
        while (!over_) pair();
      });
    }
  }
  hammers(const hammers&) = delete;
  hammers& operator=(const hammers&) = delete;
  ~hammers() {
    over_ = true;
    for (auto& thread : team_) thread.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> team_;
};

/// The lock's own memory has no queue. A queue there would list threads that the child lacks, so
/// the pages of those locks say that a child loses them while there are waiters.
bool keeps_no_queue_itself(const lock_traits& traits) {
  return traits.family == lock_family::park && traits.fairness != fairness::fifo &&
         !traits.name.starts_with("fair_mutex") && !traits.name.starts_with("resilient") &&
         traits.name != "pi_mutex" && traits.name != "kernel_mutex" &&
         traits.name != "shared_memory_mutex";  // held by the parent
}

class ForkedChild : public Stress {};
INSTANTIATE_TEST_SUITE_P(Fork, ForkedChild,
                         ::testing::ValuesIn(sound_subjects(keeps_no_queue_itself)), name_of);

TEST_P(ForkedChild, releases_what_handlers_locked_before_the_fork) {
  const std::unique_ptr<some_lock> first = GetParam().make();
  const std::unique_ptr<some_lock> second = GetParam().make();
  const auto use_all = [&] {
    for (some_lock* const each : {first.get(), second.get(), &lock()}) {
      each->lock();
      each->unlock();
    }
  };
  handled = {first.get(), second.get()};
  {
    const hammers team{3, [&] {
                         first->lock();
                         first->unlock();
                         second->lock();
                         second->unlock();
                       }};
    const auto nothing = [] {};
    fork_children(microseconds{200}, nothing, nothing, use_all);
  }
  handled = {};
  use_all();
}

TEST_P(ForkedChild, releases_what_the_forking_thread_held) {
  const hammers team{3, [this] {
                       lock().lock();
                       lock().unlock();
                     }};
  const auto take = [this] { lock().lock(); };
  const auto release = [this] { lock().unlock(); };
  fork_children(microseconds{100}, take, release, [&] {
    release();
    take();
    release();
  });
}

/// Marks that say that a thread sleeps, or is on its way, are the parent's: the child's threads
/// must not rely on threads that it lacks. ThreadSanitizer's runtime cannot start threads there.
TEST_P(ForkedChild, has_threads_that_wait_for_what_the_forking_thread_held) {
  if (lockyard::detail::sanitizer::under_tsan) {
    GTEST_SKIP() << "unavailable here: ThreadSanitizer starts no thread in a forked child";
  }
  const auto hold = [this](microseconds length) {
    lock().lock();
    std::this_thread::sleep_for(length);
    lock().unlock();
  };
  const hammers team{3, [this] {
                       lock().lock();
                       lock().unlock();
                       std::this_thread::sleep_for(microseconds{20});
                     }};
  // The unlock wakes a sleeper, which is on its way when the process forks.
  const auto barge = [this, hold] {
    hold(microseconds{200});
    lock().lock();
  };
  const auto release = [this] { lock().unlock(); };
  fork_children(microseconds{1}, barge, release, [&] {
    release();
    const auto hold_often = [hold] {
      for (unsigned i = 0; i < 4; ++i) hold(microseconds{50});
    };
    std::thread second{hold_often}, third{hold_often};
    hold_often();
    second.join();
    third.join();
  });
}

/// One child, in which a handler that was registered before any of the library's does the work.
template <class Work>
void in_earliest_handler(Work /*work*/) {
  in_child = [] { _exit(Work{}() ? 0 : 1); };
  const pid_t child = fork();
  in_child = nullptr;
  EXPECT_TRUE(ends_well(child));
}

std::uint32_t id_of_parent = 0;

TEST(EarliestHandler, finds_the_id_of_the_childs_thread) {
  id_of_parent = native::thread_id();
  in_earliest_handler([] { return native::thread_id() == static_cast<std::uint32_t>(gettid()); });
  EXPECT_EQ(native::thread_id(), id_of_parent);
}

TEST(EarliestHandler, finds_no_trace) {
  trace::header parents{};
  ASSERT_TRUE(trace::detail::begin(&parents));
  in_earliest_handler([] { return trace::detail::current() == nullptr; });
  EXPECT_EQ(trace::detail::end(), &parents);
}

resilient_mutex left_behind;

TEST(EarliestHandler, finds_the_owners_that_the_child_lacks_dead) {
  std::atomic<bool> over{false}, holds{false};
  std::thread owner{[&] {
    if (left_behind.try_lock()) holds = true;
    while (!over) std::this_thread::yield();
    left_behind.unlock();
  }};
  while (!holds) std::this_thread::yield();
  in_earliest_handler([] {
    const lock_result result = left_behind.lock();
    return result == lock_errc::owner_dead && left_behind.release_dead_owner();
  });
  over = true;
  owner.join();
}

/// The only reader forks while a writer sleeps behind it.
TEST(ForkedReader, releases_what_it_held_for_reading) {
  std::cout << "LOCKYARD_SEED=" << seed() << '\n';
  shared_mutex lock;
  const hammers writer{1, [&lock] {
                         lock.lock();
                         lock.unlock();
                         std::this_thread::yield();
                       }};
  const auto take = [&lock] { lock.lock_shared(); };
  const auto release = [&lock] { lock.unlock_shared(); };
  fork_children(microseconds{500}, take, release, [&] {
    release();
    take();
    release();
    lock.lock();
    lock.unlock();
  });
}

}  // namespace
}  // namespace lockyard::testing
