// SPDX-License-Identifier: Apache-2.0

// recursive_mutex over our locks: the catalogue's locks that it can wrap, and what it adds.

#include <lockyard/lockyard.hpp>

#include <gtest/gtest.h>

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "support/catalog_types.hpp"
#include "support/exclusion.hpp"

namespace lockyard::testing {
namespace {

using std::chrono::milliseconds;

template <class Lock>
class RecursiveOver : public ::testing::Test {
 protected:
  recursive_mutex<Lock> lock_;
};
TYPED_TEST_SUITE(RecursiveOver, owned_locks, catalog_name);

TYPED_TEST(RecursiveOver, is_free_when_it_has_been_unlocked_as_often_as_locked) {
  auto& lock = this->lock_;
  lock.lock();
  lock.lock();
  EXPECT_TRUE(lock.try_lock());
  for (int unlocks = 0; unlocks < 3; ++unlocks) {
    EXPECT_FALSE(tried_elsewhere(lock));
    lock.unlock();
  }
  EXPECT_TRUE(tried_elsewhere(lock));
}

TYPED_TEST(RecursiveOver, excludes_other_threads) {
  EXPECT_TRUE(refuses_while_held(this->lock_));
  EXPECT_TRUE(counts_exactly(this->lock_, 2, 2000));
}

/// Tells by which of its functions it was released.
template <world W>
struct noted_lock {
  void lock() {}
  bool try_lock() { return true; }
  void unlock() { ++unlocks; }
  void unlock_fair() { ++fair_unlocks; }
  static inline int unlocks = 0;
  static inline int fair_unlocks = 0;
};

TEST(RecursiveMutex, hands_over_by_the_unlock_that_releases_it) {
  using noted = noted_lock<native>;
  recursive_mutex<noted> lock;
  lock.lock();
  lock.lock();
  lock.unlock_fair();
  EXPECT_EQ(noted::fair_unlocks, 0) << "it is still held";
  lock.unlock_fair();
  EXPECT_EQ(noted::fair_unlocks, 1);
  EXPECT_EQ(noted::unlocks, 0);
  EXPECT_TRUE(tried_elsewhere(lock));
}

TYPED_TEST(RecursiveOver, is_timed_exactly_if_its_lock_is) {
  using tested = recursive_mutex<TypeParam>;
  static_assert(timed_lockable<tested> == timed_lockable<TypeParam>);
  if constexpr (timed_lockable<tested>) {
    auto& lock = this->lock_;
    EXPECT_TRUE(lock.try_lock_for(milliseconds{1}));
    EXPECT_TRUE(lock.try_lock_for(milliseconds{-1}));
    EXPECT_TRUE(lock.try_lock_until(std::chrono::system_clock::time_point{}));
    std::thread{[&] {
      EXPECT_FALSE(lock.try_lock_for(milliseconds{1}));
      EXPECT_FALSE(lock.try_lock_until(std::chrono::steady_clock::now()));
    }}.join();
    for (int unlocks = 0; unlocks < 3; ++unlocks) lock.unlock();
    EXPECT_TRUE(tried_elsewhere(lock));
  }
}

TEST(RecursiveMutex, refuses_to_be_held_more_often_than_it_counts) {
  recursive_mutex<mutex, 3> lock;
  lock.lock();
  lock.lock();
  lock.lock();
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock_for(milliseconds{1}));
  EXPECT_DEATH(lock.lock(), "max_depth times, as often as it counts");
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  for (int unlocks = 0; unlocks < 3; ++unlocks) lock.unlock();
  EXPECT_TRUE(tried_elsewhere(lock));
  static_assert(recursive_mutex<>::max_depth == UINT32_MAX);
}

TEST(RecursiveMutex, is_let_go_of_by_a_wait_for_a_condition) {
  recursive_mutex<> lock;
  std::condition_variable_any changed;
  bool happened = false;
  std::unique_lock held{lock};
  std::thread other{[&] {
    const std::scoped_lock both{lock};
    happened = true;
    changed.notify_one();
  }};
  changed.wait(held, [&] { return happened; });
  other.join();
}

/// A thread that ended while it held the lock; where its memory was.
pthread_t end_with(recursive_mutex<>& lock) {
  pthread_t ended{};
  std::thread{[&] {
    lock.lock();
    ended = pthread_self();
  }}.join();
  return ended;
}

/// Threads are started until one of them lies where an ended one lay: the C library keeps the
/// memory of ended threads for new ones.
TEST(RecursiveMutex, does_not_belong_to_a_new_thread_in_the_memory_of_its_ended_owner) {
  recursive_mutex<> lock;
  const pthread_t ended = end_with(lock);
  bool is_in_its_place = false;
  bool acquired = false;
  for (int tries = 0; tries < 1000 && !is_in_its_place; ++tries) {
    std::thread{[&] {
      is_in_its_place = pthread_equal(pthread_self(), ended) != 0;
      acquired = lock.try_lock() || lock.try_lock_for(milliseconds{1});
    }}.join();
    ASSERT_FALSE(acquired);
  }
  ASSERT_TRUE(is_in_its_place) << "no new thread had the memory of the ended one";
  EXPECT_FALSE(lock.try_lock());
}

#if !defined(NDEBUG)
TEST(RecursiveMutexDeathTest, is_not_to_be_unlocked_by_a_thread_that_does_not_hold_it) {
  recursive_mutex<> lock;
  EXPECT_DEATH(lock.unlock(), "unlocks what it does not hold");
}
#endif

}  // namespace
}  // namespace lockyard::testing
