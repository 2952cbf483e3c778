// SPDX-License-Identifier: Apache-2.0
#pragma once

// Waits of a condition variable, for the tests of several clauses.

#include <lockyard/lockyard.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "standard/rules.hpp"

namespace lockyard::testing {

/// A condition variable and the lock that its waiters hold.
template <class Condition, class Lock>
struct waits_with {
  using condition = Condition;
  using lock = Lock;
};

/// Both condition variables with a mutex, and with a lock that never sleeps the one that takes any.
using all_waits = ::testing::Types<waits_with<condition_variable, mutex>,
                                   waits_with<condition_variable_any, mutex>,
                                   waits_with<condition_variable_any, ticket_spinlock>>;

struct wait_name {
  template <class Wait>
  static std::string GetName(int /*index*/) {
    const std::string lock = catalog_name::GetName<typename Wait::lock>(0);
    constexpr bool is_any = std::is_same_v<typename Wait::condition, condition_variable_any>;
    return is_any ? lock : "condition_variable_" + lock;
  }
};

/// A condition variable, its lock, and the state that its waiters look at.
template <class Wait>
class wait_test : public ::testing::Test {
 protected:
  using condition = typename Wait::condition;
  using guard = std::unique_lock<typename Wait::lock>;

  /// Changes the state under the lock.
  void change(const std::function<void()>& how) {
    const guard held{lock_};
    how();
  }
  /// Returns when so many threads wait: each counts itself under the lock that its wait releases.
  void await_waiters(int count) {
    const auto are_there = [&] {
      const guard held{lock_};
      return waiting_ == count;
    };
    while (!are_there()) std::this_thread::yield();
  }
  /// Whether the calling thread owns the lock, and its guard says so.
  bool is_held_by(const guard& held) {
    return held.owns_lock() && held.mutex() == &lock_ && !tried_elsewhere(lock_);
  }

  /// Waits until another thread has set `is_over_`, by `wait`, which may return for no reason.
  void wait_until_over(const std::function<void()>& wait) {
    ++waiting_;
    while (!is_over_) wait();
    --waiting_;
  }

  /// Whether each of so many threads returns from its wait when `notify` has been called.
  void expect_all_return(int threads, const std::function<void(guard&)>& wait,
                         const std::function<void()>& notify) {
    int returned = 0;
    std::vector<std::jthread> team;
    for (int t = 0; t < threads; ++t) {
      team.emplace_back([&] {
        guard held{lock_};
        wait_until_over([&] { wait(held); });
        ++returned;
      });
    }
    await_waiters(threads);
    change([&] {
      EXPECT_EQ(returned, 0);
      is_over_ = true;
    });
    notify();
    team.clear();
    EXPECT_EQ(returned, threads);
  }

  condition changed_;
  typename Wait::lock lock_;
  int waiting_ = 0;
  bool is_over_ = false;
};

}  // namespace lockyard::testing
