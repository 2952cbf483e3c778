// SPDX-License-Identifier: Apache-2.0

// [thread.condition.condvarany] and [thread.condvarany.wait]: condition_variable_any, with each
// lock of the catalogue.

#include <shared_mutex>

#include "standard/waits.hpp"

namespace lockyard::testing {
namespace {

class ThreadConditionCondvarany : public wait_test<waits_with<condition_variable_any, any_lock>>,
                                  public ::testing::WithParamInterface<subject> {};
class ThreadCondvaranyWait : public ThreadConditionCondvarany {};
INSTANTIATE_TEST_SUITE_P(, ThreadConditionCondvarany, ::testing::ValuesIn(our_subjects()), name_of);
INSTANTIATE_TEST_SUITE_P(, ThreadCondvaranyWait, ::testing::ValuesIn(our_subjects()), name_of);

/// A lock is whatever has lock() and unlock(): here the lock itself, not a guard of it.
TEST_P(ThreadConditionCondvarany, p1_waits_with_a_lock_that_is_basic_lockable) {
  std::jthread waiter{[&] {
    lock_.lock();
    ++waiting_;
    changed_.wait(lock_, [&] { return is_over_; });
    EXPECT_FALSE(tried_elsewhere(lock_));
    lock_.unlock();
  }};
  await_waiters(1);
  change([&] { is_over_ = true; });
  changed_.notify_one();
}

/// It may be destroyed once all that wait have been notified, though none has returned.
TEST_P(ThreadConditionCondvarany, p4_may_be_destroyed_when_all_waiters_have_been_notified) {
  mortal<condition_variable_any> mine;
  std::vector<std::jthread> team;
  for (int t = 0; t < 2; ++t) {
    team.emplace_back([&] {
      guard held{lock_};
      ++waiting_;
      mine->wait(held);
      EXPECT_TRUE(is_over_);
    });
  }
  await_waiters(2);
  change([&] {
    is_over_ = true;
    mine->notify_all();
    mine.end();
  });
  team.clear();
  EXPECT_TRUE(mine.is_untouched());
}

TEST_P(ThreadConditionCondvarany, p5_notify_one_unblocks_another_one_each_time) {
  static_assert(noexcept(changed_.notify_one()));
  const auto notify = [&] {
    for (int i = 0; i < 3; ++i) changed_.notify_one();
  };
  expect_all_return(3, [&](auto& held) { changed_.wait(held); }, notify);
}

TEST_P(ThreadConditionCondvarany, p6_notify_all_unblocks_all_that_wait) {
  static_assert(noexcept(changed_.notify_all()));
  expect_all_return(3, [&](auto& held) { changed_.wait(held); }, [&] { changed_.notify_all(); });
}

/// The release of the lock and the begin of the wait are one step, so no notification is lost.
TEST_P(ThreadCondvaranyWait, p1_wait_releases_the_lock_and_blocks_as_one_step) {
  constexpr int rounds = 200;
  int turn = 0;
  const auto play = [&](int first) {
    for (int i = first; i < rounds; i += 2) {
      guard held{lock_};
      while (turn != i) changed_.wait(held);
      ++turn;
      changed_.notify_one();
    }
  };
  std::jthread other{[&] { play(1); }};
  play(0);
  other.join();
  EXPECT_EQ(turn, rounds);
}

TEST_P(ThreadCondvaranyWait, p3_wait_returns_with_the_lock_locked) {
  bool is_released = false;
  std::jthread waiter{[&] {
    guard held{lock_};
    wait_until_over([&] { changed_.wait(held); });
    EXPECT_TRUE(is_released);
    EXPECT_TRUE(is_held_by(held));
  }};
  await_waiters(1);
  change([&] {
    is_over_ = true;
    changed_.notify_one();
    give_others_time();
    is_released = true;
  });
}

TEST(ThreadCondvaranyWaitTypes, p4_wait_throws_nothing) {
  for_each_of_ours([]<class Lock>() {
    static_assert(noexcept(std::declval<condition_variable_any&>().wait(std::declval<Lock&>())));
  });
}

TEST_P(ThreadCondvaranyWait, p5_wait_with_a_predicate_returns_only_when_it_holds) {
  int state = 0;
  std::jthread waiter{[&] {
    guard held{lock_};
    ++waiting_;
    changed_.wait(held, [&] { return state == 2; });
    EXPECT_EQ(state, 2);
  }};
  await_waiters(1);
  for (int i = 0; i < 2; ++i) {
    change([&] { ++state; });
    changed_.notify_all();
    give_others_time();
  }
}

TEST_P(ThreadCondvaranyWait, p6_wait_until_is_ended_by_a_notification) {
  const auto wait = [&](auto& held) {
    EXPECT_EQ(changed_.wait_until(held, steady::now() + never), std::cv_status::no_timeout);
  };
  expect_all_return(2, wait, [&] { changed_.notify_all(); });
}

TEST_P(ThreadCondvaranyWait, p9_wait_until_reports_a_time_out_and_not_before_the_limit) {
  guard held{lock_};
  const auto limit = slow_clock::now() + 1ms;
  while (changed_.wait_until(held, limit) != std::cv_status::timeout) {
  }
  EXPECT_GE(slow_clock::now(), limit);
  EXPECT_TRUE(is_held_by(held));
}

TEST_P(ThreadCondvaranyWait, p12_wait_for_reports_a_time_out_and_not_before_it) {
  guard held{lock_};
  auto start = steady::now();
  while (changed_.wait_for(held, 1ms) != std::cv_status::timeout) start = steady::now();
  EXPECT_GE(steady::now() - start, 1ms);
  EXPECT_TRUE(is_held_by(held));
  EXPECT_EQ(changed_.wait_for(held, -1h), std::cv_status::timeout);
}

TEST_P(ThreadCondvaranyWait, p16_wait_until_with_a_predicate_returns_its_last_answer) {
  guard held{lock_};
  int calls = 0;
  EXPECT_TRUE(changed_.wait_until(held, steady::now() - 1s, [&] { return ++calls == 2; }));
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(changed_.wait_until(held, steady::now() - 1s, [] { return false; }));
  EXPECT_TRUE(changed_.wait_until(held, steady::now() - 1s, [] { return true; }));
}

TEST_P(ThreadCondvaranyWait, p19_wait_for_with_a_predicate_returns_its_last_answer) {
  guard held{lock_};
  const auto start = steady::now();
  EXPECT_FALSE(changed_.wait_for(held, 1ms, [] { return false; }));
  EXPECT_GE(steady::now() - start, 1ms);
  EXPECT_TRUE(changed_.wait_for(held, never, [] { return true; }));
  EXPECT_TRUE(is_held_by(held));
}

template <class Lock>
class ThreadConditionCondvaranyShared : public ::testing::Test {};
TYPED_TEST_SUITE(ThreadConditionCondvaranyShared, our_shared_locks, catalog_name);

/// A std::shared_lock is basic lockable too: readers wait while they share the lock, and a writer
/// gets it alone once all of them wait.
TYPED_TEST(ThreadConditionCondvaranyShared, p1_readers_wait_with_a_shared_lock) {
  TypeParam lock;
  condition_variable_any changed;
  std::atomic<int> waiting{0};
  bool is_over = false;
  std::vector<std::jthread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      std::shared_lock held{lock};
      ++waiting;
      changed.wait(held, [&] { return is_over; });
      EXPECT_TRUE(held.owns_lock());
      EXPECT_FALSE(tried_elsewhere(lock));
    });
  }
  while (waiting != 3) std::this_thread::yield();
  {
    const std::lock_guard alone{lock};
    is_over = true;
  }
  changed.notify_all();
}

TEST(ThreadConditionCondvaranyClass, p2_differs_the_constructor_throws_nothing) {
  static constinit condition_variable_any made;
  static_assert(std::is_nothrow_default_constructible_v<condition_variable_any>);
  static_assert(!std::is_copy_constructible_v<condition_variable_any>);
  static_assert(!std::is_copy_assignable_v<condition_variable_any>);
  made.notify_all();
}

}  // namespace
}  // namespace lockyard::testing
