// SPDX-License-Identifier: Apache-2.0

// Cycles of threads that wait for each other, with others in line who are in no cycle.

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <vector>

#include "support/resilient.hpp"

namespace lockyard::testing {
namespace {

template <class Lock>
class Cycles : public ::testing::Test {};
TYPED_TEST_SUITE(Cycles, all_locks, form_name);

/// Thread i holds lock i and wants the next one. Before they do, `innocents` who hold nothing
/// wait in the queue of lock i: none puts the thread of the cycle in the pending place, one makes
/// it the head of the queue, two or more leave it behind another's node.
template <class Lock>
void expect_cycle_to_end(const std::vector<std::size_t>& innocents) {
  const limits_for<Lock> limits{patient};
  const std::size_t length = innocents.size();
  std::vector<Lock> locks(length);
  std::vector<lock_errc> how(length, lock_errc::acquired);
  std::atomic<std::size_t> served{0};
  std::size_t to_be_served = 0;
  std::barrier all_hold{static_cast<std::ptrdiff_t>(length) + 1};
  std::barrier all_want{static_cast<std::ptrdiff_t>(length) + 1};
  team threads;
  for (std::size_t i = 0; i < length; ++i) {
    threads.start([&, i] {
      ASSERT_TRUE(locks[i].lock());
      all_hold.arrive_and_wait();
      all_want.arrive_and_wait();
      Lock& next = locks[(i + 1) % length];
      how[i] = next.lock().code();
      if (how[i] == lock_errc::acquired) next.unlock();
      locks[i].unlock();
      EXPECT_TRUE(listed<Lock>().empty());
    });
  }
  all_hold.arrive_and_wait();
  team others;
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t n = 0; n < innocents[i]; ++n, ++to_be_served) {
      others.enter(locks[i], [&, i] {
        ASSERT_EQ(locks[i].lock(), lock_errc::acquired);
        ++served;
        locks[i].unlock();
      });
    }
  }
  all_want.arrive_and_wait();
  threads.join();
  others.join();
  EXPECT_EQ(served, to_be_served);
  const auto victims = std::count(how.begin(), how.end(), lock_errc::deadlock);
  EXPECT_GE(victims, 1);
  EXPECT_EQ(victims + std::count(how.begin(), how.end(), lock_errc::acquired),
            static_cast<std::ptrdiff_t>(length));
  for (auto& lock : locks) EXPECT_TRUE(is_free(lock));
}

TYPED_TEST(Cycles, of_two_end_with_each_of_them_at_any_place_in_line) {
  for (std::size_t first = 0; first <= 3; ++first) {
    for (std::size_t second = 0; second <= 3; ++second) {
      SCOPED_TRACE(::testing::Message() << first << " and " << second << " innocents");
      expect_cycle_to_end<TypeParam>({first, second});
    }
  }
}

TYPED_TEST(Cycles, of_up_to_eight_end) {
  for (std::size_t length = 3; length <= 8; ++length) {
    SCOPED_TRACE(::testing::Message() << length << " threads");
    expect_cycle_to_end<TypeParam>(std::vector<std::size_t>(length, 0));
    expect_cycle_to_end<TypeParam>(std::vector<std::size_t>(length, 2));
  }
}

TYPED_TEST(Cycles, of_as_many_as_a_walk_remembers_end) {
  expect_cycle_to_end<TypeParam>(std::vector<std::size_t>(32, 0));
}

/// And one more ends by time-out.
TYPED_TEST(Cycles, of_more_end_by_time_out) {
  const limits_for<TypeParam> limits{short_limits()};
  constexpr std::size_t length = 33;
  std::vector<TypeParam> locks(length);
  std::vector<lock_errc> how(length);
  std::barrier all_hold{length};
  {
    team threads;
    for (std::size_t i = 0; i < length; ++i) {
      threads.start([&, i] {
        ASSERT_TRUE(locks[i].lock());
        all_hold.arrive_and_wait();
        TypeParam& next = locks[(i + 1) % length];
        how[i] = next.lock().code();
        if (how[i] == lock_errc::acquired) next.unlock();
        locks[i].unlock();
      });
    }
  }
  EXPECT_GE(std::count(how.begin(), how.end(), lock_errc::timed_out), 1);
  EXPECT_EQ(std::count(how.begin(), how.end(), lock_errc::deadlock), 0);
}

/// The one in the pending place is in no cycle, and the head of the queue behind it has no thread
/// behind itself.
TYPED_TEST(Cycles, let_a_lone_head_leave_that_nobody_stands_behind) {
  const limits_for<TypeParam> limits{patient};
  TypeParam first, second;
  lock_errc how = lock_errc::acquired;
  ASSERT_TRUE(first.lock());
  std::atomic<bool> holds{false};
  std::atomic<bool> may_go_on{false};
  bool served = false;
  team threads;
  threads.start([&] {
    ASSERT_TRUE(second.lock());
    holds = true;
    await([&] { return may_go_on.load(); });
    how = first.lock().code();
    if (how == lock_errc::acquired) first.unlock();
    second.unlock();
  });
  await([&] { return holds.load(); });
  threads.enter(second, [&] {
    ASSERT_TRUE(second.lock());
    served = true;
    second.unlock();
  });
  may_go_on = true;
  await_waiters(first, 1);
  const lock_result mine = second.lock();
  if (mine) second.unlock();
  first.unlock();
  threads.join();
  EXPECT_TRUE(mine == lock_errc::deadlock || how == lock_errc::deadlock);
  EXPECT_TRUE(served);
  EXPECT_TRUE(is_free(first) && is_free(second));
}

/// One side of it has more locks than its table holds, so no thread sees that it holds this one.
TYPED_TEST(Cycles, through_a_lock_beyond_the_table_end_by_time_out) {
  const limits_for<TypeParam> limits{short_limits()};
  std::vector<TypeParam> many(31);
  TypeParam beyond, other;
  std::barrier both_hold{2};
  lock_errc first = lock_errc::acquired, second = lock_errc::acquired;
  const auto want = [](TypeParam& lock) {
    const lock_result how = lock.lock();
    if (how) lock.unlock();
    return how.code();
  };
  team threads;
  threads.start([&] {
    for (auto& lock : many) ASSERT_TRUE(lock.lock());
    ASSERT_TRUE(beyond.lock());
    both_hold.arrive_and_wait();
    first = want(other);
    beyond.unlock();
    for (auto& lock : many) lock.unlock();
  });
  threads.start([&] {
    ASSERT_TRUE(other.lock());
    both_hold.arrive_and_wait();
    second = want(beyond);
    other.unlock();
  });
  threads.join();
  EXPECT_NE(first, lock_errc::deadlock);
  EXPECT_NE(second, lock_errc::deadlock);
  EXPECT_TRUE(first == lock_errc::timed_out || second == lock_errc::timed_out);
  EXPECT_TRUE(is_free(beyond) && is_free(other));
}

}  // namespace
}  // namespace lockyard::testing
