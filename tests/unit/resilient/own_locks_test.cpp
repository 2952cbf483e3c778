// SPDX-License-Identifier: Apache-2.0

// What a thread holds itself: locks that it locks again, any number of them, released in any order.

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "support/resilient.hpp"

namespace lockyard::testing {
namespace {

constexpr std::size_t table_size = 31;

template <class Lock>
class OwnLocks : public ::testing::Test {};
TYPED_TEST_SUITE(OwnLocks, all_locks, form_name);

TYPED_TEST(OwnLocks, refuse_to_be_locked_again_and_stay_held) {
  TypeParam lock;
  EXPECT_TRUE(lock.lock());
  EXPECT_EQ(lock.lock(), lock_errc::deadlock);
  EXPECT_EQ(lock.try_lock_for(std::chrono::hours{1}), lock_errc::deadlock);
  EXPECT_EQ(lock.try_lock_until(std::chrono::steady_clock::now() + std::chrono::hours{1}),
            lock_errc::deadlock);
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(is_free(lock));
  EXPECT_EQ(listed<TypeParam>(), (std::vector<const void*>{&lock}));
  lock.unlock();
  EXPECT_TRUE(listed<TypeParam>().empty());
  EXPECT_TRUE(is_free(lock));
}

TYPED_TEST(OwnLocks, do_not_wait_where_the_time_is_not_positive) {
  TypeParam lock;
  EXPECT_EQ(lock.try_lock_for(nanoseconds{0}), lock_errc::acquired);
  std::thread{[&] {
    EXPECT_EQ(lock.try_lock_for(nanoseconds{0}), lock_errc::timed_out);
    EXPECT_EQ(lock.try_lock_for(std::chrono::hours{-1}), lock_errc::timed_out);
    EXPECT_EQ(lock.try_lock_until(std::chrono::steady_clock::time_point::min()),
              lock_errc::timed_out);
    EXPECT_TRUE(listed<TypeParam>().empty());
  }}.join();
  lock.unlock();
  EXPECT_EQ(lock.try_lock_for(nanoseconds{-1}), lock_errc::acquired);
  lock.unlock();
}

TYPED_TEST(OwnLocks, are_refused_with_a_whole_line_behind_them_which_is_served_afterwards) {
  for (std::size_t waiters = 1; waiters <= 4; ++waiters) {
    const limits_for<TypeParam> limits{patient};
    TypeParam lock;
    std::size_t served = 0;
    ASSERT_TRUE(lock.lock());
    team line;
    for (std::size_t i = 0; i < waiters; ++i) {
      line.enter(lock, [&] {
        ASSERT_TRUE(lock.lock());
        ++served;
        lock.unlock();
      });
    }
    EXPECT_EQ(lock.lock(), lock_errc::deadlock);
    EXPECT_EQ(lock.try_lock_for(std::chrono::hours{1}), lock_errc::deadlock);
    lock.unlock();
    line.join();
    EXPECT_EQ(served, waiters);
    EXPECT_TRUE(is_free(lock));
  }
}

TYPED_TEST(OwnLocks, are_known_as_many_as_a_table_holds) {
  std::array<TypeParam, table_size> locks;
  for (std::size_t held = 1; held <= locks.size(); ++held) {
    ASSERT_TRUE(locks[held - 1].lock());
    for (std::size_t i = 0; i < held; ++i) ASSERT_EQ(locks[i].lock(), lock_errc::deadlock) << i;
  }
  for (auto& lock : locks) lock.unlock();
  EXPECT_TRUE(listed<TypeParam>().empty());
}

TYPED_TEST(OwnLocks, beyond_the_table_end_by_time_out_and_that_is_said_once) {
  const limits_for<TypeParam> limits{short_limits()};
  const reports told;
  std::array<TypeParam, 40> locks;
  std::thread{[&] {
    for (auto& lock : locks) ASSERT_TRUE(lock.lock());
    EXPECT_EQ(told.count(lock_event::table_overflow), 1U);
    for (std::size_t i = 0; i < table_size; ++i) {
      EXPECT_EQ(locks[i].lock(), lock_errc::deadlock) << i;
    }
    for (const std::size_t i : {table_size, locks.size() - 1}) {
      const auto start = std::chrono::steady_clock::now();
      EXPECT_EQ(locks[i].lock(), lock_errc::timed_out) << i;
      EXPECT_GE(std::chrono::steady_clock::now() - start, short_limits().pending);
      EXPECT_EQ(locks[i].try_lock_for(milliseconds{1}), lock_errc::timed_out) << i;
    }
    for (auto& lock : locks) lock.unlock();
    EXPECT_TRUE(listed<TypeParam>().empty());
    // Room again: the same locks are known again.
    ASSERT_TRUE(locks.back().lock());
    EXPECT_EQ(locks.back().lock(), lock_errc::deadlock);
    locks.back().unlock();
  }}.join();
  EXPECT_EQ(told.count(lock_event::table_overflow), 1U);
  EXPECT_EQ(told.count(lock_event::stalled), 2U);
  EXPECT_EQ(told.count(lock_event::not_held), 0U);
  for (auto& lock : locks) EXPECT_TRUE(is_free(lock));
}

TYPED_TEST(OwnLocks, may_be_released_in_another_order) {
  TypeParam first, second, third;
  const auto expect_listed = [](std::vector<const void*> expected) {
    EXPECT_EQ(listed<TypeParam>(), expected);
  };
  ASSERT_TRUE(first.lock() && second.lock() && third.lock());
  expect_listed({&first, &second, &third});
  second.unlock();
  expect_listed({&first, &third});
  EXPECT_TRUE(is_free(second));
  EXPECT_EQ(first.lock(), lock_errc::deadlock);
  EXPECT_EQ(third.lock(), lock_errc::deadlock);
  ASSERT_TRUE(second.lock());
  expect_listed({&first, &third, &second});
  first.unlock();
  expect_listed({&third, &second});
  second.unlock();
  third.unlock();
  expect_listed({});
}

/// Against a list of what is held and what of that is in the table.
TYPED_TEST(OwnLocks, are_what_a_plain_list_says_after_each_of_many_random_steps) {
  constexpr std::size_t steps = 100'000;
  std::array<TypeParam, 36> locks;
  std::thread{[&] {
    std::minstd_rand random{7};
    std::vector<const void*> in_table;
    std::vector<TypeParam*> beyond;
    for (std::size_t step = 0; step < steps; ++step) {
      // More locking in some stretches, more unlocking in others, so that it fills and drains.
      const bool fills = step / 200 % 2 == 0;
      TypeParam& lock = locks[random() % locks.size()];
      const auto listed_at = std::find(in_table.begin(), in_table.end(), &lock);
      const auto beyond_at = std::find(beyond.begin(), beyond.end(), &lock);
      if (listed_at != in_table.end()) {
        ASSERT_EQ(lock.lock(), lock_errc::deadlock) << "step " << step;
      }
      ASSERT_EQ(lock.try_lock(), listed_at == in_table.end() && beyond_at == beyond.end());
      if (listed_at == in_table.end() && beyond_at == beyond.end()) {
        if (!fills && random() % 4 != 0) {
          lock.unlock();
        } else if (in_table.size() < table_size) {
          in_table.push_back(&lock);
        } else {
          beyond.push_back(&lock);
        }
      } else if (!fills || random() % 4 == 0) {
        lock.unlock();
        if (listed_at != in_table.end()) in_table.erase(listed_at);
        if (beyond_at != beyond.end()) beyond.erase(beyond_at);
      }
      ASSERT_EQ(listed<TypeParam>(), in_table) << "step " << step;
    }
    for (TypeParam* lock : beyond) lock->unlock();
    for (auto& lock : locks) {
      if (std::find(in_table.begin(), in_table.end(), &lock) != in_table.end()) lock.unlock();
    }
    EXPECT_TRUE(listed<TypeParam>().empty());
  }}.join();
  for (auto& lock : locks) EXPECT_TRUE(is_free(lock));
}

TYPED_TEST(OwnLocks, keep_their_stall_time_outs_when_told_impossible_ones) {
  const limits_for<TypeParam> limits{{milliseconds{3}, milliseconds{4}}};
  for (const auto wrong : {nanoseconds{0}, nanoseconds{-1}, nanoseconds::min()}) {
    EXPECT_FALSE(TypeParam::set_stall_limits({wrong, milliseconds{7}}));
    EXPECT_FALSE(TypeParam::set_stall_limits({milliseconds{7}, wrong}));
  }
  EXPECT_EQ(TypeParam::current_stall_limits(), (stall_limits{milliseconds{3}, milliseconds{4}}));
}

}  // namespace
}  // namespace lockyard::testing
