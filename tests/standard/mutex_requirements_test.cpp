// SPDX-License-Identifier: Apache-2.0

// [thread.mutex.requirements.mutex]: what every mutex promises.

#include <concepts>
#include <system_error>
#include <vector>

#include "standard/rules.hpp"

namespace lockyard::testing {
namespace {

class ThreadMutexRequirementsMutex : public ::testing::TestWithParam<subject> {
 protected:
  std::function<void()> lock = [this] { lock_.lock(); };
  std::function<bool()> locked = [this] { return lock_.lock(), true; };
  std::function<bool()> try_lock = [this] { return lock_.try_lock(); };
  std::function<void()> unlock = [this] { lock_.unlock(); };

  any_lock lock_;
};
INSTANTIATE_TEST_SUITE_P(, ThreadMutexRequirementsMutex, ::testing::ValuesIn(our_subjects()),
                         name_of);

TEST(ThreadMutexRequirementsMutexTypes, p2_a_mutex_is_lockable) {
  for_each_of_ours([]<class Lock>() { static_assert(lockable<Lock>); });
}

TEST(ThreadMutexRequirementsMutexTypes, p3_a_mutex_is_default_constructible_and_destructible) {
  for_each_of_ours([]<class Lock>() {
    static_assert(std::default_initializable<Lock> && std::destructible<Lock>);
  });
}

TEST(ThreadMutexRequirementsMutexTypes, p3_a_mutex_is_neither_copied_nor_moved) {
  for_each_of_ours([]<class Lock>() {
    static_assert(!std::is_copy_constructible_v<Lock>);
    static_assert(!std::is_copy_assignable_v<Lock>);
    static_assert(!std::is_move_constructible_v<Lock>);
    static_assert(!std::is_move_assignable_v<Lock>);
  });
}

/// The operations on one mutex happen one after the other, so a history that is written under it
/// has an entry for each, and the entries of one thread are in their order.
TEST_P(ThreadMutexRequirementsMutex, p5_lock_and_unlock_happen_in_one_total_order) {
  constexpr int rounds = 500;
  std::vector<int> history;
  const auto write = [&](int first) {
    for (int i = 0; i < rounds; ++i) {
      lock_.lock();
      history.push_back(first + i);
      lock_.unlock();
    }
  };
  std::jthread other{[&] { write(rounds); }};
  write(0);
  other.join();
  ASSERT_EQ(history.size(), 2U * rounds);
  int next[2] = {0, rounds};
  for (const int each : history) EXPECT_EQ(each, next[each / rounds]++);
}

/// lock() blocks the calling thread until it can own the mutex.
TEST_P(ThreadMutexRequirementsMutex, p8_lock_blocks_until_ownership_can_be_obtained) {
  lock_.lock();
  EXPECT_TRUE(waits_for(unlock, locked, unlock));
}

TEST_P(ThreadMutexRequirementsMutex, p9_the_thread_owns_the_mutex_after_lock) {
  lock_.lock();
  EXPECT_FALSE(tried_elsewhere(lock_));
  lock_.unlock();
}

TEST(ThreadMutexRequirementsMutexTypes, p10_lock_returns_nothing) {
  for_each_of_ours(
      []<class Lock>() { static_assert(std::is_void_v<decltype(std::declval<Lock&>().lock())>); });
}

/// Writes before an unlock() are visible after a later lock().
TEST_P(ThreadMutexRequirementsMutex, p11_prior_unlocks_synchronize_with_lock) {
  EXPECT_TRUE(publishes(locked, unlock, locked, unlock));
}

/// The standard lets lock() throw where the system fails. Here only a lock that recovers does.
TEST(ThreadMutexRequirementsMutexTypes, p12_differs_lock_throws_only_if_the_lock_recovers) {
  for_each_of_ours([]<class Lock>() {
    static_assert(noexcept(std::declval<Lock&>().lock()) == !traits_of<Lock>().recovering);
  });
}

/// try_lock() returns although the owner keeps the mutex.
TEST_P(ThreadMutexRequirementsMutex, p16_try_lock_fails_without_blocking_while_it_is_owned) {
  lock_.lock();
  EXPECT_FALSE(elsewhere(try_lock));
  lock_.unlock();
}

/// Whatever number of attempts fails, the owner still excludes others, and one unlock frees the
/// mutex.
TEST_P(ThreadMutexRequirementsMutex, p16_a_failed_try_lock_has_no_effect) {
  lock_.lock();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(elsewhere(try_lock));
  EXPECT_FALSE(tried_elsewhere(lock_));
  lock_.unlock();
  EXPECT_TRUE(refuses_while_held(lock_));
}

/// The standard permits a failure although the mutex is free. The locks document that there is
/// none without other threads.
TEST_P(ThreadMutexRequirementsMutex, p16_differs_try_lock_never_fails_on_a_free_mutex) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(lock_.try_lock());
    lock_.unlock();
  }
}

TEST(ThreadMutexRequirementsMutexTypes, p17_try_lock_returns_bool) {
  for_each_of_ours([]<class Lock>() {
    static_assert(std::same_as<decltype(std::declval<Lock&>().try_lock()), bool>);
  });
}

TEST_P(ThreadMutexRequirementsMutex, p18_try_lock_returns_whether_ownership_was_obtained) {
  ASSERT_TRUE(lock_.try_lock());
  EXPECT_FALSE(tried_elsewhere(lock_));
  lock_.unlock();
  EXPECT_TRUE(tried_elsewhere(lock_));
}

TEST_P(ThreadMutexRequirementsMutex, p19_prior_unlocks_synchronize_with_a_true_try_lock) {
  EXPECT_TRUE(publishes(try_lock, unlock, try_lock, unlock));
}

TEST(ThreadMutexRequirementsMutexTypes, p20_try_lock_throws_nothing) {
  for_each_of_ours([]<class Lock>() { static_assert(noexcept(std::declval<Lock&>().try_lock())); });
}

/// After unlock() the mutex is free for any thread, the one that has released it included.
TEST_P(ThreadMutexRequirementsMutex, p23_unlock_releases_ownership) {
  for (int i = 0; i < 3; ++i) {
    lock_.lock();
    lock_.unlock();
    EXPECT_TRUE(tried_elsewhere(lock_));
  }
}

/// Each release lets one of those that wait go on, until all have owned the mutex.
TEST_P(ThreadMutexRequirementsMutex, p23_unlock_lets_every_blocked_thread_own_it_in_the_end) {
  constexpr int threads = 3;
  std::atomic<int> begun{0};
  int owned = 0;
  lock_.lock();
  std::vector<std::jthread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&] {
      ++begun;
      lock_.lock();
      ++owned;
      lock_.unlock();
    });
  }
  while (begun != threads) std::this_thread::yield();
  give_others_time();
  EXPECT_EQ(owned, 0);
  lock_.unlock();
  team.clear();
  EXPECT_EQ(owned, threads);
}

TEST(ThreadMutexRequirementsMutexTypes, p24_unlock_returns_nothing) {
  for_each_of_ours([]<class Lock>() {
    static_assert(std::is_void_v<decltype(std::declval<Lock&>().unlock())>);
  });
}

/// The release is seen by the next owner, however that one acquires the mutex.
TEST_P(ThreadMutexRequirementsMutex, p25_unlock_synchronizes_with_later_acquisitions) {
  EXPECT_TRUE(publishes(try_lock, unlock, locked, unlock));
  EXPECT_TRUE(publishes(locked, unlock, try_lock, unlock));
}

TEST(ThreadMutexRequirementsMutexTypes, p26_unlock_throws_nothing) {
  for_each_of_ours([]<class Lock>() { static_assert(noexcept(std::declval<Lock&>().unlock())); });
}

template <class Lock>
class ThreadMutexRequirementsMutexErrors : public ::testing::Test {};
TYPED_TEST_SUITE(ThreadMutexRequirementsMutexErrors, our_recovering_locks, catalog_name);

/// A lock that detects a deadlock says so by the condition resource_deadlock_would_occur.
TYPED_TEST(ThreadMutexRequirementsMutexErrors, p13_lock_reports_the_deadlock_that_it_detects) {
  TypeParam locks[2];
  flag holds[2];
  std::error_code errors[2];
  const auto part = [&](int own) {
    locks[own].lock();
    holds[own].raise();
    holds[1 - own].await();
    try {
      locks[1 - own].lock();
      locks[1 - own].unlock();
    } catch (const std::system_error& error) {
      errors[own] = error.code();
    }
    locks[own].unlock();
  };
  std::jthread other{[&] { part(1); }};
  part(0);
  other.join();
  EXPECT_TRUE(errors[0] || errors[1]);
  for (const auto& error : errors) {
    EXPECT_TRUE(!error || error == std::errc::resource_deadlock_would_occur) << error.message();
  }
}

}  // namespace
}  // namespace lockyard::testing
