// SPDX-License-Identifier: Apache-2.0

// [thread.lock.guard] and [thread.lock.scoped], with the standard's guards and the library's own.

#include <memory>
#include <mutex>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

class ThreadLockGuard : public ::testing::TestWithParam<subject> {
 protected:
  any_lock lock_;
};
INSTANTIATE_TEST_SUITE_P(, ThreadLockGuard, ::testing::ValuesIn(our_subjects()), name_of);

/// The guard maintains ownership to the end of its life, and no longer.
TEST_P(ThreadLockGuard, p1_controls_ownership_within_a_scope) {
  {
    const std::lock_guard<any_lock> held{lock_};
    EXPECT_FALSE(tried_elsewhere(lock_));
  }
  EXPECT_TRUE(tried_elsewhere(lock_));
  static_assert(std::is_same_v<typename std::lock_guard<any_lock>::mutex_type, any_lock>);
}

/// The constructor calls lock(), so it waits for the owner.
TEST_P(ThreadLockGuard, p3_the_constructor_locks) {
  lock_.lock();
  std::unique_ptr<std::lock_guard<any_lock>> held;
  EXPECT_TRUE(waits_for([&] { lock_.unlock(); },
                        [&] {
                          held = std::make_unique<std::lock_guard<any_lock>>(lock_);
                          return true;
                        },
                        [&] { held.reset(); }));
}

/// An adopting guard does not lock, and unlocks what its thread owned before.
TEST_P(ThreadLockGuard, p5_an_adopting_guard_takes_over_ownership) {
  lock_.lock();
  {
    const std::lock_guard held{lock_, std::adopt_lock};
    EXPECT_FALSE(tried_elsewhere(lock_));
  }
  EXPECT_TRUE(refuses_while_held(lock_));
}

TEST_P(ThreadLockGuard, p7_the_destructor_unlocks_while_an_exception_leaves_the_scope) {
  EXPECT_THROW(
      {
        const std::lock_guard held{lock_};
        throw 1;
      },
      int);
  EXPECT_TRUE(refuses_while_held(lock_));
}

/// lockyard::guard keeps the same rules, but adopts nothing.
TEST_P(ThreadLockGuard, p1_the_librarys_guard_controls_ownership_within_a_scope) {
  {
    const guard<any_lock> held{lock_};
    EXPECT_FALSE(tried_elsewhere(lock_));
  }
  EXPECT_TRUE(tried_elsewhere(lock_));
  static_assert(std::is_same_v<typename guard<any_lock>::mutex_type, any_lock>);
  static_assert(!std::is_copy_constructible_v<guard<any_lock>>);
  static_assert(!std::is_copy_assignable_v<guard<any_lock>>);
}

TEST(ThreadLockGuardClass, p5_differs_the_librarys_guard_does_not_adopt) {
  static_assert(std::is_constructible_v<guard<any_lock>, any_lock&>);
  static_assert(!std::is_constructible_v<guard<any_lock>, any_lock&, std::adopt_lock_t>);
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

class ThreadLockScoped : public ::testing::TestWithParam<subject> {
 protected:
  any_lock first_;
  any_lock second_;
  mutex other_;
};
INSTANTIATE_TEST_SUITE_P(, ThreadLockScoped, ::testing::ValuesIn(our_subjects()), name_of);

/// All locks are held to the end of the scope.
TEST_P(ThreadLockScoped, p1_controls_ownership_of_all_within_a_scope) {
  {
    const std::scoped_lock held{first_, other_, second_};
    EXPECT_FALSE(tried_elsewhere(first_));
    EXPECT_FALSE(tried_elsewhere(second_));
    EXPECT_FALSE(tried_elsewhere(other_));
  }
  EXPECT_TRUE(tried_elsewhere(first_));
  EXPECT_TRUE(tried_elsewhere(second_));
  EXPECT_TRUE(tried_elsewhere(other_));
}

TEST_P(ThreadLockScoped, p3_the_constructor_with_one_argument_locks_it) {
  const std::scoped_lock held{first_};
  EXPECT_FALSE(tried_elsewhere(first_));
  static_assert(std::is_same_v<typename std::scoped_lock<any_lock>::mutex_type, any_lock>);
}

/// Threads that name the same locks in opposite orders do not block each other forever.
TEST_P(ThreadLockScoped, p3_the_constructor_with_several_arguments_does_not_deadlock) {
  int turns = 0;
  const auto take = [&](auto& one, auto& two) {
    for (int i = 0; i < 100; ++i) {
      const std::scoped_lock held{one, two};
      ++turns;
    }
  };
  std::jthread other{[&] { take(second_, first_); }};
  take(first_, second_);
  other.join();
  EXPECT_EQ(turns, 200);
}

TEST_P(ThreadLockScoped, p5_an_adopting_lock_takes_over_ownership_of_all) {
  first_.lock();
  second_.lock();
  {
    const std::scoped_lock held{std::adopt_lock, first_, second_};
    EXPECT_FALSE(tried_elsewhere(first_));
    EXPECT_FALSE(tried_elsewhere(second_));
  }
  EXPECT_TRUE(refuses_while_held(first_));
  EXPECT_TRUE(refuses_while_held(second_));
}

TEST_P(ThreadLockScoped, p7_the_destructor_unlocks_all_while_an_exception_leaves_the_scope) {
  EXPECT_THROW(
      {
        const std::scoped_lock held(first_, second_);
        throw 1;
      },
      int);
  EXPECT_TRUE(refuses_while_held(first_));
  EXPECT_TRUE(refuses_while_held(second_));
}

}  // namespace
}  // namespace lockyard::testing
