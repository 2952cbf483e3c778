// SPDX-License-Identifier: Apache-2.0

// [thread.lock.guard] and [thread.lock.scoped], with the standard's guards and the library's own.

#include <memory>
#include <mutex>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class ThreadLockGuard : public ::testing::Test {
 protected:
  Lock lock_;
};
TYPED_TEST_SUITE(ThreadLockGuard, our_locks, catalog_name);

/// The guard maintains ownership to the end of its life, and no longer.
TYPED_TEST(ThreadLockGuard, p1_controls_ownership_within_a_scope) {
  {
    const std::lock_guard<TypeParam> held{this->lock_};
    EXPECT_FALSE(tried_elsewhere(this->lock_));
  }
  EXPECT_TRUE(tried_elsewhere(this->lock_));
  static_assert(std::is_same_v<typename std::lock_guard<TypeParam>::mutex_type, TypeParam>);
}

/// The constructor calls lock(), so it waits for the owner.
TYPED_TEST(ThreadLockGuard, p3_the_constructor_locks) {
  this->lock_.lock();
  std::unique_ptr<std::lock_guard<TypeParam>> held;
  EXPECT_TRUE(waits_for([&] { this->lock_.unlock(); },
                        [&] {
                          held = std::make_unique<std::lock_guard<TypeParam>>(this->lock_);
                          return true;
                        },
                        [&] { held.reset(); }));
}

/// An adopting guard does not lock, and unlocks what its thread owned before.
TYPED_TEST(ThreadLockGuard, p5_an_adopting_guard_takes_over_ownership) {
  this->lock_.lock();
  {
    const std::lock_guard held{this->lock_, std::adopt_lock};
    EXPECT_FALSE(tried_elsewhere(this->lock_));
  }
  EXPECT_TRUE(refuses_while_held(this->lock_));
}

TYPED_TEST(ThreadLockGuard, p7_the_destructor_unlocks_while_an_exception_leaves_the_scope) {
  EXPECT_THROW(
      {
        const std::lock_guard held{this->lock_};
        throw 1;
      },
      int);
  EXPECT_TRUE(refuses_while_held(this->lock_));
}

/// lockyard::guard keeps the same rules, but adopts nothing.
TYPED_TEST(ThreadLockGuard, p1_the_librarys_guard_controls_ownership_within_a_scope) {
  {
    const guard<TypeParam> held{this->lock_};
    EXPECT_FALSE(tried_elsewhere(this->lock_));
  }
  EXPECT_TRUE(tried_elsewhere(this->lock_));
  static_assert(std::is_same_v<typename guard<TypeParam>::mutex_type, TypeParam>);
  static_assert(!std::is_copy_constructible_v<guard<TypeParam>>);
  static_assert(!std::is_copy_assignable_v<guard<TypeParam>>);
}

TYPED_TEST(ThreadLockGuard, p5_differs_the_librarys_guard_does_not_adopt) {
  static_assert(std::is_constructible_v<guard<TypeParam>, TypeParam&>);
  static_assert(!std::is_constructible_v<guard<TypeParam>, TypeParam&, std::adopt_lock_t>);
}

template <class Lock>
class ThreadLockGuardShared : public ::testing::Test {};
TYPED_TEST_SUITE(ThreadLockGuardShared, our_shared_locks, catalog_name);

TYPED_TEST(ThreadLockGuardShared, p1_the_librarys_shared_guard_controls_shared_ownership) {
  TypeParam lock;
  {
    const shared_guard<TypeParam> held{lock};
    EXPECT_FALSE(tried_elsewhere(lock));
    EXPECT_TRUE(elsewhere([&] {
      const shared_guard<TypeParam> too{lock};
      return true;
    }));
  }
  EXPECT_TRUE(tried_elsewhere(lock));
}

template <class Lock>
class ThreadLockScoped : public ::testing::Test {
 protected:
  Lock first_;
  Lock second_;
  mutex other_;
};
TYPED_TEST_SUITE(ThreadLockScoped, our_locks, catalog_name);

/// All locks are held to the end of the scope.
TYPED_TEST(ThreadLockScoped, p1_controls_ownership_of_all_within_a_scope) {
  {
    const std::scoped_lock held{this->first_, this->other_, this->second_};
    EXPECT_FALSE(tried_elsewhere(this->first_));
    EXPECT_FALSE(tried_elsewhere(this->second_));
    EXPECT_FALSE(tried_elsewhere(this->other_));
  }
  EXPECT_TRUE(tried_elsewhere(this->first_));
  EXPECT_TRUE(tried_elsewhere(this->second_));
  EXPECT_TRUE(tried_elsewhere(this->other_));
}

TYPED_TEST(ThreadLockScoped, p3_the_constructor_with_one_argument_locks_it) {
  const std::scoped_lock held{this->first_};
  EXPECT_FALSE(tried_elsewhere(this->first_));
  static_assert(std::is_same_v<typename std::scoped_lock<TypeParam>::mutex_type, TypeParam>);
}

/// Threads that name the same locks in opposite orders do not block each other forever.
TYPED_TEST(ThreadLockScoped, p3_the_constructor_with_several_arguments_does_not_deadlock) {
  int turns = 0;
  const auto take = [&](auto& one, auto& two) {
    for (int i = 0; i < 100; ++i) {
      const std::scoped_lock held{one, two};
      ++turns;
    }
  };
  std::jthread other{[&] { take(this->second_, this->first_); }};
  take(this->first_, this->second_);
  other.join();
  EXPECT_EQ(turns, 200);
}

TYPED_TEST(ThreadLockScoped, p5_an_adopting_lock_takes_over_ownership_of_all) {
  this->first_.lock();
  this->second_.lock();
  {
    const std::scoped_lock held{std::adopt_lock, this->first_, this->second_};
    EXPECT_FALSE(tried_elsewhere(this->first_));
    EXPECT_FALSE(tried_elsewhere(this->second_));
  }
  EXPECT_TRUE(refuses_while_held(this->first_));
  EXPECT_TRUE(refuses_while_held(this->second_));
}

TYPED_TEST(ThreadLockScoped, p7_the_destructor_unlocks_all_while_an_exception_leaves_the_scope) {
  EXPECT_THROW(
      {
        const std::scoped_lock held(this->first_, this->second_);
        throw 1;
      },
      int);
  EXPECT_TRUE(refuses_while_held(this->first_));
  EXPECT_TRUE(refuses_while_held(this->second_));
}

}  // namespace
}  // namespace lockyard::testing
