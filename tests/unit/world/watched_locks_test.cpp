// SPDX-License-Identifier: Apache-2.0

// Built with LOCKYARD_DEBUG: what each lock, condition variable and shared mutex reports by itself.

#include <lockyard/debug.hpp>
#include <lockyard/lockyard.hpp>
#include <lockyard/world/debugging.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/catalog_types.hpp"
#include "support/debug_reports.hpp"
#include "support/exclusion.hpp"

namespace lockyard::testing {
namespace {

using debug::problem;

template <class Lock>
class Watched : public ::testing::Test {
 protected:
  /// A report of this kind with the lock's own name in front.
  static std::string message(problem kind) {
    const std::string name{traits_of<Lock>().name};
    return "lockyard: " + name.substr(0, name.find('[')) + ".* " +
           std::string{debug::text_of(kind)};
  }
};
TYPED_TEST_SUITE(Watched, owned_locks, catalog_name);

TYPED_TEST(Watched, has_the_layout_that_it_has_unwatched) {
  using unwatched = in_world_t<TypeParam, native>;
  static_assert(std::is_same_v<in_world_t<TypeParam, debugging>, TypeParam>);
  static_assert(sizeof(TypeParam) == sizeof(unwatched) && alignof(TypeParam) == alignof(unwatched));
}

TYPED_TEST(Watched, ends_the_process_when_it_is_unlocked_and_nobody_holds_it) {
  TypeParam lock;
  EXPECT_DEATH(lock.unlock(), this->message(problem::unlock_not_held));
}

TYPED_TEST(Watched, ends_the_process_before_its_owner_waits_for_itself) {
  TypeParam lock;
  lock.lock();
  if (!traits_of<TypeParam>().recursive && !traits_of<TypeParam>().recovering) {
    EXPECT_DEATH(lock.lock(), this->message(problem::recursive_lock));
  }
  lock.unlock();
}

TYPED_TEST(Watched, ends_the_process_when_it_is_destroyed_while_held) {
  const auto destroys = [] {
    TypeParam lock;
    lock.lock();
  };
  EXPECT_DEATH(destroys(), this->message(problem::destroyed_while_held));
}

TYPED_TEST(Watched, ends_the_process_when_it_is_asserted_to_be_held_and_is_not) {
  TypeParam lock;
  EXPECT_DEATH(lock.assert_held(), this->message(problem::asserted_held));
  lock.lock();
  lock.assert_held();
  std::thread{[&] {
    EXPECT_DEATH(lock.assert_held(), this->message(problem::asserted_held));
    lock.assert_not_held();
  }}.join();
  lock.unlock();
  EXPECT_DEATH(lock.assert_held(), this->message(problem::asserted_held));
}

TYPED_TEST(Watched, ends_the_process_when_it_is_asserted_not_to_be_held_and_is) {
  TypeParam lock;
  lock.assert_not_held();
  lock.lock();
  EXPECT_DEATH(lock.assert_not_held(), this->message(problem::asserted_not_held));
  lock.unlock();
  lock.assert_not_held();
}

TYPED_TEST(Watched, excludes_and_reports_nothing_when_it_is_used_well) {
  const recording reports;
  TypeParam lock;
  EXPECT_TRUE(counts_exactly(lock, 2, 500));
  EXPECT_TRUE(recording::records.empty());
}

// Several threads can hold a lock together.

constexpr const char* shared_recursion =
    "lockyard: shared_mutex .*is locked again by the thread that holds it";

TEST(WatchedConditionVariable, ends_the_process_when_the_mutex_is_not_held) {
  mutex mine;
  condition_variable changed;
  condition_variable_any any;
  const std::string message = "mutex.* " + std::string{debug::text_of(problem::unlock_not_held)};
  EXPECT_DEATH(changed.wait(mine), message);
  EXPECT_DEATH(any.wait(mine), message);
}

#ifndef NDEBUG  // an assertion
TEST(WatchedConditionVariable, ends_the_process_when_threads_wait_with_different_mutexes) {
  const auto waits_with_two = [] {
    mutex first, second;
    condition_variable changed;
    std::thread other{[&] {
      const std::scoped_lock held{first};
      changed.wait(first);
    }};
    const std::scoped_lock held{second};
    for (;;) static_cast<void>(changed.wait_for(second, std::chrono::milliseconds{1}));
  };
  EXPECT_DEATH(waits_with_two(), "threads wait with different mutexes");
}
#endif

TEST(WatchedConditionVariable, reports_nothing_when_it_is_used_well) {
  const recording reports;
  mutex mine;
  condition_variable changed;
  bool is_set = false;
  std::thread other{[&] {
    const std::scoped_lock held{mine};
    is_set = true;
    changed.notify_all();
  }};
  {
    const std::scoped_lock held{mine};
    changed.wait(mine, [&] { return is_set; });
  }
  other.join();
  EXPECT_TRUE(recording::records.empty());
}

TEST(WatchedSharedMutex, ends_the_process_before_a_reader_waits_for_itself) {
  shared_mutex lock;
  lock.lock_shared();
  EXPECT_DEATH(lock.lock_shared(), shared_recursion);
  EXPECT_DEATH(lock.lock(), shared_recursion);
  EXPECT_DEATH(lock.lock_upgrade(), shared_recursion);
  lock.unlock_shared();
  lock.lock();
  EXPECT_DEATH(lock.lock_shared(), shared_recursion);
  lock.unlock_and_lock_upgrade();
  EXPECT_DEATH(lock.lock_shared(), shared_recursion);
  lock.unlock_upgrade();
}

TEST(WatchedSharedMutex, ends_the_process_when_it_is_released_in_another_way_than_it_is_held) {
  shared_mutex lock;
  EXPECT_DEATH(lock.unlock_shared(), "is unlocked, and no thread holds it");
  lock.lock_shared();
  EXPECT_DEATH(lock.unlock(), "is unlocked, and no thread holds it");
  std::thread{[&] {
    EXPECT_DEATH(lock.unlock_shared(), "is unlocked by a thread that does not hold it");
  }}.join();
  lock.unlock_shared();
  const auto destroys = [] {
    shared_mutex held;
    held.lock_shared();
  };
  EXPECT_DEATH(destroys(), "is destroyed while it is held");
}

TEST(WatchedSharedMutex, ends_the_process_when_an_assertion_about_its_readers_is_not_true) {
  shared_mutex lock;
  const char* const is_not = "is asserted to be held by a thread that does not hold it";
  const char* const is = "is asserted not to be held by a thread that holds it";
  EXPECT_DEATH(lock.assert_held_shared(), is_not);
  lock.lock_shared();
  lock.assert_held_shared();
  EXPECT_DEATH(lock.assert_held(), is_not);
  EXPECT_DEATH(lock.assert_not_held(), is);
  std::thread{[&] {
    EXPECT_DEATH(lock.assert_held_shared(), is_not);
    lock.assert_not_held();
  }}.join();
  lock.unlock_shared();
  lock.lock_upgrade();
  lock.assert_held_shared();
  EXPECT_DEATH(lock.assert_held(), is_not);
  lock.unlock_upgrade_and_lock();
  lock.assert_held();
  lock.assert_held_shared();
  lock.unlock();
  lock.assert_not_held();
}

}  // namespace
}  // namespace lockyard::testing
