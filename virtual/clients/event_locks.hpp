// SPDX-License-Identifier: Apache-2.0
#pragma once

// Locks made of events, so that events pass the tests of locks: a thread that loses a wake-up
// hangs, who lets two through at once loses an update.

#include <lockyard/event/auto_reset_event.hpp>
#include <lockyard/event/event_count.hpp>

#include <atomic>
#include <chrono>

namespace lockyard::testing {

/// The event is set while no thread holds the lock.
template <world W, class Event = basic_auto_reset_event<W>>
class auto_event_lock {
 public:
  void lock() noexcept { free_.wait(); }
  [[nodiscard]] bool try_lock() noexcept { return free_.try_wait(); }
  template <class Duration>
  [[nodiscard]] bool try_lock_for(Duration duration) noexcept {
    return free_.wait_for(duration);
  }
  template <class Time>
  [[nodiscard]] bool try_lock_until(Time limit) noexcept {
    return free_.wait_until(limit);
  }
  void unlock() noexcept { free_.set(); }

 private:
  Event free_{true};
};

/// Waiters of a flag sleep by an event count. Unlock uses it after the release, so the lock must
/// outlive all its unlocks.
template <world W, class Count = basic_event_count<W>>
class event_count_lock {
 public:
  void lock() noexcept { released_.await(taking()); }
  [[nodiscard]] bool try_lock() noexcept { return taking()(); }
  template <class Duration>
  [[nodiscard]] bool try_lock_for(Duration duration) noexcept {
    return released_.await_for(duration, taking());
  }
  template <class Time>
  [[nodiscard]] bool try_lock_until(Time limit) noexcept {
    return released_.await_until(limit, taking());
  }
  void unlock() noexcept {
    held_.store(false, std::memory_order_release);
    released_.notify_one();
  }

 private:
  auto taking() noexcept {
    return [this]() noexcept {
      return !held_.load(std::memory_order_relaxed) &&
             !held_.exchange(true, std::memory_order_acquire);
    };
  }

  atomic<W, bool> held_{false};
  Count released_;
};

}  // namespace lockyard::testing
