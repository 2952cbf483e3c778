// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/detail/queue_nodes.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// The queued spinlock of Linux: four bytes that hold an owner, one pending waiter, and the tail of
/// a queue of the others. Up to two threads need the lock's own line only; each thread of the queue
/// spins on a line of its own.
///
/// Use: where waits must be short and in order, there are at most as many threads as cores, and
/// eight bytes are too many. Under oversubscription it suffers like every lock with an order.
/// Source: W. Long and P. Zijlstra, "qspinlock" (Linux 4.2, 2015), after MCS; all in one word here,
///   because C++ has no atomic that is read in parts, so unlock is a locked subtraction.
/// Guarantees: mutual exclusion; first come, first served, by the order in which waiters set
///   `pending` or the tail (I1). A thread without a node, because more than 4096 threads live or
///   its signal handlers wait four deep, overtakes nobody and may be overtaken for ever. Not
///   recursive. Not safe between a thread and its own signal handler. After fork usable in the
///   child only if nobody waited. May be destroyed by the next owner as soon as that one holds it:
///   unlock touches the lock once, and an acquisition is its waiter's last access.
/// Size: 4 bytes, and for all locks together 512 KiB of nodes in zeroed static memory. All zero
/// bytes are the free state.
///
/// | bits of word_ | meaning |
/// |---|---|
/// | 0 | owned |
/// | 8 | pending: one waiter goes before the queue |
/// | 16 to 31 | tail: number of the queue's last node, or 0 |
///
/// | bits of a node | meaning |
/// |---|---|
/// | 0 | in use |
/// | 1 | granted: the head of the queue |
/// | 2 and up | number of the node behind, or 0 |
///
/// Invariants: I1 whoever sets `pending` for good found neither it nor a tail, and the free word is
/// taken only where it is zero, or by the head; so nobody goes before a waiter of the queue. I2
/// only the head of the queue takes the lock while there is a tail. Node lifetime: nodes never go
/// away (detail/queue_nodes.hpp). A node is given back by its own thread, when nobody has its
/// number: the tail is another one or zero by then, and the one behind has written its number,
/// which was its last access.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_queued_spinlock
    : public detail::held_assertions<basic_queued_spinlock<W>, W> {
 public:
  constexpr basic_queued_spinlock() noexcept = default;
  basic_queued_spinlock(const basic_queued_spinlock&) = delete;
  basic_queued_spinlock& operator=(const basic_queued_spinlock&) = delete;

  /// Precondition: the calling thread does not hold the lock.
  /// Effects: acquires the lock, waiting in line while it is held, spinning and yielding in turns.
  /// Synchronisation: what earlier owners did before unlock happens before the return.
  /// Progress: starvation-free for a thread with a node, once it is in line, if every owner unlocks
  /// and every thread is run by the scheduler.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    std::uint32_t found = 0;
    if (!take(found)) [[unlikely]]
      lock_contended(found);
  }

  /// Precondition: as lock(). Effects: acquires the lock if it is free and nobody waits; returns
  /// whether it did. Synchronisation: as lock() if it returns true, none otherwise.
  /// Progress: wait-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    std::uint32_t found = 0;
    return scope.result(take(found));
  }

  /// Precondition: the calling thread holds the lock. Effects: releases it.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    // (tail,pending,owned)  t,p,1 -> t,p,0
    // order[unlock]: release; pairs [take, pending, head]; publishes the critical section.
    word_.fetch_sub(owned, std::memory_order_release);
  }

 private:
  using nodes = detail::queue_nodes<W>;
  using policy = wait_policies::pausing_then_yielding<16>;
  static constexpr std::uint32_t owned = 1, pending = 1U << 8U, one_in_tail = 1U << 16U;
  static constexpr std::uint64_t in_use = 1, granted = 2, one_in_next = 4;
  static_assert(nodes::last < (std::uint64_t{1} << 32U) / one_in_tail);

  bool take(std::uint32_t& found) noexcept {
    // (tail,pending,owned)  0,0,0 -> 0,0,1
    // order[take]: acquire; pairs [unlock]; the critical section starts after the last one's end.
    // relaxed(revalidated): what a failure finds is compared again by whoever goes on.
    return word_.compare_exchange_strong(found, owned, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  [[gnu::noinline, gnu::cold]] void lock_contended(std::uint32_t found) noexcept {
    if (claim_pending(found)) {
      const auto has_no_owner = [](std::uint32_t word) noexcept { return (word & owned) == 0; };
      // order[pending]: acquire; pairs [unlock]; the critical section starts after the last one's.
      W::await(word_, has_no_owner, std::memory_order_acquire, policy{});
      // (tail,pending,owned)  t,1,0 -> t,0,1
      // relaxed(atomicity): [pending] has acquired, and by I1 nobody else can.
      word_.fetch_sub(pending - owned, std::memory_order_relaxed);
    } else if (const std::uint32_t self = nodes::claim(in_use); self != nodes::none) {
      line_up(found, self);
      own_as_head(self);
    } else {
      lock_without_node();
    }
  }

  bool claim_pending(std::uint32_t found) noexcept {
    if (found > owned) return false;
    // (tail,pending,owned)  t,p,o -> t,1,o
    // relaxed(revalidated): [pending] looks again, even where the owner is gone.
    found = word_.fetch_or(pending, std::memory_order_relaxed);
    if (found <= owned) return true;
    // relaxed(atomicity): takes back a claim under which nothing was done.
    if ((found & pending) == 0) word_.fetch_and(~pending, std::memory_order_relaxed);
    return false;
  }

  /// Until this thread is the head of the queue.
  void line_up(std::uint32_t found, std::uint32_t self) noexcept {
    // (tail,pending,owned)  t,p,o -> self,p,o
    // order[enqueue]: acq_rel; pairs [enqueue, head]; a link adds to the claim of the node ahead,
    // and is not wiped out by the zero that ended that node's last use.
    // relaxed(revalidated): the next turn compares what was found.
    while (!word_.compare_exchange_strong(found, found % one_in_tail + self * one_in_tail,
                                          std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    const std::uint32_t ahead = found / one_in_tail;
    if (ahead == 0) return;
    // relaxed(atomicity): a number, no data; its reader has this node's claim from [head].
    nodes::of(ahead).fetch_add(self * one_in_next, std::memory_order_relaxed);
    const auto is_granted = [](std::uint64_t node) noexcept { return (node & granted) != 0; };
    // order[granted]: acquire; pairs [grant]; [head] must not see the word of before.
    W::await(nodes::of(self), is_granted, std::memory_order_acquire, policy{});
  }

  void own_as_head(std::uint32_t self) noexcept {
    const auto is_free = [](std::uint32_t word) noexcept {
      return (word & (owned | pending)) == 0;
    };
    for (;;) {
      // order[head]: acquire; pairs [unlock, enqueue]; the critical section starts after the last
      // one's end, and the grant finds the node behind claimed.
      std::uint32_t found = W::await(word_, is_free, std::memory_order_acquire, policy{});
      if (found / one_in_tail != self) {
        own_before_next(self);
        break;
      }
      // (tail,pending,owned)  self,0,0 -> 0,0,1
      // A claim of `pending` that will be taken back makes this fail, too; then nobody is behind.
      // relaxed(atomicity): [head] has acquired, and by I2 nobody else can.
      if (word_.compare_exchange_strong(found, owned, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
        break;
      }
    }
    // relaxed(owner): nobody else knows the number any more.
    nodes::of(self).store(0, std::memory_order_relaxed);
  }

  /// Precondition: the tail is another one, whose thread writes its number to this node.
  void own_before_next(std::uint32_t self) noexcept {
    // (tail,pending,owned)  t,p,0 -> t,p,1
    // relaxed(atomicity): as in own_as_head(). A claim of `pending` may stand that will be taken
    // back.
    word_.fetch_or(owned, std::memory_order_relaxed);
    const auto is_linked = [](std::uint64_t node) noexcept { return node >= one_in_next; };
    // relaxed(atomicity): a number. The node that it names is claimed: [head] saw a tail that its
    // thread had set, or one behind it.
    const std::uint64_t node =
        W::await(nodes::of(self), is_linked, std::memory_order_relaxed, policy{});
    // order[grant]: release; pairs [granted]; the new head sees that the lock is owned again.
    nodes::of(static_cast<std::uint32_t>(node / one_in_next))
        .fetch_or(granted, std::memory_order_release);
  }

  void lock_without_node() noexcept {
    std::uint32_t found = 0;
    do {
      found = 0;
      // relaxed(revalidated): take() decides.
      W::await(word_, is_zero, std::memory_order_relaxed, policy{});
    } while (!take(found));
  }

  typename W::template atomic<std::uint32_t> word_{0};
};

using queued_spinlock = basic_queued_spinlock<>;

}  // namespace lockyard::inline v0
