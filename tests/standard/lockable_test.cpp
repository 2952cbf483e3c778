// SPDX-License-Identifier: Apache-2.0

// [thread.req.lockable.basic], [thread.req.lockable.req], [thread.req.lockable.timed]: what guards
// and algorithms ask of a lock, without what a mutex promises beyond that.

#include <concepts>
#include <system_error>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class ThreadReqLockableBasic : public ::testing::Test {
 protected:
  Lock lock_;
};
TYPED_TEST_SUITE(ThreadReqLockableBasic, our_locks, catalog_name);

/// The concept of the library asks for the same expressions.
TYPED_TEST(ThreadReqLockableBasic, p1_lock_and_unlock_are_well_formed) {
  static_assert(basic_lockable<TypeParam>);
  static_assert(requires(TypeParam& lock) {
    lock.lock();
    lock.unlock();
  });
  static_assert(!basic_lockable<int>);
}

/// The agent that calls lock() holds a lock when the call returns.
TYPED_TEST(ThreadReqLockableBasic, p2_lock_acquires_for_the_calling_agent) {
  this->lock_.lock();
  EXPECT_FALSE(tried_elsewhere(this->lock_));
  this->lock_.unlock();
}

/// unlock() releases the lock of the agent that calls it.
TYPED_TEST(ThreadReqLockableBasic, p4_unlock_releases_the_lock_of_the_calling_agent) {
  for (int i = 0; i < 3; ++i) {
    this->lock_.lock();
    this->lock_.unlock();
    EXPECT_TRUE(tried_elsewhere(this->lock_));
  }
}

/// unlock() throws nothing.
TYPED_TEST(ThreadReqLockableBasic, p5_unlock_throws_nothing) {
  static_assert(noexcept(this->lock_.unlock()));
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

template <class Lock>
class ThreadReqLockableReq : public ::testing::Test {
 protected:
  Lock lock_;
};
TYPED_TEST_SUITE(ThreadReqLockableReq, our_locks, catalog_name);

TYPED_TEST(ThreadReqLockableReq, p1_try_lock_is_well_formed_too) {
  static_assert(lockable<TypeParam>);
  static_assert(!lockable<std::jthread>);
}

/// try_lock() neither waits nor acquires what another agent holds.
TYPED_TEST(ThreadReqLockableReq, p2_try_lock_attempts_to_acquire_without_blocking) {
  this->lock_.lock();
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock(); }));
  this->lock_.unlock();
}

TYPED_TEST(ThreadReqLockableReq, p3_try_lock_returns_bool) {
  static_assert(std::same_as<decltype(this->lock_.try_lock()), bool>);
}

/// The value returned says whether the agent holds the lock.
TYPED_TEST(ThreadReqLockableReq, p4_try_lock_returns_whether_it_acquired) {
  ASSERT_TRUE(this->lock_.try_lock());
  EXPECT_FALSE(tried_elsewhere(this->lock_));
  this->lock_.unlock();
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

template <class Lock>
class ThreadReqLockableTimed : public ::testing::Test {
 protected:
  Lock lock_;
};
TYPED_TEST_SUITE(ThreadReqLockableTimed, our_timed_locks, catalog_name);

TYPED_TEST(ThreadReqLockableTimed, p1_timed_attempts_are_well_formed_too) {
  static_assert(timed_lockable<TypeParam>);
  static_assert(requires(TypeParam& lock, std::chrono::duration<double> duration,
                         std::chrono::time_point<slow_clock, std::chrono::minutes> limit) {
    lock.try_lock_for(duration);
    lock.try_lock_until(limit);
  });
}

/// Within the time-out the call returns only with the lock.
TYPED_TEST(ThreadReqLockableTimed, p2_try_lock_for_returns_within_the_time_out_only_with_the_lock) {
  this->lock_.lock();
  EXPECT_TRUE(elsewhere([&] {
    const auto start = steady::now();
    return !this->lock_.try_lock_for(2ms) && steady::now() - start >= 2ms;
  }));
  this->lock_.unlock();
}

TYPED_TEST(ThreadReqLockableTimed, p3_try_lock_for_returns_bool) {
  static_assert(std::same_as<decltype(this->lock_.try_lock_for(1s)), bool>);
}

TYPED_TEST(ThreadReqLockableTimed, p4_try_lock_for_returns_whether_it_acquired) {
  ASSERT_TRUE(this->lock_.try_lock_for(never));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_for(1us); }));
  this->lock_.unlock();
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

/// Before the limit the call returns only with the lock.
TYPED_TEST(ThreadReqLockableTimed, p5_try_lock_until_returns_before_the_limit_only_with_the_lock) {
  this->lock_.lock();
  EXPECT_TRUE(elsewhere([&] {
    const auto limit = steady::now() + 2ms;
    return !this->lock_.try_lock_until(limit) && steady::now() >= limit;
  }));
  this->lock_.unlock();
}

TYPED_TEST(ThreadReqLockableTimed, p6_try_lock_until_returns_bool) {
  static_assert(std::same_as<decltype(this->lock_.try_lock_until(steady::now())), bool>);
}

TYPED_TEST(ThreadReqLockableTimed, p7_try_lock_until_returns_whether_it_acquired) {
  ASSERT_TRUE(this->lock_.try_lock_until(steady::now() + never));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_until(steady::now() + 1us); }));
  this->lock_.unlock();
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

}  // namespace
}  // namespace lockyard::testing
