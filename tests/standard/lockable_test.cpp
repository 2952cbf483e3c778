// SPDX-License-Identifier: Apache-2.0

// [thread.req.lockable.basic], [thread.req.lockable.req], [thread.req.lockable.timed]: what guards
// and algorithms ask of a lock, without what a mutex promises beyond that.

#include <concepts>
#include <system_error>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

class ThreadReqLockableBasic : public ::testing::TestWithParam<subject> {
 protected:
  any_lock lock_;
};
INSTANTIATE_TEST_SUITE_P(, ThreadReqLockableBasic, ::testing::ValuesIn(our_subjects()), name_of);

/// The concept of the library asks for the same expressions.
TEST(ThreadReqLockableBasicTypes, p1_lock_and_unlock_are_well_formed) {
  for_each_of_ours([]<class Lock>() {
    static_assert(basic_lockable<Lock>);
    static_assert(requires(Lock& lock) {
      lock.lock();
      lock.unlock();
    });
  });
  static_assert(!basic_lockable<int>);
}

/// The agent that calls lock() holds a lock when the call returns.
TEST_P(ThreadReqLockableBasic, p2_lock_acquires_for_the_calling_agent) {
  lock_.lock();
  EXPECT_FALSE(tried_elsewhere(lock_));
  lock_.unlock();
}

/// unlock() releases the lock of the agent that calls it.
TEST_P(ThreadReqLockableBasic, p4_unlock_releases_the_lock_of_the_calling_agent) {
  for (int i = 0; i < 3; ++i) {
    lock_.lock();
    lock_.unlock();
    EXPECT_TRUE(tried_elsewhere(lock_));
  }
}

/// unlock() throws nothing.
TEST(ThreadReqLockableBasicTypes, p5_unlock_throws_nothing) {
  for_each_of_ours([]<class Lock>() { static_assert(noexcept(std::declval<Lock&>().unlock())); });
}

template <class Lock>
class ThreadReqLockableBasicThrowing : public ::testing::Test {};
TYPED_TEST_SUITE(ThreadReqLockableBasicThrowing, our_recovering_locks, catalog_name);

/// Two threads wait for each other's lock. A call that ends in an exception has acquired nothing,
/// so what it asked for is still held by the other thread alone, which unlocks it once.
TYPED_TEST(ThreadReqLockableBasicThrowing, p2_lock_has_not_acquired_if_it_throws) {
  TypeParam locks[2];
  flag holds[2];
  int failures[2] = {};
  const auto part = [&](int own) {
    locks[own].lock();
    holds[own].raise();
    holds[1 - own].await();
    try {
      locks[1 - own].lock();
      locks[1 - own].unlock();
    } catch (const std::system_error&) {
      ++failures[own];
    }
    locks[own].unlock();
  };
  std::jthread other{[&] { part(1); }};
  part(0);
  other.join();
  EXPECT_GE(failures[0] + failures[1], 1);
  for (auto& lock : locks) {
    EXPECT_TRUE(refuses_while_held(lock));
  }
}

class ThreadReqLockableReq : public ::testing::TestWithParam<subject> {
 protected:
  any_lock lock_;
};
INSTANTIATE_TEST_SUITE_P(, ThreadReqLockableReq, ::testing::ValuesIn(our_subjects()), name_of);

TEST(ThreadReqLockableReqTypes, p1_try_lock_is_well_formed_too) {
  for_each_of_ours([]<class Lock>() { static_assert(lockable<Lock>); });
  static_assert(!lockable<std::jthread>);
}

/// try_lock() neither waits nor acquires what another agent holds.
TEST_P(ThreadReqLockableReq, p2_try_lock_attempts_to_acquire_without_blocking) {
  lock_.lock();
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock(); }));
  lock_.unlock();
}

TEST(ThreadReqLockableReqTypes, p3_try_lock_returns_bool) {
  for_each_of_ours([]<class Lock>() {
    static_assert(std::same_as<decltype(std::declval<Lock&>().try_lock()), bool>);
  });
}

/// The value returned says whether the agent holds the lock.
TEST_P(ThreadReqLockableReq, p4_try_lock_returns_whether_it_acquired) {
  ASSERT_TRUE(lock_.try_lock());
  EXPECT_FALSE(tried_elsewhere(lock_));
  lock_.unlock();
  EXPECT_TRUE(tried_elsewhere(lock_));
}

class ThreadReqLockableTimed : public ::testing::TestWithParam<subject> {
 protected:
  any_lock lock_;
};
INSTANTIATE_TEST_SUITE_P(, ThreadReqLockableTimed, ::testing::ValuesIn(our_timed_subjects()),
                         name_of);

template <class Lock>
concept takes_all_times =
    requires(Lock& lock, std::chrono::duration<double> duration,
             std::chrono::time_point<slow_clock, std::chrono::minutes> limit) {
      { lock.try_lock_for(duration) } -> std::same_as<bool>;
      { lock.try_lock_until(limit) } -> std::same_as<bool>;
    };

TEST(ThreadReqLockableTimedTypes, p1_p3_p6_timed_attempts_are_well_formed_and_return_bool) {
  for_each_of_ours(
      []<class Lock>() { static_assert(timed_lockable<Lock> == traits_of<Lock>().timed); });
  for_each_timed_of_ours([]<class Lock>() { static_assert(takes_all_times<Lock>); });
}

/// Within the time-out the call returns only with the lock.
TEST_P(ThreadReqLockableTimed, p2_try_lock_for_returns_within_the_time_out_only_with_the_lock) {
  lock_.lock();
  EXPECT_TRUE(elsewhere([&] {
    const auto start = steady::now();
    return !lock_.try_lock_for(2ms) && steady::now() - start >= 2ms;
  }));
  lock_.unlock();
}

TEST_P(ThreadReqLockableTimed, p4_try_lock_for_returns_whether_it_acquired) {
  ASSERT_TRUE(lock_.try_lock_for(never));
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_for(1us); }));
  lock_.unlock();
  EXPECT_TRUE(tried_elsewhere(lock_));
}

/// Before the limit the call returns only with the lock.
TEST_P(ThreadReqLockableTimed, p5_try_lock_until_returns_before_the_limit_only_with_the_lock) {
  lock_.lock();
  EXPECT_TRUE(elsewhere([&] {
    const auto limit = steady::now() + 2ms;
    return !lock_.try_lock_until(limit) && steady::now() >= limit;
  }));
  lock_.unlock();
}

TEST_P(ThreadReqLockableTimed, p7_try_lock_until_returns_whether_it_acquired) {
  ASSERT_TRUE(lock_.try_lock_until(steady::now() + never));
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_until(steady::now() + 1us); }));
  lock_.unlock();
  EXPECT_TRUE(tried_elsewhere(lock_));
}

}  // namespace
}  // namespace lockyard::testing
