// SPDX-License-Identifier: Apache-2.0
#pragma once

// The queue lock of J. Mellor-Crummey and M. Scott, for the checker. Every rule of it can be broken
// by a template argument: the mutants are this lock with one rule broken.

#include <lockyard/world/await.hpp>
#include <lockyard/world/world.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace lockyard::checker {

struct mcs_rules {
  std::memory_order enqueue = std::memory_order_acq_rel;
  std::memory_order link = std::memory_order_release;
  std::memory_order hand_over = std::memory_order_release;
  std::memory_order dequeue = std::memory_order_release;
  bool waits_for_link = true;  ///< for the link of a successor that is on its way
  bool compares = true;        ///< before it declares the queue empty
  bool nodes_in_thread =
      true;  ///< as in a real lock; otherwise in the lock, where they outlive all
};

template <world W, mcs_rules Rules = mcs_rules{}>
class mcs_lock {
 public:
  void lock() noexcept {
    node& mine = enqueue();
    if (mine.behind != nullptr) W::await(mine.waits, is_zero, acquire, wait_policies::pausing{});
  }

  /// A try that waits for a while, and then leaves its node in the queue: that is a fault.
  [[nodiscard]] bool try_lock() noexcept {
    node& mine = enqueue();
    if (mine.behind == nullptr) return true;
    const auto limit = W::deadline_after(std::chrono::milliseconds{1});
    return W::await(mine.waits, is_zero, acquire, wait_policies::pausing{}, limit).has_value();
  }

  void unlock() noexcept {
    node& mine = own_node();
    node* next = mine.next.load(acquire);
    if (next == nullptr) {
      if constexpr (!Rules.compares) {
        tail_.store(nullptr, Rules.dequeue);
        return;
      }
      node* expected = &mine;
      if (tail_.compare_exchange_strong(expected, nullptr, Rules.dequeue, relaxed)) return;
      if constexpr (!Rules.waits_for_link) return;
      const auto is_linked = [](node* each) { return each != nullptr; };
      next = W::await(mine.next, is_linked, acquire, wait_policies::pausing{});
    }
    next->waits.store(0, Rules.hand_over);
  }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto acquire = std::memory_order_acquire;

  struct node {
    atomic<W, node*> next{nullptr};
    atomic<W, std::uint32_t> waits{0};
    node* behind = nullptr;
  };

  node& own_node() noexcept {
    if constexpr (Rules.nodes_in_thread) {
      return W::template thread_state<node>();
    } else {
      return nodes_[W::thread_slot()];
    }
  }

  node& enqueue() noexcept {
    node& mine = own_node();
    mine.next.store(nullptr, relaxed);
    mine.waits.store(1, relaxed);
    mine.behind = tail_.exchange(&mine, Rules.enqueue);
    if (mine.behind != nullptr) mine.behind->next.store(&mine, Rules.link);
    return mine;
  }

  atomic<W, node*> tail_{nullptr};
  std::array<node, Rules.nodes_in_thread ? 1 : 4> nodes_;
};

}  // namespace lockyard::checker
