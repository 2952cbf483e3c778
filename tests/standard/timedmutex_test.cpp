// SPDX-License-Identifier: Apache-2.0

// [thread.timedmutex.requirements], [thread.timedmutex.class], [thread.timedmutex.recursive].

#include <concepts>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

class timed_mutex_test : public ::testing::TestWithParam<subject> {
 protected:
  std::function<bool()> for_ever = [this] { return lock_.try_lock_for(never); };
  std::function<bool()> until_never = [this] {
    return lock_.try_lock_until(std::chrono::system_clock::now() + never);
  };
  std::function<void()> unlock = [this] { lock_.unlock(); };

  any_lock lock_;
};
class ThreadTimedmutexRequirements : public timed_mutex_test {};
INSTANTIATE_TEST_SUITE_P(, ThreadTimedmutexRequirements, ::testing::ValuesIn(our_timed_subjects()),
                         name_of);

TEST(ThreadTimedmutexRequirementsTypes, p2_a_timed_mutex_is_timed_lockable) {
  for_each_timed_of_ours([]<class Lock>() { static_assert(timed_lockable<Lock>); });
}

/// The mutex becomes free within the time-out, and the thread that waits obtains it.
TEST_P(ThreadTimedmutexRequirements, p5_try_lock_for_obtains_ownership_while_it_waits) {
  lock_.lock();
  EXPECT_TRUE(waits_for(unlock, for_ever, unlock));
}

TEST_P(ThreadTimedmutexRequirements, p5_try_lock_for_obtains_a_free_mutex) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(lock_.try_lock_for(1ns));
    lock_.unlock();
  }
}

/// A time-out of zero or less makes the call a try_lock(): it fails on an owned mutex ...
TEST_P(ThreadTimedmutexRequirements, p5_try_lock_for_no_time_fails_while_the_mutex_is_owned) {
  lock_.lock();
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_for(0s); }));
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_for(-1h); }));
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_for(std::chrono::nanoseconds::min()); }));
  lock_.unlock();
}

/// ... and obtains a free one.
TEST_P(ThreadTimedmutexRequirements, p5_try_lock_for_no_time_obtains_a_free_mutex) {
  ASSERT_TRUE(lock_.try_lock_for(0s));
  lock_.unlock();
  ASSERT_TRUE(lock_.try_lock_for(-1h));
  EXPECT_FALSE(tried_elsewhere(lock_));
  lock_.unlock();
}

/// Without ownership the call does not return before the time-out.
TEST_P(ThreadTimedmutexRequirements, p5_try_lock_for_does_not_time_out_early) {
  lock_.lock();
  for (const auto duration : {1us, 300us, 3000us}) {
    EXPECT_FALSE(elsewhere([&] {
      const auto start = steady::now();
      const bool obtained = lock_.try_lock_for(duration);
      EXPECT_GE(steady::now() - start, duration);
      return obtained;
    }));
  }
  lock_.unlock();
}

TEST(ThreadTimedmutexRequirementsTypes, p6_try_lock_for_returns_bool) {
  for_each_timed_of_ours([]<class Lock>() {
    static_assert(std::same_as<decltype(std::declval<Lock&>().try_lock_for(1s)), bool>);
  });
}

/// A time-out leaves the owner its mutex, and no trace: one unlock frees it.
TEST_P(ThreadTimedmutexRequirements, p7_try_lock_for_returns_whether_ownership_was_obtained) {
  ASSERT_TRUE(lock_.try_lock_for(never));
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_for(100us); }));
  EXPECT_FALSE(tried_elsewhere(lock_));
  lock_.unlock();
  EXPECT_TRUE(refuses_while_held(lock_));
}

TEST_P(ThreadTimedmutexRequirements, p8_prior_unlocks_synchronize_with_a_true_try_lock_for) {
  const auto briefly = [&] { return lock_.try_lock_for(1ms); };
  EXPECT_TRUE(publishes(briefly, unlock, briefly, unlock));
}

/// The standard lets exceptions of clocks and durations through. Here the call is noexcept, so
/// these must not throw; a lock that recovers throws what it reports.
TEST(ThreadTimedmutexRequirementsTypes, p9_differs_try_lock_for_throws_only_if_the_lock_recovers) {
  for_each_timed_of_ours([]<class Lock>() {
    static_assert(noexcept(std::declval<Lock&>().try_lock_for(never)) ==
                  !traits_of<Lock>().recovering);
  });
}

TEST_P(ThreadTimedmutexRequirements, p12_try_lock_until_obtains_ownership_while_it_waits) {
  lock_.lock();
  EXPECT_TRUE(waits_for(unlock, until_never, unlock));
}

/// A limit that has passed makes the call a try_lock(): it fails on an owned mutex ...
TEST_P(ThreadTimedmutexRequirements, p12_try_lock_until_the_past_fails_while_it_is_owned) {
  lock_.lock();
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_until(steady::now()); }));
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_until(steady::time_point::min()); }));
  EXPECT_FALSE(
      elsewhere([&] { return lock_.try_lock_until(std::chrono::system_clock::time_point{}); }));
  lock_.unlock();
}

/// ... and obtains a free one.
TEST_P(ThreadTimedmutexRequirements, p12_try_lock_until_the_past_obtains_a_free_mutex) {
  ASSERT_TRUE(lock_.try_lock_until(steady::now() - 1s));
  lock_.unlock();
  ASSERT_TRUE(lock_.try_lock_until(std::chrono::system_clock::time_point::min()));
  EXPECT_FALSE(tried_elsewhere(lock_));
  lock_.unlock();
}

/// Without ownership the call does not return before the limit, on the clock of the limit.
TEST_P(ThreadTimedmutexRequirements, p12_try_lock_until_does_not_time_out_early) {
  lock_.lock();
  const auto fails_no_sooner = [&]<class Clock>(Clock) {
    const auto limit = Clock::now() + 2ms;
    const bool obtained = lock_.try_lock_until(limit);
    return !obtained && Clock::now() >= limit;
  };
  EXPECT_TRUE(elsewhere([&] { return fails_no_sooner(steady{}); }));
  EXPECT_TRUE(elsewhere([&] { return fails_no_sooner(std::chrono::system_clock{}); }));
  lock_.unlock();
}

TEST(ThreadTimedmutexRequirementsTypes, p13_try_lock_until_returns_bool) {
  for_each_timed_of_ours([]<class Lock>() {
    static_assert(
        std::same_as<decltype(std::declval<Lock&>().try_lock_until(steady::now())), bool>);
  });
}

TEST_P(ThreadTimedmutexRequirements, p14_try_lock_until_returns_whether_it_was_obtained) {
  ASSERT_TRUE(lock_.try_lock_until(steady::now() + never));
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_until(steady::now() + 100us); }));
  EXPECT_FALSE(tried_elsewhere(lock_));
  lock_.unlock();
  EXPECT_TRUE(refuses_while_held(lock_));
}

TEST_P(ThreadTimedmutexRequirements, p15_prior_unlocks_synchronize_with_a_true_try_lock_until) {
  const auto briefly = [&] { return lock_.try_lock_until(steady::now() + 1ms); };
  EXPECT_TRUE(publishes(briefly, unlock, briefly, unlock));
}

TEST(ThreadTimedmutexRequirementsTypes, p16_differs_try_lock_until_throws_only_if_it_recovers) {
  for_each_timed_of_ours([]<class Lock>() {
    static_assert(noexcept(std::declval<Lock&>().try_lock_until(steady::now())) ==
                  !traits_of<Lock>().recovering);
  });
}

class ThreadTimedmutexClass : public timed_mutex_test {};
INSTANTIATE_TEST_SUITE_P(, ThreadTimedmutexClass, ::testing::ValuesIn(our_timed_subjects()),
                         name_of);

/// All ways to acquire fail or block while another thread owns the mutex.
TEST_P(ThreadTimedmutexClass, p1_all_attempts_of_others_fail_or_block_while_it_is_owned) {
  lock_.lock();
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock(); }));
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_for(1us); }));
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_until(steady::now() + 1us); }));
  EXPECT_TRUE(waits_for(unlock, [&] { return lock_.lock(), true; }, unlock));
}

/// A thread that has timed out does not stand in the way of one that waits on.
TEST_P(ThreadTimedmutexClass, p1_a_thread_that_timed_out_leaves_the_mutex_to_others) {
  lock_.lock();
  const auto release = [&] {
    EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_for(200us); }));
    lock_.unlock();
  };
  EXPECT_TRUE(waits_for(release, for_ever, unlock));
  EXPECT_TRUE(refuses_while_held(lock_));
}

/// With the recursive ones: [thread.timedmutex.recursive] p2.
TEST(ThreadTimedmutexClassTypes, p2_is_a_standard_layout_class) {
  for_each_timed_of_ours([]<class Lock>() { static_assert(std::is_standard_layout_v<Lock>); });
}

class ThreadTimedmutexRecursive : public timed_mutex_test {};
INSTANTIATE_TEST_SUITE_P(, ThreadTimedmutexRecursive,
                         ::testing::ValuesIn(sound_subjects([](const lock_traits& lock) {
                           return lock.kind == lock_kind::ours && lock.recursive && lock.timed;
                         })),
                         name_of);

TEST_P(ThreadTimedmutexRecursive, p1_others_time_out_until_ownership_is_released) {
  lock_.lock();
  lock_.lock();
  lock_.unlock();
  EXPECT_FALSE(elsewhere([&] { return lock_.try_lock_for(100us); }));
  EXPECT_TRUE(waits_for(unlock, for_ever, unlock));
}

TEST_P(ThreadTimedmutexRecursive, p3_the_owner_acquires_levels_in_all_four_ways) {
  lock_.lock();
  EXPECT_TRUE(lock_.try_lock());
  EXPECT_TRUE(lock_.try_lock_for(-1s));
  EXPECT_TRUE(lock_.try_lock_until(steady::now() + never));
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(tried_elsewhere(lock_)) << "released " << i << " times";
    lock_.unlock();
  }
  EXPECT_TRUE(tried_elsewhere(lock_));
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
