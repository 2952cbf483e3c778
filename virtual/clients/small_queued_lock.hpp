// SPDX-License-Identifier: Apache-2.0
#pragma once

// queued_spinlock in small, for the checker: nodes in the lock, none of its fallbacks, and a
// pending waiter that may time out. Every rule of it can be broken by a template argument, as in
// mcs_lock.hpp.

#include <lockyard/world/await.hpp>
#include <lockyard/world/world.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace lockyard::checker {

struct queued_rules {
  // order[enqueue]: acq_rel; pairs [enqueue]; a link overwrites the emptied node, never the
  // reverse.
  std::memory_order enqueue = std::memory_order_acq_rel;
  // order[link]: release; pairs [linked]; the hand-over overwrites the mark to wait.
  std::memory_order link = std::memory_order_release;
  bool undoes_pending = true;  ///< before it queues
  bool pending_waits = true;   ///< for the owner
  bool head_waits_for_pending = true;
  bool timeout_undoes_pending = true;
};

/// | bits of word_ | meaning |
/// |---|---|
/// | 0 | there is an owner |
/// | 1 | one waiter goes before the queue |
/// | 2 and up | 1 + slot of the last one in the queue, or 0 |
template <world W, queued_rules Rules = queued_rules{}>
class small_queued_lock {
 public:
  void lock() noexcept {
    std::uint32_t found = 0;
    if (take(found)) return;
    if (!claim_pending(found)) return queue(found);
    // order[pending]: acquire; pairs [unlock]; the critical section starts after the last one's.
    if (Rules.pending_waits) W::await(word_, has_no_owner, std::memory_order_acquire, pausing{});
    own_from_pending();
  }

  /// A try that waits for a while as the pending waiter, and never queues.
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t found = 0;
    if (take(found)) return true;
    if (!claim_pending(found)) return false;
    const auto limit = W::deadline_after(std::chrono::milliseconds{1});
    // order[timed]: acquire; pairs [unlock]; as in lock().
    const bool is_mine =
        W::await(word_, has_no_owner, std::memory_order_acquire, pausing{}, limit).has_value();
    if (is_mine) {
      own_from_pending();
    } else if constexpr (Rules.timeout_undoes_pending) {
      // relaxed(atomicity): gives up a claim under which nothing was done.
      word_.fetch_and(~pending, std::memory_order_relaxed);
    }
    return is_mine;
  }

  void unlock() noexcept {
    // order[unlock]: release; pairs [take, pending, timed, head]; publishes the critical
    // section.
    word_.fetch_sub(owned, std::memory_order_release);
  }

 private:
  using pausing = wait_policies::pausing;
  static constexpr std::uint32_t owned = 1, pending = 2, one_in_tail = 4;
  static constexpr auto has_no_owner = [](std::uint32_t word) { return (word & owned) == 0; };

  struct node {
    atomic<W, std::uint32_t> next{0};  ///< 1 + slot
    atomic<W, std::uint32_t> waits{0};
  };

  bool take(std::uint32_t& found) noexcept {
    // order[take]: acquire; pairs [unlock]; the critical section starts after the last one's.
    // relaxed(revalidated): the next try reads the word again after a failure.
    return word_.compare_exchange_strong(found, owned, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  bool claim_pending(std::uint32_t& found) noexcept {
    if (found > owned) return false;
    // relaxed(revalidated): [pending] and [timed] look again, even where the owner is gone.
    found = word_.fetch_or(pending, std::memory_order_relaxed);
    if (found <= owned) return true;
    // relaxed(atomicity): takes back a claim under which nothing was done.
    if (Rules.undoes_pending && (found & pending) == 0)
      word_.fetch_and(~pending, std::memory_order_relaxed);
    return false;
  }

  void own_from_pending() noexcept {
    // relaxed(atomicity): the acquisition was the look before; the release sequence goes on.
    word_.fetch_sub(pending - owned, std::memory_order_relaxed);
  }

  void queue(std::uint32_t found) noexcept {
    const std::uint32_t self = W::thread_slot() + 1;
    node& mine = nodes_[self - 1];
    // relaxed(unpublished): [enqueue] and [link] publish the node.
    mine.next.store(0, std::memory_order_relaxed);
    // relaxed(unpublished): the same.
    mine.waits.store(1, std::memory_order_relaxed);
    // relaxed(revalidated): the next round compares again.
    while (!word_.compare_exchange_strong(found, found % one_in_tail + self * one_in_tail,
                                          Rules.enqueue, std::memory_order_relaxed)) {
    }
    if (const std::uint32_t behind = found / one_in_tail; behind != 0) {
      nodes_[behind - 1].next.store(self, Rules.link);
      // order[granted]: acquire; pairs [grant]; [head] must not see the word of before.
      W::await(mine.waits, is_zero, std::memory_order_acquire, pausing{});
    }
    own_from_queue(mine, self);
  }

  void own_from_queue(node& mine, std::uint32_t self) noexcept {
    constexpr std::uint32_t busy = Rules.head_waits_for_pending ? owned | pending : owned;
    const auto is_free = [](std::uint32_t word) { return (word & busy) == 0; };
    // order[head]: acquire; pairs [unlock]; the critical section starts after the last one's.
    std::uint32_t found = W::await(word_, is_free, std::memory_order_acquire, pausing{});
    // relaxed(atomicity): [head] has acquired, and no other thread can.
    if (found / one_in_tail == self &&
        word_.compare_exchange_strong(found, owned, std::memory_order_relaxed,
                                      std::memory_order_relaxed))
      return;
    // relaxed(atomicity): the same.
    word_.fetch_or(owned, std::memory_order_relaxed);
    const auto is_linked = [](std::uint32_t next) { return next != 0; };
    // order[linked]: acquire; pairs [link]; the successor's node is ready.
    const std::uint32_t next = W::await(mine.next, is_linked, std::memory_order_acquire, pausing{});
    // order[grant]: release; pairs [granted]; the successor sees that the lock is owned again.
    nodes_[next - 1].waits.store(0, std::memory_order_release);
  }

  atomic<W, std::uint32_t> word_{0};
  std::array<node, 4> nodes_;
};

}  // namespace lockyard::checker
