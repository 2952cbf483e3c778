// SPDX-License-Identifier: Apache-2.0

// [thread.lock.algorithm]: std::try_lock and std::lock over the locks.

#include <mutex>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

class ThreadLockAlgorithm : public ::testing::TestWithParam<subject> {
 protected:
  void expect_all_free() {
    EXPECT_TRUE(tried_elsewhere(first_));
    EXPECT_TRUE(tried_elsewhere(second_));
    EXPECT_TRUE(tried_elsewhere(third_));
  }
  void unlock_all() {
    first_.unlock();
    second_.unlock();
    third_.unlock();
  }

  any_lock first_;
  any_lock second_;
  any_lock third_;
};
INSTANTIATE_TEST_SUITE_P(, ThreadLockAlgorithm, ::testing::ValuesIn(our_subjects()), name_of);

/// A call that fails releases the locks before the one that refused, and asks none after it.
TEST_P(ThreadLockAlgorithm, p2_try_lock_releases_all_prior_ones_after_a_failure) {
  recording_lock refusing;
  recording_lock behind;
  refusing.refuses = true;
  EXPECT_EQ(std::try_lock(first_, second_, refusing, behind), 2);
  EXPECT_EQ(behind.locks, 0);
  expect_all_free();
}

/// An exception counts as a failure, and leaves the call.
TEST_P(ThreadLockAlgorithm, p2_try_lock_releases_all_prior_ones_after_an_exception) {
  recording_lock throwing_one;
  throwing_one.throws = true;
  EXPECT_THROW(static_cast<void>(std::try_lock(first_, second_, throwing_one)), int);
  expect_all_free();
}

TEST_P(ThreadLockAlgorithm, p3_try_lock_returns_minus_one_when_it_has_locked_all) {
  ASSERT_EQ(std::try_lock(first_, second_, third_), -1);
  EXPECT_FALSE(tried_elsewhere(first_));
  EXPECT_FALSE(tried_elsewhere(second_));
  EXPECT_FALSE(tried_elsewhere(third_));
  unlock_all();
  expect_all_free();
}

/// The number of the argument that refused: one that another thread owns.
TEST_P(ThreadLockAlgorithm, p3_try_lock_returns_the_index_of_the_one_that_failed) {
  const auto failed = [&] { return std::try_lock(first_, second_, third_); };
  first_.lock();
  EXPECT_TRUE(elsewhere([&] { return failed() == 0; }));
  first_.unlock();
  third_.lock();
  EXPECT_TRUE(elsewhere([&] { return failed() == 2; }));
  third_.unlock();
  expect_all_free();
}

TEST_P(ThreadLockAlgorithm, p5_lock_locks_all) {
  std::lock(first_, second_, third_);
  EXPECT_FALSE(tried_elsewhere(first_));
  EXPECT_FALSE(tried_elsewhere(second_));
  EXPECT_FALSE(tried_elsewhere(third_));
  unlock_all();
  expect_all_free();
}

/// Three threads name three locks in three orders, each lock before and behind each other one.
TEST_P(ThreadLockAlgorithm, p5_lock_does_not_deadlock_whatever_the_orders) {
  constexpr int rounds = 60;
  int turns = 0;
  const auto take = [&](auto& one, auto& two, auto& three) {
    for (int i = 0; i < rounds; ++i) {
      std::lock(one, two, three);
      ++turns;
      unlock_all();
    }
  };
  std::jthread second{[&] { take(second_, third_, first_); }};
  std::jthread third{[&] { take(third_, second_, first_); }};
  take(first_, second_, third_);
  second.join();
  third.join();
  EXPECT_EQ(turns, 3 * rounds);
}

/// Locks of other types, and guards of locks, are arguments as well.
TEST_P(ThreadLockAlgorithm, p5_lock_takes_locks_of_several_types) {
  std::mutex standard;
  mutex ours;
  std::unique_lock deferred{first_, std::defer_lock};
  std::lock(standard, deferred, ours, second_);
  EXPECT_TRUE(deferred.owns_lock());
  EXPECT_FALSE(tried_elsewhere(first_));
  EXPECT_FALSE(tried_elsewhere(second_));
  EXPECT_FALSE(tried_elsewhere(standard));
  EXPECT_FALSE(tried_elsewhere(ours));
  standard.unlock();
  ours.unlock();
  second_.unlock();
}

/// It waits for a lock that another thread owns, wherever that one stands.
TEST_P(ThreadLockAlgorithm, p5_lock_waits_for_the_one_that_is_owned) {
  const auto all = [&] { return std::lock(first_, second_, third_), true; };
  second_.lock();
  EXPECT_TRUE(waits_for([&] { second_.unlock(); }, all, [&] { unlock_all(); }));
}

TEST_P(ThreadLockAlgorithm, p5_lock_releases_all_when_a_call_throws) {
  recording_lock throwing_one;
  throwing_one.throws = true;
  EXPECT_THROW(std::lock(first_, throwing_one, second_), int);
  expect_all_free();
}

}  // namespace
}  // namespace lockyard::testing
