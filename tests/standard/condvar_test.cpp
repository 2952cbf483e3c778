// SPDX-License-Identifier: Apache-2.0

// [thread.condition] and [thread.condition.condvar]: the condition variable of `mutex`.

#include <concepts>
#include <cstddef>
#include <stdexcept>

#include "standard/waits.hpp"

namespace lockyard::testing {
namespace {

using ThreadCondition = wait_test<waits_with<condition_variable, mutex>>;
using ThreadConditionCondvar = ThreadCondition;

/// The release of the mutex and the begin of the wait are one step: what happens under the mutex
/// after it finds the thread waiting. A notification between the two would be lost, and this hang.
TEST_F(ThreadCondition, p3_the_release_and_the_begin_of_the_wait_are_one_step) {
  constexpr int rounds = 2000;
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

TEST_F(ThreadConditionCondvar, p1_is_a_standard_layout_class) {
  static_assert(std::is_standard_layout_v<condition_variable>);
}

TEST_F(ThreadConditionCondvar, p1_is_neither_copied_nor_moved) {
  static_assert(std::default_initializable<condition_variable>);
  static_assert(!std::is_copy_constructible_v<condition_variable>);
  static_assert(!std::is_copy_assignable_v<condition_variable>);
}

/// The standard lets the constructor throw. Here it is constexpr, and noexcept.
TEST_F(ThreadConditionCondvar, p2_differs_the_constructor_throws_nothing) {
  static constinit condition_variable made;
  static_assert(std::is_nothrow_default_constructible_v<condition_variable>);
  made.notify_all();
}

/// It may be destroyed once all that wait have been notified, though none has returned.
TEST_F(ThreadConditionCondvar, p4_may_be_destroyed_when_all_waiters_have_been_notified) {
  for (const int threads : {1, 3}) {
    mortal<condition_variable> mine;
    bool is_over = false;
    std::vector<std::jthread> team;
    for (int t = 0; t < threads; ++t) {
      team.emplace_back([&] {
        guard held{lock_};
        ++waiting_;
        mine->wait(held);
        EXPECT_TRUE(is_over);
        --waiting_;
      });
    }
    await_waiters(threads);
    change([&] {
      is_over = true;
      mine->notify_all();
      mine.end();
    });
    team.clear();
    EXPECT_TRUE(mine.is_untouched());
  }
}

TEST_F(ThreadConditionCondvar, p5_notify_one_unblocks_a_thread_that_waits) {
  static_assert(noexcept(changed_.notify_one()));
  expect_all_return(1, [&](guard& held) { changed_.wait(held); }, [&] { changed_.notify_one(); });
}

/// Each notification ends a wait: as many as there are waiters end all.
TEST_F(ThreadConditionCondvar, p5_notify_one_unblocks_another_one_each_time) {
  const auto notify = [&] {
    for (int i = 0; i < 4; ++i) changed_.notify_one();
  };
  expect_all_return(4, [&](guard& held) { changed_.wait(held); }, notify);
}

/// The standard leaves open which one. Here it is the one that has waited for longest.
TEST_F(ThreadConditionCondvar, p5_differs_notify_one_unblocks_the_one_that_waits_for_longest) {
  std::vector<int> order;
  int tokens = 0;
  std::vector<std::jthread> team;
  for (int t = 0; t < 3; ++t) {
    team.emplace_back([&, t] {
      guard held{lock_};
      ++waiting_;
      while (tokens == 0) changed_.wait(held);
      --tokens;
      order.push_back(t);
    });
    await_waiters(t + 1);
  }
  for (std::size_t i = 1; i <= 3; ++i) {
    change([&] {
      ++tokens;
      changed_.notify_one();
    });
    const auto is_taken = [&] {
      const guard held{lock_};
      return order.size() == i;
    };
    while (!is_taken()) std::this_thread::yield();
  }
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

/// A notification is for threads that wait; none is kept for later ones.
TEST_F(ThreadConditionCondvar, p5_notifications_without_a_waiter_are_not_kept) {
  changed_.notify_one();
  changed_.notify_all();
  guard held{lock_};
  EXPECT_FALSE(changed_.wait_for(held, 1ms, [] { return false; }));
}

TEST_F(ThreadConditionCondvar, p6_notify_all_unblocks_all_that_wait) {
  static_assert(noexcept(changed_.notify_all()));
  expect_all_return(6, [&](guard& held) { changed_.wait(held); }, [&] { changed_.notify_all(); });
}

TEST_F(ThreadConditionCondvar, p6_notify_all_under_the_mutex_unblocks_all_that_wait) {
  const auto notify = [&] { change([&] { changed_.notify_all(); }); };
  expect_all_return(6, [&](guard& held) { changed_.wait(held); }, notify);
}

/// wait() returns with the mutex, so not before the notifier has released it.
TEST_F(ThreadConditionCondvar, p8_wait_locks_the_mutex_before_it_returns) {
  bool is_released = false;
  std::jthread waiter{[&] {
    guard held{lock_};
    wait_until_over([&] { changed_.wait(held); });
    EXPECT_TRUE(is_released);
  }};
  await_waiters(1);
  change([&] {
    is_over_ = true;
    changed_.notify_one();
    give_others_time();
    is_released = true;
  });
}

TEST_F(ThreadConditionCondvar, p10_wait_returns_with_the_mutex_locked) {
  std::jthread waiter{[&] {
    guard held{lock_};
    wait_until_over([&] { changed_.wait(held); });
    EXPECT_TRUE(is_held_by(held));
  }};
  await_waiters(1);
  change([&] { is_over_ = true; });
  changed_.notify_one();
}

/// The library's waits take the mutex itself as well.
TEST_F(ThreadConditionCondvar, p11_wait_throws_nothing) {
  static_assert(noexcept(changed_.wait(lock_)));
  static_assert(std::is_void_v<decltype(changed_.wait(lock_))>);
}

TEST_F(ThreadConditionCondvar, p13_wait_with_a_predicate_does_not_wait_if_it_holds) {
  guard held{lock_};
  int calls = 0;
  changed_.wait(held, [&] { return ++calls == 1; });
  EXPECT_EQ(calls, 1);
}

/// A notification that comes too early does not end the wait; the predicate decides.
TEST_F(ThreadConditionCondvar, p13_wait_with_a_predicate_returns_only_when_it_holds) {
  int state = 0;
  std::jthread waiter{[&] {
    guard held{lock_};
    ++waiting_;
    changed_.wait(held, [&] { return state == 3; });
    EXPECT_EQ(state, 3);
    EXPECT_TRUE(is_held_by(held));
  }};
  await_waiters(1);
  for (int i = 0; i < 3; ++i) {
    change([&] { ++state; });
    changed_.notify_all();
    give_others_time();
  }
}

TEST_F(ThreadConditionCondvar, p16_an_exception_of_the_predicate_leaves_the_mutex_locked) {
  guard held{lock_};
  const auto fails = []() -> bool { throw std::runtime_error{"injected"}; };
  EXPECT_THROW(changed_.wait(held, fails), std::runtime_error);
  EXPECT_TRUE(is_held_by(held));
  EXPECT_THROW(changed_.wait_for(held, 1s, fails), std::runtime_error);
  EXPECT_THROW(changed_.wait_until(held, steady::now(), fails), std::runtime_error);
  EXPECT_TRUE(is_held_by(held));
}

TEST_F(ThreadConditionCondvar, p18_wait_until_is_ended_by_a_notification) {
  const auto wait = [&](guard& held) {
    EXPECT_EQ(changed_.wait_until(held, steady::now() + never), std::cv_status::no_timeout);
  };
  expect_all_return(3, wait, [&] { changed_.notify_all(); });
}

TEST_F(ThreadConditionCondvar, p18_wait_until_releases_the_mutex_while_it_waits) {
  flag has_locked;
  guard held{lock_};
  std::jthread other{[&] {
    const guard taken{lock_};
    has_locked.raise();
  }};
  while (changed_.wait_until(held, steady::now() + 100us) != std::cv_status::timeout ||
         !has_locked.is_up()) {
  }
  EXPECT_TRUE(is_held_by(held));
}

TEST_F(ThreadConditionCondvar, p21_wait_until_reports_a_time_out_and_not_before_the_limit) {
  guard held{lock_};
  const auto limit = steady::now() + 2ms;
  while (changed_.wait_until(held, limit) != std::cv_status::timeout) {
  }
  EXPECT_GE(steady::now(), limit);
  EXPECT_TRUE(is_held_by(held));
  EXPECT_EQ(changed_.wait_until(held, limit), std::cv_status::timeout);
}

TEST_F(ThreadConditionCondvar, p24_wait_for_is_ended_by_a_notification) {
  const auto wait = [&](guard& held) {
    EXPECT_EQ(changed_.wait_for(held, never), std::cv_status::no_timeout);
  };
  expect_all_return(3, wait, [&] { changed_.notify_all(); });
}

TEST_F(ThreadConditionCondvar, p25_wait_for_reports_a_time_out_and_not_before_it) {
  guard held{lock_};
  auto start = steady::now();
  while (changed_.wait_for(held, 2ms) != std::cv_status::timeout) start = steady::now();
  EXPECT_GE(steady::now() - start, 2ms);
  EXPECT_TRUE(is_held_by(held));
  EXPECT_EQ(changed_.wait_for(held, 0s), std::cv_status::timeout);
  EXPECT_EQ(changed_.wait_for(held, -1h), std::cv_status::timeout);
}

/// The predicate is evaluated again at the limit, and its value is returned.
TEST_F(ThreadConditionCondvar, p30_wait_until_with_a_predicate_returns_its_last_answer) {
  guard held{lock_};
  int calls = 0;
  EXPECT_TRUE(changed_.wait_until(held, steady::now() - 1s, [&] { return ++calls == 2; }));
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(changed_.wait_until(held, steady::now() + 1ms, [] { return false; }));
  EXPECT_TRUE(changed_.wait_until(held, steady::now() - 1s, [] { return true; }));
  EXPECT_TRUE(is_held_by(held));
}

TEST_F(ThreadConditionCondvar, p30_wait_until_with_a_predicate_is_ended_by_a_notification) {
  const auto wait = [&](guard& held) {
    EXPECT_TRUE(changed_.wait_until(held, steady::now() + never, [&] { return is_over_; }));
  };
  expect_all_return(3, wait, [&] { changed_.notify_all(); });
}

TEST_F(ThreadConditionCondvar, p36_wait_for_with_a_predicate_returns_its_last_answer) {
  guard held{lock_};
  int calls = 0;
  EXPECT_TRUE(changed_.wait_for(held, -1s, [&] { return ++calls == 2; }));
  EXPECT_EQ(calls, 2);
  const auto start = steady::now();
  EXPECT_FALSE(changed_.wait_for(held, 2ms, [] { return false; }));
  EXPECT_GE(steady::now() - start, 2ms);
  EXPECT_TRUE(is_held_by(held));
}

TEST_F(ThreadConditionCondvar, p36_wait_for_with_a_predicate_is_ended_by_a_notification) {
  const auto wait = [&](guard& held) {
    EXPECT_TRUE(changed_.wait_for(held, never, [&] { return is_over_; }));
  };
  expect_all_return(3, wait, [&] { changed_.notify_all(); });
}

}  // namespace
}  // namespace lockyard::testing
