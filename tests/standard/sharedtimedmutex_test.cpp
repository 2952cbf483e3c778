// SPDX-License-Identifier: Apache-2.0

// [thread.sharedtimedmutex.requirements] and [thread.sharedtimedmutex.class].

#include <concepts>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class ThreadSharedtimedmutexRequirements : public ::testing::Test {
 protected:
  std::function<bool()> locked = [this] { return lock_.lock(), true; };
  std::function<void()> unlock = [this] { lock_.unlock(); };
  std::function<void()> unlock_shared = [this] { lock_.unlock_shared(); };

  Lock lock_;
};
TYPED_TEST_SUITE(ThreadSharedtimedmutexRequirements, our_shared_timed_locks, catalog_name);

TYPED_TEST(ThreadSharedtimedmutexRequirements, p1_meets_the_timed_and_the_shared_requirements) {
  static_assert(shared_timed_lockable<TypeParam>);
}

TYPED_TEST(ThreadSharedtimedmutexRequirements, p4_try_lock_shared_for_obtains_while_it_waits) {
  this->lock_.lock();
  EXPECT_TRUE(waits_for(
      this->unlock, [&] { return this->lock_.try_lock_shared_for(never); }, this->unlock_shared));
}

TYPED_TEST(ThreadSharedtimedmutexRequirements, p4_try_lock_shared_for_no_time_is_an_attempt) {
  ASSERT_TRUE(this->lock_.try_lock_shared_for(0s));
  EXPECT_TRUE(elsewhere([&] {
    const bool obtained = this->lock_.try_lock_shared_for(-1h);
    if (obtained) this->lock_.unlock_shared();
    return obtained;
  }));
  this->lock_.unlock_shared();
  this->lock_.lock();
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_shared_for(0s); }));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_shared_for(-1h); }));
  this->lock_.unlock();
}

TYPED_TEST(ThreadSharedtimedmutexRequirements, p4_try_lock_shared_for_does_not_time_out_early) {
  this->lock_.lock();
  EXPECT_TRUE(elsewhere([&] {
    const auto start = steady::now();
    return !this->lock_.try_lock_shared_for(2ms) && steady::now() - start >= 2ms;
  }));
  this->lock_.unlock();
}

TYPED_TEST(ThreadSharedtimedmutexRequirements, p5_try_lock_shared_for_returns_bool) {
  static_assert(std::same_as<decltype(this->lock_.try_lock_shared_for(1s)), bool>);
}

/// A reader that timed out has left nothing: one unlock frees the lock for a writer.
TYPED_TEST(ThreadSharedtimedmutexRequirements, p6_try_lock_shared_for_returns_whether_obtained) {
  ASSERT_TRUE(this->lock_.try_lock_shared_for(never));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_for(100us); }));
  this->lock_.unlock_shared();
  this->lock_.lock();
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_shared_for(100us); }));
  this->lock_.unlock();
  EXPECT_TRUE(refuses_while_held(this->lock_));
}

TYPED_TEST(ThreadSharedtimedmutexRequirements, p7_prior_unlocks_synchronize_with_the_timed_share) {
  const auto briefly = [&] { return this->lock_.try_lock_shared_for(1ms); };
  EXPECT_TRUE(publishes(this->locked, this->unlock, briefly, this->unlock_shared));
}

TYPED_TEST(ThreadSharedtimedmutexRequirements, p8_differs_try_lock_shared_for_throws_nothing) {
  static_assert(noexcept(this->lock_.try_lock_shared_for(never)));
}

TYPED_TEST(ThreadSharedtimedmutexRequirements, p11_try_lock_shared_until_obtains_while_it_waits) {
  this->lock_.lock();
  const auto shared = [&] { return this->lock_.try_lock_shared_until(steady::now() + never); };
  EXPECT_TRUE(waits_for(this->unlock, shared, this->unlock_shared));
}

TYPED_TEST(ThreadSharedtimedmutexRequirements, p11_try_lock_shared_until_does_not_time_out_early) {
  this->lock_.lock();
  EXPECT_TRUE(elsewhere([&] {
    const auto limit = slow_clock::now() + 2ms;
    return !this->lock_.try_lock_shared_until(limit) && slow_clock::now() >= limit;
  }));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_shared_until(steady::now() - 1s); }));
  this->lock_.unlock();
}

TYPED_TEST(ThreadSharedtimedmutexRequirements, p12_try_lock_shared_until_returns_bool) {
  static_assert(std::same_as<decltype(this->lock_.try_lock_shared_until(steady::now())), bool>);
}

/// Writers that time out while readers hold the lock keep no reader out afterwards.
TYPED_TEST(ThreadSharedtimedmutexRequirements, p13_a_writer_that_timed_out_stops_no_reader) {
  ASSERT_TRUE(this->lock_.try_lock_shared_until(steady::now() - 1s));
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_until(steady::now() + 1ms); }));
  EXPECT_TRUE(elsewhere([&] {
    const bool obtained = this->lock_.try_lock_shared();
    if (obtained) this->lock_.unlock_shared();
    return obtained;
  }));
  this->lock_.unlock_shared();
}

TYPED_TEST(ThreadSharedtimedmutexRequirements, p14_prior_unlocks_synchronize_with_the_limited_one) {
  const auto briefly = [&] { return this->lock_.try_lock_shared_until(steady::now() + 1ms); };
  EXPECT_TRUE(publishes(this->locked, this->unlock, briefly, this->unlock_shared));
}

TYPED_TEST(ThreadSharedtimedmutexRequirements, p15_differs_try_lock_shared_until_throws_nothing) {
  static_assert(noexcept(this->lock_.try_lock_shared_until(steady::now())));
}

template <class Lock>
class ThreadSharedtimedmutexClass : public ::testing::Test {};
TYPED_TEST_SUITE(ThreadSharedtimedmutexClass, our_shared_timed_locks, catalog_name);

TYPED_TEST(ThreadSharedtimedmutexClass, p2_is_a_standard_layout_class) {
  static_assert(std::is_standard_layout_v<TypeParam>);
}

}  // namespace
}  // namespace lockyard::testing
