// SPDX-License-Identifier: Apache-2.0
#pragma once

// A spinlock in which something can be made to happen at two places: before a waiter looks, and
// between the beginning of a release and the release. For nothing but planting stalls.

#include <lockyard/world/world.hpp>

#include <atomic>
#include <functional>

namespace lockyard::harness {

template <world W>
class planted_lock {
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
  typename W::template atomic<bool> locked_{false};
};

}  // namespace lockyard::harness
