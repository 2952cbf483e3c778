// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/world/await.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::checker {

/// The queue lock of J. Mellor-Crummey and M. Scott as published, with its nodes in the threads.
/// All executions of three threads that acquire it twice can be searched in a second; for
/// mcs_spinlock, which keeps a node of its own, they are too many.
template <world W>
class mcs_lock {
 public:
  void lock() noexcept {
    node& mine = W::template thread_state<node>();
    mine.next.store(nullptr, relaxed);
    mine.waits.store(1, relaxed);
    node* const behind = tail_.exchange(&mine, std::memory_order_acq_rel);
    if (behind == nullptr) return;
    behind->next.store(&mine, std::memory_order_release);
    W::await(mine.waits, is_zero, acquire, wait_policies::pausing{});
  }

  void unlock() noexcept {
    node& mine = W::template thread_state<node>();
    node* next = mine.next.load(acquire);
    if (next == nullptr) {
      node* expected = &mine;
      if (tail_.compare_exchange_strong(expected, nullptr, std::memory_order_release, relaxed))
        return;
      const auto is_linked = [](node* each) { return each != nullptr; };
      next = W::await(mine.next, is_linked, acquire, wait_policies::pausing{});
    }
    next->waits.store(0, std::memory_order_release);
  }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto acquire = std::memory_order_acquire;

  struct node {
    atomic<W, node*> next{nullptr};
    atomic<W, std::uint32_t> waits{0};
  };

  atomic<W, node*> tail_{nullptr};
};

}  // namespace lockyard::checker
