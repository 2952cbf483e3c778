// SPDX-License-Identifier: Apache-2.0

// [thread.mutex.class] and [thread.mutex.recursive]: mutexes as classes.

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class ThreadMutexClass : public ::testing::Test {
 protected:
  std::function<bool()> locked = [this] { return lock_.lock(), true; };
  std::function<void()> unlock = [this] { lock_.unlock(); };

  Lock lock_;
};
TYPED_TEST_SUITE(ThreadMutexClass, our_locks, catalog_name);

/// The synopsis: constant initialisation, and no exception from it.
TYPED_TEST(ThreadMutexClass, p0_the_default_constructor_is_constexpr_and_throws_nothing) {
  static constinit TypeParam lock;
  static_assert(std::is_nothrow_default_constructible_v<TypeParam>);
  EXPECT_TRUE(refuses_while_held(lock));
}

TYPED_TEST(ThreadMutexClass, p0_the_copy_operations_are_deleted) {
  static_assert(!std::is_constructible_v<TypeParam, const TypeParam&>);
  static_assert(!std::is_assignable_v<TypeParam&, const TypeParam&>);
}

/// While a thread owns the mutex, another one's try_lock() fails, until the owner's unlock().
TYPED_TEST(ThreadMutexClass, p1_try_lock_of_another_thread_fails_until_the_owner_unlocks) {
  EXPECT_TRUE(refuses_while_held(this->lock_));
}

/// While a thread owns the mutex, another one's lock() blocks, until the owner's unlock().
TYPED_TEST(ThreadMutexClass, p1_lock_of_another_thread_blocks_until_the_owner_unlocks) {
  ASSERT_TRUE(this->lock_.try_lock());
  EXPECT_TRUE(waits_for(this->unlock, this->locked, this->unlock));
}

/// A thread that has locked and unlocked the mutex may destroy it, though the unlock() before has
/// not returned.
TYPED_TEST(ThreadMutexClass, p2_may_be_destroyed_once_unlocked_though_unlock_has_not_returned) {
  for (int round = 0; round < 20; ++round) {
    mortal<TypeParam> lock;
    lock->lock();
    flag begins;
    std::jthread next{[&] {
      begins.raise();
      lock->lock();
      lock->unlock();
      lock.end();
    }};
    if (round % 2 == 0) begins.await();
    if (round % 4 == 0) give_others_time();
    lock->unlock();
    next.join();
    EXPECT_TRUE(lock.is_untouched());
  }
}

TYPED_TEST(ThreadMutexClass, p3_is_a_standard_layout_class) {
  static_assert(std::is_standard_layout_v<TypeParam>);
}

template <class Lock>
class ThreadMutexRecursive : public ::testing::Test {
 protected:
  std::function<bool()> locked = [this] { return lock_.lock(), true; };
  std::function<void()> unlock = [this] { lock_.unlock(); };

  Lock lock_;
};
TYPED_TEST_SUITE(ThreadMutexRecursive, our_recursive_locks, catalog_name);

/// Other threads get nothing until the owner has released the mutex completely.
TYPED_TEST(ThreadMutexRecursive, p1_other_threads_are_refused_until_ownership_is_released) {
  EXPECT_TRUE(refuses_while_held(this->lock_));
  this->lock_.lock();
  this->lock_.lock();
  const auto release_completely = [&] {
    this->lock_.unlock();
    give_others_time();
    this->lock_.unlock();
  };
  EXPECT_TRUE(waits_for(release_completely, this->locked, this->unlock));
}

TYPED_TEST(ThreadMutexRecursive, p2_is_a_standard_layout_class_and_meets_the_mutex_requirements) {
  static_assert(std::is_standard_layout_v<TypeParam> && lockable<TypeParam>);
  static_assert(noexcept(this->lock_.try_lock()));
}

TYPED_TEST(ThreadMutexRecursive, p3_the_owner_acquires_levels_by_lock_and_try_lock) {
  this->lock_.lock();
  EXPECT_TRUE(this->lock_.try_lock());
  this->lock_.lock();
  for (int i = 0; i < 3; ++i) this->lock_.unlock();
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

/// A thread unlocks once for each level; others acquire after the last of these calls only.
TYPED_TEST(ThreadMutexRecursive, p3_others_acquire_only_when_all_levels_are_released) {
  constexpr int levels = 5;
  for (int i = 0; i < levels; ++i) this->lock_.lock();
  for (int i = 0; i < levels; ++i) {
    EXPECT_FALSE(tried_elsewhere(this->lock_)) << "released " << i << " times";
    this->lock_.unlock();
  }
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

TYPED_TEST(ThreadMutexRecursive, p3_levels_of_one_owner_are_not_levels_of_the_next) {
  this->lock_.lock();
  this->lock_.lock();
  this->lock_.unlock();
  this->lock_.unlock();
  EXPECT_TRUE(elsewhere([&] {
    this->lock_.lock();
    this->lock_.unlock();
    return true;
  }));
  EXPECT_TRUE(refuses_while_held(this->lock_));
}

TEST(ThreadMutexRecursiveLimit, p3_try_lock_fails_at_the_maximum_level) {
  recursive_mutex<mutex, 2> lock;
  EXPECT_TRUE(lock.try_lock() && lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_FALSE(tried_elsewhere(lock));
  lock.unlock();
  EXPECT_TRUE(tried_elsewhere(lock));
}

/// The standard has lock() throw at the maximum level. Here it ends the process.
TEST(ThreadMutexRecursiveLimitDeathTest, p3_differs_lock_ends_the_process_at_the_maximum_level) {
  recursive_mutex<mutex, 2> lock;
  lock.lock();
  lock.lock();
  EXPECT_DEATH(lock.lock(), "max_depth");
  lock.unlock();
  lock.unlock();
}

}  // namespace
}  // namespace lockyard::testing
