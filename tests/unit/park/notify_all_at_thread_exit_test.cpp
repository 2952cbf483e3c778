// SPDX-License-Identifier: Apache-2.0
#include <lockyard/park/condition_variable.hpp>
#include <lockyard/park/condition_variable_any.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/park/notify_all_at_thread_exit.hpp>
#include <lockyard/spin/ttas_spinlock.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "support/exclusion.hpp"

namespace lockyard::testing {
namespace {

/// Calls something when its thread's thread_local objects are destroyed.
struct at_destruction {
  std::function<void()> call;
  at_destruction() = default;
  ~at_destruction() {
    if (call) call();
  }
};
thread_local at_destruction made_early;
thread_local at_destruction made_late;

template <class Pair>
class NotifyAllAtThreadExit : public ::testing::Test {
 protected:
  typename Pair::first_type changed_;
  typename Pair::second_type lock_;
  bool is_over_ = false;
};
using pairs =
    ::testing::Types<std::pair<condition_variable, mutex>, std::pair<condition_variable_any, mutex>,
                     std::pair<condition_variable_any, ttas_spinlock>>;
TYPED_TEST_SUITE(NotifyAllAtThreadExit, pairs);

TYPED_TEST(NotifyAllAtThreadExit, releases_the_lock_after_the_thread_local_objects_are_destroyed) {
  int destroyed = 0;
  bool was_free = false;
  const auto looks = [&] {
    ++destroyed;
    was_free |= tried_elsewhere(this->lock_);
  };
  std::thread ending{[&] {
    made_early.call = looks;
    std::unique_lock held{this->lock_};
    this->is_over_ = true;
    notify_all_at_thread_exit(this->changed_, std::move(held));
    made_late.call = looks;
    was_free |= tried_elsewhere(this->lock_);
  }};
  {
    std::unique_lock held{this->lock_};
    this->changed_.wait(held, [&] { return this->is_over_; });
    EXPECT_EQ(destroyed, 2);
  }
  ending.join();
  EXPECT_FALSE(was_free);
  EXPECT_TRUE(tried_elsewhere(this->lock_));
}

TYPED_TEST(NotifyAllAtThreadExit, ends_all_waits) {
  int waiting = 0;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&] {
      std::unique_lock held{this->lock_};
      ++waiting;
      this->changed_.wait(held, [&] { return this->is_over_; });
    });
  }
  for (bool all_wait = false; !all_wait; std::this_thread::yield()) {
    const std::scoped_lock held{this->lock_};
    all_wait = waiting == 3;
  }
  std::thread{[&] {
    std::unique_lock held{this->lock_};
    this->is_over_ = true;
    notify_all_at_thread_exit(this->changed_, std::move(held));
  }}.join();
  for (auto& each : waiters) each.join();
}

/// The waiter destroys both as soon as it has the lock.
TYPED_TEST(NotifyAllAtThreadExit, does_not_touch_what_the_next_owner_may_destroy) {
  struct shared {
    typename TypeParam::first_type changed;
    typename TypeParam::second_type lock;
    bool is_over = false;
  };
  for (int round = 0; round < 20; ++round) {
    auto object = std::make_unique<shared>();
    std::thread ending{[all = object.get()] {
      std::unique_lock held{all->lock};
      all->is_over = true;
      notify_all_at_thread_exit(all->changed, std::move(held));
    }};
    {
      std::unique_lock held{object->lock};
      object->changed.wait(held, [&] { return object->is_over; });
    }
    object.reset();
    ending.join();
  }
}

/// A mutex that says when it is released.
struct telling_mutex {
  std::vector<int>* told = nullptr;
  int number = 0;
  void lock() {}
  void unlock() { told->push_back(number); }
};

TEST(NotifyAllAtThreadExitOfMany, takes_effect_in_the_order_of_the_calls) {
  std::vector<int> told;
  telling_mutex locks[3]{{&told, 1}, {&told, 2}, {&told, 3}};
  condition_variable_any changed;
  std::thread{[&] {
    for (auto& each : locks) notify_all_at_thread_exit(changed, std::unique_lock{each});
    EXPECT_TRUE(told.empty());
  }}.join();
  EXPECT_EQ(told, (std::vector{1, 2, 3}));
}

/// Holds the end of the process up, after what comes at its exit.
struct last_of_all {
  bool waits = false;
  ~last_of_all() {
    while (waits) pause();
  }
};
last_of_all at_the_end;  // made before the first test, so destroyed after what tests register

TEST(NotifyAllAtThreadExitOfMain, comes_when_the_process_ends) {
  const auto ends = [] {
    static condition_variable changed;
    static mutex lock;
    static bool is_over = false;
    alarm(60);
    at_the_end.waits = true;
    std::unique_lock held{lock};
    std::thread{[] {
      std::unique_lock mine{lock};
      changed.wait(mine, [] { return is_over; });
      _exit(7);
    }}.detach();
    is_over = true;
    notify_all_at_thread_exit(changed, std::move(held));
    std::exit(0);
  };
  EXPECT_EXIT(ends(), ::testing::ExitedWithCode(7), "");
}

#if !defined(NDEBUG)
TEST(NotifyAllAtThreadExitDeathTest, wants_a_lock_that_is_held) {
  condition_variable changed;
  mutex lock;
  EXPECT_DEATH(notify_all_at_thread_exit(changed, std::unique_lock{lock, std::defer_lock}),
               "the lock is not held");
}
#endif

}  // namespace
}  // namespace lockyard::testing
