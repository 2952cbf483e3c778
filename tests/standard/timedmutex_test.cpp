// SPDX-License-Identifier: Apache-2.0

// [thread.timedmutex.requirements], [thread.timedmutex.class], [thread.timedmutex.recursive].

#include <concepts>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class ThreadTimedmutexRequirements : public ::testing::Test {
 protected:
  std::function<bool()> for_ever = [this] { return lock_.try_lock_for(never); };
  std::function<bool()> until_never = [this] {
    return lock_.try_lock_until(std::chrono::system_clock::now() + never);
  };
  std::function<void()> unlock = [this] { lock_.unlock(); };

  Lock lock_;
};
TYPED_TEST_SUITE(ThreadTimedmutexRequirements, our_timed_locks, catalog_name);

TYPED_TEST(ThreadTimedmutexRequirements, p2_a_timed_mutex_is_timed_lockable) {
  static_assert(timed_lockable<TypeParam>);
}

/// The mutex becomes free within the time-out, and the thread that waits obtains it.
TYPED_TEST(ThreadTimedmutexRequirements, p5_try_lock_for_obtains_ownership_while_it_waits) {
  this->lock_.lock();
  EXPECT_TRUE(waits_for(this->unlock, this->for_ever, this->unlock));
}

TYPED_TEST(ThreadTimedmutexRequirements, p5_try_lock_for_obtains_a_free_mutex) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(this->lock_.try_lock_for(1ns));
    this->lock_.unlock();
  }
}

/// A time-out of zero or less makes the call a try_lock(): it fails on an owned mutex ...
TYPED_TEST(ThreadTimedmutexRequirements, p5_try_lock_for_no_time_fails_while_the_mutex_is_owned) {
  this->lock_.lock();
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_for(0s); }));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_for(-1h); }));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_for(std::chrono::hours::min()); }));
  this->lock_.unlock();
}

/// ... and obtains a free one.
TYPED_TEST(ThreadTimedmutexRequirements, p5_try_lock_for_no_time_obtains_a_free_mutex) {
  ASSERT_TRUE(this->lock_.try_lock_for(0s));
  this->lock_.unlock();
  ASSERT_TRUE(this->lock_.try_lock_for(-1h));
  EXPECT_FALSE(tried_elsewhere(this->lock_));
  this->lock_.unlock();
}

/// Without ownership the call does not return before the time-out.
TYPED_TEST(ThreadTimedmutexRequirements, p5_try_lock_for_does_not_time_out_early) {
  this->lock_.lock();
  for (const auto duration : {1us, 300us, 3000us}) {
    EXPECT_FALSE(elsewhere([&] {
      const auto start = steady::now();
      const bool obtained = this->lock_.try_lock_for(duration);
      EXPECT_GE(steady::now() - start, duration);
      return obtained;
    }));
  }
  this->lock_.unlock();
}

TYPED_TEST(ThreadTimedmutexRequirements, p6_try_lock_for_returns_bool) {
  static_assert(std::same_as<decltype(this->lock_.try_lock_for(1s)), bool>);
}

/// A time-out leaves the owner its mutex, and no trace: one unlock frees it.
TYPED_TEST(ThreadTimedmutexRequirements, p7_try_lock_for_returns_whether_ownership_was_obtained) {
  ASSERT_TRUE(this->lock_.try_lock_for(never));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_for(100us); }));
  EXPECT_FALSE(tried_elsewhere(this->lock_));
  this->lock_.unlock();
  EXPECT_TRUE(refuses_while_held(this->lock_));
}

TYPED_TEST(ThreadTimedmutexRequirements, p8_prior_unlocks_synchronize_with_a_true_try_lock_for) {
  const auto briefly = [&] { return this->lock_.try_lock_for(1ms); };
  EXPECT_TRUE(publishes(briefly, this->unlock, briefly, this->unlock));
}

/// The standard lets exceptions of clocks and durations through. Here the call is noexcept, so
/// these must not throw; a lock that recovers throws what it reports.
TYPED_TEST(ThreadTimedmutexRequirements, p9_differs_try_lock_for_throws_only_if_the_lock_recovers) {
  static_assert(noexcept(this->lock_.try_lock_for(never)) == !traits_of<TypeParam>().recovering);
}

TYPED_TEST(ThreadTimedmutexRequirements, p12_try_lock_until_obtains_ownership_while_it_waits) {
  this->lock_.lock();
  EXPECT_TRUE(waits_for(this->unlock, this->until_never, this->unlock));
}

/// A limit that has passed makes the call a try_lock(): it fails on an owned mutex ...
TYPED_TEST(ThreadTimedmutexRequirements, p12_try_lock_until_the_past_fails_while_it_is_owned) {
  this->lock_.lock();
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_until(steady::now()); }));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_until(steady::time_point::min()); }));
  EXPECT_FALSE(elsewhere(
      [&] { return this->lock_.try_lock_until(std::chrono::system_clock::time_point{}); }));
  this->lock_.unlock();
}

/// ... and obtains a free one.
TYPED_TEST(ThreadTimedmutexRequirements, p12_try_lock_until_the_past_obtains_a_free_mutex) {
  ASSERT_TRUE(this->lock_.try_lock_until(steady::now() - 1s));
  this->lock_.unlock();
  ASSERT_TRUE(this->lock_.try_lock_until(std::chrono::system_clock::time_point::min()));
  EXPECT_FALSE(tried_elsewhere(this->lock_));
  this->lock_.unlock();
}

/// Without ownership the call does not return before the limit, on the clock of the limit.
TYPED_TEST(ThreadTimedmutexRequirements, p12_try_lock_until_does_not_time_out_early) {
  this->lock_.lock();
  const auto fails_no_sooner = [&]<class Clock>(Clock) {
    const auto limit = Clock::now() + 2ms;
    const bool obtained = this->lock_.try_lock_until(limit);
    return !obtained && Clock::now() >= limit;
  };
  EXPECT_TRUE(elsewhere([&] { return fails_no_sooner(steady{}); }));
  EXPECT_TRUE(elsewhere([&] { return fails_no_sooner(std::chrono::system_clock{}); }));
  EXPECT_TRUE(elsewhere([&] { return fails_no_sooner(slow_clock{}); }));
  this->lock_.unlock();
}

TYPED_TEST(ThreadTimedmutexRequirements, p13_try_lock_until_returns_bool) {
  static_assert(std::same_as<decltype(this->lock_.try_lock_until(steady::now())), bool>);
}

TYPED_TEST(ThreadTimedmutexRequirements, p14_try_lock_until_returns_whether_it_was_obtained) {
  ASSERT_TRUE(this->lock_.try_lock_until(steady::now() + never));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_until(steady::now() + 100us); }));
  EXPECT_FALSE(tried_elsewhere(this->lock_));
  this->lock_.unlock();
  EXPECT_TRUE(refuses_while_held(this->lock_));
}

TYPED_TEST(ThreadTimedmutexRequirements, p15_prior_unlocks_synchronize_with_a_true_try_lock_until) {
  const auto briefly = [&] { return this->lock_.try_lock_until(steady::now() + 1ms); };
  EXPECT_TRUE(publishes(briefly, this->unlock, briefly, this->unlock));
}

TYPED_TEST(ThreadTimedmutexRequirements, p16_differs_try_lock_until_throws_only_if_it_recovers) {
  static_assert(noexcept(this->lock_.try_lock_until(steady::now())) ==
                !traits_of<TypeParam>().recovering);
}

template <class Lock>
class ThreadTimedmutexClass : public ThreadTimedmutexRequirements<Lock> {};
TYPED_TEST_SUITE(ThreadTimedmutexClass, our_timed_locks, catalog_name);

/// All ways to acquire fail or block while another thread owns the mutex.
TYPED_TEST(ThreadTimedmutexClass, p1_all_attempts_of_others_fail_or_block_while_it_is_owned) {
  this->lock_.lock();
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock(); }));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_for(1us); }));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_until(steady::now() + 1us); }));
  EXPECT_TRUE(waits_for(this->unlock, [&] { return this->lock_.lock(), true; }, this->unlock));
}

/// A thread that has timed out does not stand in the way of one that waits on.
TYPED_TEST(ThreadTimedmutexClass, p1_a_thread_that_timed_out_leaves_the_mutex_to_others) {
  this->lock_.lock();
  const auto release = [&] {
    EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_for(200us); }));
    this->lock_.unlock();
  };
  EXPECT_TRUE(waits_for(release, this->for_ever, this->unlock));
  EXPECT_TRUE(refuses_while_held(this->lock_));
}

TYPED_TEST(ThreadTimedmutexClass, p2_is_a_standard_layout_class) {
  static_assert(std::is_standard_layout_v<TypeParam>);
}

template <class Lock>
class ThreadTimedmutexRecursive : public ThreadTimedmutexRequirements<Lock> {};
TYPED_TEST_SUITE(ThreadTimedmutexRecursive, our_recursive_timed_locks, catalog_name);

TYPED_TEST(ThreadTimedmutexRecursive, p1_others_time_out_until_ownership_is_released) {
  this->lock_.lock();
  this->lock_.lock();
  this->lock_.unlock();
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_for(100us); }));
  EXPECT_TRUE(waits_for(this->unlock, this->for_ever, this->unlock));
}

TYPED_TEST(ThreadTimedmutexRecursive, p2_is_a_standard_layout_class) {
  static_assert(std::is_standard_layout_v<TypeParam>);
}

TYPED_TEST(ThreadTimedmutexRecursive, p3_the_owner_acquires_levels_in_all_four_ways) {
  this->lock_.lock();
  EXPECT_TRUE(this->lock_.try_lock());
  EXPECT_TRUE(this->lock_.try_lock_for(-1s));
  EXPECT_TRUE(this->lock_.try_lock_until(steady::now() + never));
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(tried_elsewhere(this->lock_)) << "released " << i << " times";
    this->lock_.unlock();
  }
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

TEST(ThreadTimedmutexRecursiveLimit, p3_timed_attempts_fail_at_the_maximum_level) {
  recursive_mutex<mutex, 1> lock;
  EXPECT_TRUE(lock.try_lock_for(1s));
  EXPECT_FALSE(lock.try_lock_for(1s));
  EXPECT_FALSE(lock.try_lock_until(steady::now() + never));
  lock.unlock();
  EXPECT_TRUE(tried_elsewhere(lock));
}

}  // namespace
}  // namespace lockyard::testing
