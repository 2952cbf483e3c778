// SPDX-License-Identifier: Apache-2.0

// [thread.sharedmutex.requirements] and [thread.sharedmutex.class]. That 10000 threads can share a
// lock has no test: so many cannot be started in time.

#include <barrier>
#include <concepts>
#include <vector>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class ThreadSharedmutexRequirements : public ::testing::Test {
 protected:
  std::function<bool()> locked = [this] { return lock_.lock(), true; };
  std::function<void()> unlock = [this] { lock_.unlock(); };
  std::function<bool()> shared = [this] { return lock_.lock_shared(), true; };
  std::function<void()> unlock_shared = [this] { lock_.unlock_shared(); };

  /// Whether another thread can share the lock now.
  bool is_shared_elsewhere() {
    return elsewhere([this] {
      const bool is_shared = lock_.try_lock_shared();
      if (is_shared) lock_.unlock_shared();
      return is_shared;
    });
  }

  Lock lock_;
};
TYPED_TEST_SUITE(ThreadSharedmutexRequirements, our_shared_locks, catalog_name);

TYPED_TEST(ThreadSharedmutexRequirements, p1_a_shared_mutex_meets_the_mutex_requirements) {
  static_assert(lockable<TypeParam> && shared_lockable<TypeParam>);
  EXPECT_TRUE(refuses_while_held(this->lock_));
}

/// All threads are inside at the same time, or the barrier would never open.
TYPED_TEST(ThreadSharedmutexRequirements, p2_many_threads_hold_shared_ownership_at_a_time) {
  constexpr int readers = 8;
  std::barrier inside{readers};
  std::vector<std::jthread> team;
  for (int t = 0; t < readers; ++t) {
    team.emplace_back([&] {
      this->lock_.lock_shared();
      inside.arrive_and_wait();
      this->lock_.unlock_shared();
    });
  }
  team.clear();
  EXPECT_TRUE(refuses_while_held(this->lock_));
}

TYPED_TEST(ThreadSharedmutexRequirements, p2_an_exclusive_owner_excludes_shared_owners) {
  this->lock_.lock();
  EXPECT_FALSE(this->is_shared_elsewhere());
  this->lock_.unlock();
  EXPECT_TRUE(this->is_shared_elsewhere());
}

TYPED_TEST(ThreadSharedmutexRequirements, p2_a_shared_owner_excludes_exclusive_owners) {
  this->lock_.lock_shared();
  EXPECT_FALSE(tried_elsewhere(this->lock_));
  EXPECT_TRUE(this->is_shared_elsewhere());
  this->lock_.unlock_shared();
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

/// Readers and writers of two plain words: a reader never sees them differ.
TYPED_TEST(ThreadSharedmutexRequirements, p2_no_thread_shares_while_another_one_writes) {
  constexpr int rounds = 500;
  int first = 0;
  int second = 0;
  const auto write = [&] {
    for (int i = 0; i < rounds; ++i) {
      this->lock_.lock();
      ++first;
      ++second;
      this->lock_.unlock();
    }
  };
  std::atomic<int> torn{0};
  const auto read = [&] {
    for (int i = 0; i < rounds; ++i) {
      this->lock_.lock_shared();
      if (first != second) ++torn;
      this->lock_.unlock_shared();
    }
  };
  std::vector<std::jthread> team;
  team.emplace_back(write);
  team.emplace_back(read);
  team.emplace_back(read);
  write();
  team.clear();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(first, 2 * rounds);
}

TYPED_TEST(ThreadSharedmutexRequirements, p5_lock_shared_blocks_until_it_can_be_obtained) {
  this->lock_.lock();
  EXPECT_TRUE(waits_for(this->unlock, this->shared, this->unlock_shared));
}

TYPED_TEST(ThreadSharedmutexRequirements, p6_the_thread_has_a_shared_lock_after_lock_shared) {
  this->lock_.lock_shared();
  EXPECT_FALSE(tried_elsewhere(this->lock_));
  this->lock_.unlock_shared();
}

TYPED_TEST(ThreadSharedmutexRequirements, p7_lock_shared_returns_nothing) {
  static_assert(std::is_void_v<decltype(this->lock_.lock_shared())>);
}

TYPED_TEST(ThreadSharedmutexRequirements, p8_prior_unlocks_synchronize_with_lock_shared) {
  EXPECT_TRUE(publishes(this->locked, this->unlock, this->shared, this->unlock_shared));
}

TYPED_TEST(ThreadSharedmutexRequirements, p9_differs_lock_shared_throws_nothing) {
  static_assert(noexcept(this->lock_.lock_shared()));
}

/// The exclusive lock waits for the last shared owner, not for the first.
TYPED_TEST(ThreadSharedmutexRequirements, p13_unlock_shared_releases_the_callers_shared_lock) {
  flag may_leave;
  flag is_inside;
  std::jthread reader{[&] {
    this->lock_.lock_shared();
    is_inside.raise();
    may_leave.await();
    this->lock_.unlock_shared();
  }};
  is_inside.await();
  this->lock_.lock_shared();
  this->lock_.unlock_shared();
  EXPECT_FALSE(this->lock_.try_lock()) << "the other thread still shares it";
  EXPECT_TRUE(waits_for([&] { may_leave.raise(); }, this->locked, this->unlock));
}

TYPED_TEST(ThreadSharedmutexRequirements, p14_unlock_shared_returns_nothing) {
  static_assert(std::is_void_v<decltype(this->lock_.unlock_shared())>);
}

/// A writer after the readers comes after what they did: here, after their reads.
TYPED_TEST(ThreadSharedmutexRequirements, p15_unlock_shared_synchronizes_with_later_locks) {
  constexpr int readers = 2;
  int shared_value = 0;
  int read[readers] = {};
  std::vector<std::jthread> team;
  for (int& mine : read) {
    team.emplace_back([&] {
      this->lock_.lock_shared();
      mine = shared_value + 1;
      this->lock_.unlock_shared();
    });
  }
  for (bool is_over = false; !is_over; std::this_thread::yield()) {
    this->lock_.lock();
    is_over = read[0] != 0 && read[1] != 0;
    if (is_over) shared_value = 7;
    this->lock_.unlock();
  }
  EXPECT_EQ(read[0] + read[1], 2);
}

TYPED_TEST(ThreadSharedmutexRequirements, p16_unlock_shared_throws_nothing) {
  static_assert(noexcept(this->lock_.unlock_shared()));
}

TYPED_TEST(ThreadSharedmutexRequirements, p19_try_lock_shared_fails_without_blocking) {
  this->lock_.lock();
  EXPECT_FALSE(elsewhere([&] { return this->lock_.try_lock_shared(); }));
  this->lock_.unlock();
}

TYPED_TEST(ThreadSharedmutexRequirements, p19_a_failed_try_lock_shared_has_no_effect) {
  this->lock_.lock();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(this->is_shared_elsewhere());
  this->lock_.unlock();
  EXPECT_TRUE(refuses_while_held(this->lock_));
}

TYPED_TEST(ThreadSharedmutexRequirements, p20_try_lock_shared_returns_bool) {
  static_assert(std::same_as<decltype(this->lock_.try_lock_shared()), bool>);
}

TYPED_TEST(ThreadSharedmutexRequirements, p21_try_lock_shared_returns_whether_it_was_obtained) {
  ASSERT_TRUE(this->lock_.try_lock_shared());
  EXPECT_FALSE(tried_elsewhere(this->lock_));
  this->lock_.unlock_shared();
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

TYPED_TEST(ThreadSharedmutexRequirements, p22_prior_unlocks_synchronize_with_try_lock_shared) {
  const auto try_shared = [&] { return this->lock_.try_lock_shared(); };
  EXPECT_TRUE(publishes(this->locked, this->unlock, try_shared, this->unlock_shared));
}

TYPED_TEST(ThreadSharedmutexRequirements, p23_try_lock_shared_throws_nothing) {
  static_assert(noexcept(this->lock_.try_lock_shared()));
}

template <class Lock>
class ThreadSharedmutexClass : public ::testing::Test {};
TYPED_TEST_SUITE(ThreadSharedmutexClass, our_shared_locks, catalog_name);

TYPED_TEST(ThreadSharedmutexClass, p2_is_a_standard_layout_class) {
  static_assert(std::is_standard_layout_v<TypeParam>);
}

}  // namespace
}  // namespace lockyard::testing
