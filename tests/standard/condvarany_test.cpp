// SPDX-License-Identifier: Apache-2.0

// [thread.condition.condvarany] and [thread.condvarany.wait]: condition_variable_any, with each
// lock of the catalogue.

#include <shared_mutex>

#include "standard/waits.hpp"

namespace lockyard::testing {
namespace {

template <class Wait>
class ThreadConditionCondvarany : public wait_test<Wait> {};
template <class Wait>
class ThreadCondvaranyWait : public wait_test<Wait> {};
TYPED_TEST_SUITE(ThreadConditionCondvarany, any_waits, wait_name);
TYPED_TEST_SUITE(ThreadCondvaranyWait, any_waits, wait_name);

/// A lock is whatever has lock() and unlock(): here the lock itself, not a guard of it.
TYPED_TEST(ThreadConditionCondvarany, p1_waits_with_a_lock_that_is_basic_lockable) {
  std::jthread waiter{[&] {
    this->lock_.lock();
    ++this->waiting_;
    this->changed_.wait(this->lock_, [&] { return this->is_over_; });
    EXPECT_FALSE(tried_elsewhere(this->lock_));
    this->lock_.unlock();
  }};
  this->await_waiters(1);
  this->change([&] { this->is_over_ = true; });
  this->changed_.notify_one();
}

/// It may be destroyed once all that wait have been notified, though none has returned.
TYPED_TEST(ThreadConditionCondvarany, p4_may_be_destroyed_when_all_waiters_have_been_notified) {
  mortal<condition_variable_any> mine;
  std::vector<std::jthread> team;
  for (int t = 0; t < 2; ++t) {
    team.emplace_back([&] {
      typename TestFixture::guard held{this->lock_};
      ++this->waiting_;
      mine->wait(held);
      EXPECT_TRUE(this->is_over_);
    });
  }
  this->await_waiters(2);
  this->change([&] {
    this->is_over_ = true;
    mine->notify_all();
    mine.end();
  });
  team.clear();
  EXPECT_TRUE(mine.is_untouched());
}

TYPED_TEST(ThreadConditionCondvarany, p5_notify_one_unblocks_another_one_each_time) {
  static_assert(noexcept(this->changed_.notify_one()));
  const auto notify = [&] {
    for (int i = 0; i < 3; ++i) this->changed_.notify_one();
  };
  this->expect_all_return(3, [&](auto& held) { this->changed_.wait(held); }, notify);
}

TYPED_TEST(ThreadConditionCondvarany, p6_notify_all_unblocks_all_that_wait) {
  static_assert(noexcept(this->changed_.notify_all()));
  this->expect_all_return(
      3, [&](auto& held) { this->changed_.wait(held); }, [&] { this->changed_.notify_all(); });
}

/// The release of the lock and the begin of the wait are one step, so no notification is lost.
TYPED_TEST(ThreadCondvaranyWait, p1_wait_releases_the_lock_and_blocks_as_one_step) {
  constexpr int rounds = 200;
  int turn = 0;
  const auto play = [&](int first) {
    for (int i = first; i < rounds; i += 2) {
      typename TestFixture::guard held{this->lock_};
      while (turn != i) this->changed_.wait(held);
      ++turn;
      this->changed_.notify_one();
    }
  };
  std::jthread other{[&] { play(1); }};
  play(0);
  other.join();
  EXPECT_EQ(turn, rounds);
}

TYPED_TEST(ThreadCondvaranyWait, p3_wait_returns_with_the_lock_locked) {
  bool is_released = false;
  std::jthread waiter{[&] {
    typename TestFixture::guard held{this->lock_};
    this->wait_until_over([&] { this->changed_.wait(held); });
    EXPECT_TRUE(is_released);
    EXPECT_TRUE(this->is_held_by(held));
  }};
  this->await_waiters(1);
  this->change([&] {
    this->is_over_ = true;
    this->changed_.notify_one();
    give_others_time();
    is_released = true;
  });
}

TYPED_TEST(ThreadCondvaranyWait, p4_wait_throws_nothing) {
  static_assert(noexcept(this->changed_.wait(this->lock_)));
}

TYPED_TEST(ThreadCondvaranyWait, p5_wait_with_a_predicate_returns_only_when_it_holds) {
  int state = 0;
  std::jthread waiter{[&] {
    typename TestFixture::guard held{this->lock_};
    ++this->waiting_;
    this->changed_.wait(held, [&] { return state == 2; });
    EXPECT_EQ(state, 2);
  }};
  this->await_waiters(1);
  for (int i = 0; i < 2; ++i) {
    this->change([&] { ++state; });
    this->changed_.notify_all();
    give_others_time();
  }
}

TYPED_TEST(ThreadCondvaranyWait, p6_wait_until_is_ended_by_a_notification) {
  const auto wait = [&](auto& held) {
    EXPECT_EQ(this->changed_.wait_until(held, steady::now() + never), std::cv_status::no_timeout);
  };
  this->expect_all_return(2, wait, [&] { this->changed_.notify_all(); });
}

TYPED_TEST(ThreadCondvaranyWait, p9_wait_until_reports_a_time_out_and_not_before_the_limit) {
  typename TestFixture::guard held{this->lock_};
  const auto limit = slow_clock::now() + 1ms;
  while (this->changed_.wait_until(held, limit) != std::cv_status::timeout) {
  }
  EXPECT_GE(slow_clock::now(), limit);
  EXPECT_TRUE(this->is_held_by(held));
}

TYPED_TEST(ThreadCondvaranyWait, p12_wait_for_reports_a_time_out_and_not_before_it) {
  typename TestFixture::guard held{this->lock_};
  auto start = steady::now();
  while (this->changed_.wait_for(held, 1ms) != std::cv_status::timeout) start = steady::now();
  EXPECT_GE(steady::now() - start, 1ms);
  EXPECT_TRUE(this->is_held_by(held));
  EXPECT_EQ(this->changed_.wait_for(held, -1h), std::cv_status::timeout);
}

TYPED_TEST(ThreadCondvaranyWait, p16_wait_until_with_a_predicate_returns_its_last_answer) {
  typename TestFixture::guard held{this->lock_};
  int calls = 0;
  EXPECT_TRUE(this->changed_.wait_until(held, steady::now() - 1s, [&] { return ++calls == 2; }));
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(this->changed_.wait_until(held, steady::now() - 1s, [] { return false; }));
  EXPECT_TRUE(this->changed_.wait_until(held, steady::now() - 1s, [] { return true; }));
}

TYPED_TEST(ThreadCondvaranyWait, p19_wait_for_with_a_predicate_returns_its_last_answer) {
  typename TestFixture::guard held{this->lock_};
  const auto start = steady::now();
  EXPECT_FALSE(this->changed_.wait_for(held, 1ms, [] { return false; }));
  EXPECT_GE(steady::now() - start, 1ms);
  EXPECT_TRUE(this->changed_.wait_for(held, never, [] { return true; }));
  EXPECT_TRUE(this->is_held_by(held));
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
