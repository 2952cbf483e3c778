// SPDX-License-Identifier: Apache-2.0

// Owners that do not let go, by the real clock. With LOCKYARD_REAL_STALL_LIMITS in the environment
// the time-outs are those that users get.

#include <pthread.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <vector>

#include "support/resilient.hpp"

namespace lockyard::testing {
namespace {

using clock = std::chrono::steady_clock;

template <class Lock>
class Stalls : public ::testing::Test {};
TYPED_TEST_SUITE(Stalls, both_locks, form_name);

TYPED_TEST(Stalls, end_the_waits_of_all_and_leave_the_lock_to_the_next) {
  const limits_for<TypeParam> limits{short_limits()};
  for (const std::size_t waiters : {1U, 2U, 16U, 64U}) {
    const reports told;
    const auto lock = std::make_unique<TypeParam>();
    ASSERT_TRUE(lock->lock());
    {
      team line;
      for (std::size_t i = 0; i < waiters; ++i) {
        line.start([&] {
          const auto start = clock::now();
          EXPECT_EQ(lock->lock(), lock_errc::timed_out);
          if (waiters == 1) {
            EXPECT_GE(clock::now() - start, short_limits().pending);
          }
          EXPECT_TRUE(listed<TypeParam>().empty());
        });
      }
    }
    EXPECT_EQ(told.count(lock_event::stalled), waiters);
    EXPECT_EQ(told.list().size(), waiters);
    lock->unlock();
    EXPECT_TRUE(is_free(*lock));
    ASSERT_EQ(lock->lock(), lock_errc::acquired);
    EXPECT_FALSE(is_free(*lock));
    lock->unlock();
  }
}

/// The owner lets go when some are about to give up.
TYPED_TEST(Stalls, that_end_in_the_last_moment_leave_each_waiter_with_one_answer) {
  constexpr int rounds = 60, waiters = 5;
  const limits_for<TypeParam> limits{{milliseconds{2}, milliseconds{4}}};
  int acquired = 0, refused = 0;
  for (int round = 0; round < rounds; ++round) {
    TypeParam lock;
    std::uint64_t counter = 0;  // guarded by the lock
    std::atomic<int> timed_out{0};
    ASSERT_TRUE(lock.lock());
    {
      team line;
      for (int i = 0; i < waiters; ++i) {
        line.start([&] {
          const lock_result how = lock.lock();
          if (how) {
            counter = counter + 1;
            lock.unlock();
          } else {
            EXPECT_EQ(how, lock_errc::timed_out);
            ++timed_out;
          }
        });
      }
      const auto end = clock::now() + std::chrono::microseconds{1000 + 100 * round};
      await([end] { return clock::now() >= end; });
      lock.unlock();
    }
    EXPECT_EQ(counter + static_cast<std::uint64_t>(timed_out), waiters);
    acquired += static_cast<int>(counter);
    refused += timed_out;
    EXPECT_TRUE(is_free(lock));
  }
  EXPECT_EQ(acquired + refused, rounds * waiters);
}

std::atomic<bool> halt{false};

/// A thread that waits and does not run gets the lock when it runs again, if that is free then.
TYPED_TEST(Stalls, of_a_waiter_itself_are_no_time_out) {
  const limits_for<TypeParam> limits{short_limits()};
  struct sigaction action {};
  action.sa_handler = [](int) {
    while (halt) sched_yield();
  };
  struct sigaction before {};
  sigaction(SIGUSR2, &action, &before);
  TypeParam lock;
  lock_errc how = lock_errc::timed_out;
  const limits_for<TypeParam> none{patient};  // until it has stopped
  ASSERT_TRUE(lock.lock());
  std::thread waiter{[&] {
    how = lock.lock().code();
    if (how == lock_errc::acquired) lock.unlock();
  }};
  await_waiters(lock, 1);
  halt = true;
  pthread_kill(waiter.native_handle(), SIGUSR2);
  const auto end = clock::now() + 3 * short_limits().head;
  await([end] { return clock::now() >= end; });
  lock.unlock();
  halt = false;
  waiter.join();
  sigaction(SIGUSR2, &before, nullptr);
  EXPECT_EQ(how, lock_errc::acquired);
  EXPECT_TRUE(is_free(lock));
}

// ThreadSanitizer lets no signal interrupt a handler.
#if !defined(__SANITIZE_THREAD__)

void (*in_handler)() = nullptr;

/// Each lock has an owner and one in the pending place, so that one more takes a node of its own; a
/// thread has eight of them, for itself and the handlers that interrupt each other.
TYPED_TEST(Stalls, of_handlers_in_handlers_end_where_their_thread_has_no_node_left) {
  constexpr std::size_t most = 9;
  const limits_for<TypeParam> limits{patient};
  const reports told;
  static std::array<TypeParam, most>* locks = nullptr;
  static std::array<lock_errc, most> how;
  static std::size_t depth = 0;
  std::array<TypeParam, most> real;
  locks = &real;
  depth = 0;
  in_handler = [] {
    const std::size_t mine = depth++;
    how[mine] = (*locks)[mine].lock().code();
    if (how[mine] == lock_errc::acquired) (*locks)[mine].unlock();
  };
  struct sigaction action {};
  action.sa_handler = [](int) { in_handler(); };
  action.sa_flags = SA_NODEFER;
  struct sigaction before {};
  sigaction(SIGUSR1, &action, &before);
  team pending;
  for (auto& lock : real) {
    ASSERT_TRUE(lock.lock());
    pending.enter(lock, [&lock] {
      ASSERT_TRUE(lock.lock());
      lock.unlock();
    });
  }
  std::atomic<bool> is_over{false};
  std::thread nested{[&] {
    in_handler();
    is_over = true;
  }};
  for (std::size_t i = 0; i + 1 < most; ++i) {
    await_waiters(real[i], 2);
    pthread_kill(nested.native_handle(), SIGUSR1);
  }
  // The last one has ended; the one below it waits again.
  await([&] { return told.count(lock_event::nested_busy) == 1; });
  await_waiters(real[most - 2], 2);
  EXPECT_FALSE(is_over);
  for (auto& lock : real) lock.unlock();
  nested.join();
  pending.join();
  sigaction(SIGUSR1, &before, nullptr);
  for (std::size_t i = 0; i < most; ++i) {
    EXPECT_EQ(how[i], i + 1 < most ? lock_errc::acquired : lock_errc::nested_busy) << i;
    EXPECT_TRUE(is_free(real[i]));
  }
}

#endif

}  // namespace
}  // namespace lockyard::testing
