// SPDX-License-Identifier: Apache-2.0
#pragma once

// Locks with hooks: before a waiter looks, between the beginning of a release and the release, and
// between the beginning of a wake-up and the wake-up. They serve only to inject stalls.

#include <lockyard/world/native.hpp>
#include <lockyard/world/trace_rings.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>
#include <functional>

namespace lockyard::harness {

template <world W>
class injected_lock {
 public:
  std::function<void()> before_look = [] {};
  std::function<void()> in_release = [] {};

  void lock() {
    const typename W::acquiring scope{this};
    before_look();
    do {
      // relaxed(revalidated): the exchange decides.
      W::await(locked_, is_zero, std::memory_order_relaxed, wait_policies::pausing{});
      // order[take]: acquire; pairs [unlock]; the critical section starts after the last one's end.
    } while (locked_.exchange(true, std::memory_order_acquire));
  }
  void unlock() {
    const typename W::releasing scope{this};
    in_release();
    // order[unlock]: release; pairs [take]; publishes the critical section.
    locked_.store(false, std::memory_order_release);
  }

 private:
  atomic<W, bool> locked_{false};
};

/// A lock whose waiters sleep, and whose every release wakes one waiter.
template <world W>
class injected_sleeping_lock {
 public:
  std::function<void()> in_wake = [] {};

  void lock() {
    const typename W::acquiring scope{this};
    // order[take_sleeping]: acquire; pairs [unlock_sleeping]; as [take].
    while (locked_.exchange(1, std::memory_order_acquire) != 0) W::wait(locked_, 1);
  }
  void unlock() {
    const typename W::releasing scope{this};
    // order[unlock_sleeping]: release; pairs [take_sleeping]; publishes the critical section.
    locked_.store(0, std::memory_order_release);
    trace::detail::stamp(trace::event_kind::wake_begin, nullptr, 1);
    in_wake();
    native::wake(locked_, 1);
    trace::detail::stamp(trace::event_kind::wake_end, nullptr, 0);
  }

 private:
  atomic<W, std::uint32_t> locked_{0};
};

}  // namespace lockyard::harness
