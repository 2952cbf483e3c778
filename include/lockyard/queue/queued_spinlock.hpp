// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/detail/queue_nodes.hpp>
#include <lockyard/detail/queued_word.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// The queued spinlock of Linux: four bytes that hold an owner, one pending waiter, and the tail of
/// a queue of the other waiters. Two threads need only the lock's own cache line; each thread of
/// the queue spins on its own cache line.
///
/// Use: where waits must be short and in order, there are at most as many threads as cores, and
/// eight bytes are too many. Under oversubscription it is slow, as every lock with strict order is.
/// Source: W. Long and P. Zijlstra, "qspinlock" (Linux 4.2, 2015), after MCS. Here one atomic word
///   holds all parts, because C++ cannot access an atomic in parts, so unlock is a locked
///   subtraction, and an exchange of the tail restores the rest (detail/queued_word.hpp).
/// Guarantees: mutual exclusion; first come, first served, by the order in which waiters set
///   `pending` or the tail (I1). A thread has no node if more than 4096 threads live or its signal
///   handlers wait four deep; it then never barges, and other threads may acquire before it
///   forever. Not recursive. Not safe between a thread and its own signal handler. After fork,
///   usable in the child only if no thread waited. The next owner may destroy the lock as soon as
///   it holds the lock: unlock accesses the lock once, and an acquisition is its waiter's last
///   access.
/// Size: 4 bytes, and 512 KiB of nodes in zeroed static memory, which all locks share. All zero
/// bytes are the free state.
///
/// | bits of word_ | meaning |
/// |---|---|
/// | 0 | owned |
/// | 8 | pending: one waiter precedes the queue |
/// | 16 to 31 | tail: number of the queue's last node, or 0 |
///
/// | bits of a node | meaning |
/// |---|---|
/// | 0 | in use |
/// | 1 | granted: the head of the queue |
/// | 2 and up | number of the successor's node, or 0 |
///
/// Invariants: W1 and W2 of detail/queued_word.hpp: an exchange may show an owner and a pending
/// waiter that do not exist, but never hides one. I1 a thread that sets `pending` and keeps it
/// found neither `pending` nor a tail, and a free word is taken only where it is zero, by the
/// pending waiter, or by the head; so no thread barges past a waiter of the queue. I2 while there
/// is a tail and no thread is pending, only the head of the queue takes the lock. Node lifetime:
/// nodes are never freed (detail/queue_nodes.hpp). A thread releases its node when no other thread
/// has the node's number: by then the tail is zero or another node's number, and the successor has
/// written its own number to the node, which was its last access.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_queued_spinlock
    : public detail::held_assertions<basic_queued_spinlock<W>, W> {
 public:
  constexpr basic_queued_spinlock() noexcept = default;
  basic_queued_spinlock(const basic_queued_spinlock&) = delete;
  basic_queued_spinlock& operator=(const basic_queued_spinlock&) = delete;

  /// Precondition: the calling thread does not hold the lock.
  /// Effects: acquires the lock; while it is held, waits in the queue, spinning and yielding in
  /// turns.
  /// Synchronisation: all that earlier owners did before unlock happens before the return.
  /// Progress: starvation-free for a thread with a node, once it is enqueued, if every owner
  /// unlocks and the scheduler runs every thread.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    std::uint32_t found = 0;
    if (!take(found)) [[unlikely]]
      lock_contended(found);
  }

  /// Precondition: as lock(). Effects: acquires the lock if it is free and no thread waits; returns
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
  static constexpr auto owned = detail::queued_word::owned, pending = detail::queued_word::pending,
                        one_in_tail = detail::queued_word::one_in_tail;
  static constexpr std::uint64_t in_use = 1, granted = 2, one_in_next = 4;
  static_assert(nodes::last < (std::uint64_t{1} << 32U) / one_in_tail);

  bool take(std::uint32_t& found) noexcept {
    // (tail,pending,owned)  0,0,0 -> 0,0,1
    // order[take]: acquire; pairs [unlock]; the critical section begins after the previous one.
    // relaxed(revalidated): lock_contended() compares the value found by a failure again.
    return word_.compare_exchange_strong(found, owned, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  [[gnu::noinline, gnu::cold]] void lock_contended(std::uint32_t found) noexcept {
    if (claim_pending(found)) {
      own_as_pending();
    } else if (const std::uint32_t self = nodes::claim(in_use); self != nodes::none) {
      enqueue(found, self);
      own_as_head(self);
    } else {
      lock_without_node();
    }
  }

  /// If it fails, `found` is the word as this thread has left it.
  bool claim_pending(std::uint32_t& found) noexcept {
    if (found > owned) return false;
    // (tail,pending,owned)  t,p,o -> t,1,o
    // relaxed(revalidated): [pending] reads again, even where the owner has already unlocked.
    found = word_.fetch_or(pending, std::memory_order_relaxed);
    if (found <= owned) return true;
    // relaxed(atomicity): withdraws a claim under which this thread did nothing.
    if ((found & pending) == 0) word_.fetch_sub(pending, std::memory_order_relaxed);
    return false;
  }

  void own_as_pending() noexcept {
    const auto has_no_owner = [](std::uint32_t word) noexcept { return (word & owned) == 0; };
    for (;;) {
      // order[pending]: acquire; pairs [unlock]; the critical section begins after the previous
      // one.
      std::uint32_t found = W::await(word_, has_no_owner, std::memory_order_acquire, policy{});
      // (tail,pending,owned)  t,1,0 -> t,0,1
      // Threads that enqueue make this fail, but each of them only a few times.
      // relaxed(atomicity): [pending] has acquired, and by I1 no other thread can.
      if (word_.compare_exchange_strong(found, found - pending + owned, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
        return;
      }
    }
  }

  /// Enqueues the node `self` and waits until this thread is the head of the queue.
  void enqueue(std::uint32_t found, std::uint32_t self) noexcept {
    const std::uint32_t ahead = detail::append_to_queue<W>(word_, found, self) / one_in_tail;
    if (ahead == 0) return;
    // relaxed(atomicity): a number, no data; its reader has this node's claim from [head].
    nodes::of(ahead).fetch_add(self * one_in_next, std::memory_order_relaxed);
    const auto is_granted = [](std::uint64_t node) noexcept { return (node & granted) != 0; };
    // order[granted]: acquire; pairs [grant]; [head] must not see the word as it was before.
    W::await(nodes::of(self), is_granted, std::memory_order_acquire, policy{});
  }

  void own_as_head(std::uint32_t self) noexcept {
    const auto is_free = [](std::uint32_t word) noexcept {
      return (word & (owned | pending)) == 0;
    };
    for (;;) {
      // order[head]: acquire; pairs [unlock, queued_word.hpp:append,
      // queued_word.hpp:append_anyhow]; the critical section begins after the previous one, and the
      // grant finds the successor's node claimed.
      std::uint32_t found = W::await(word_, is_free, std::memory_order_acquire, policy{});
      if (found / one_in_tail != self) {
        if (own_before_next(self)) break;
        continue;
      }
      // (tail,pending,owned)  self,0,0 -> 0,0,1
      // A claim of `pending` that is about to be withdrawn also makes this fail; then there is no
      // successor.
      // relaxed(atomicity): [head] has acquired, and by I2 no other thread can.
      if (word_.compare_exchange_strong(found, owned, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
        break;
      }
    }
    // relaxed(owner): no other thread knows the number any longer.
    nodes::of(self).store(0, std::memory_order_relaxed);
  }

  /// Precondition: the tail is another node's number, and a successor writes its number to `self`.
  /// Returns false if the word shows an owner by now, which only an exchange can have set.
  bool own_before_next(std::uint32_t self) noexcept {
    // (tail,pending,owned)  t,p,0 -> t,p,1
    // relaxed(atomicity): as in own_as_head(). A claim of `pending` that is about to be withdrawn
    // may be set.
    if ((word_.fetch_or(owned, std::memory_order_relaxed) & owned) != 0) return false;
    const auto is_linked = [](std::uint64_t node) noexcept { return node >= one_in_next; };
    // relaxed(atomicity): a number. The node with this number is claimed: [head] saw a tail that
    // the node's thread, or a thread enqueued after it, had set.
    const std::uint64_t node =
        W::await(nodes::of(self), is_linked, std::memory_order_relaxed, policy{});
    // order[grant]: release; pairs [granted]; the new head sees that the lock is owned again.
    nodes::of(static_cast<std::uint32_t>(node / one_in_next))
        .fetch_or(granted, std::memory_order_release);
    return true;
  }

  void lock_without_node() noexcept {
    std::uint32_t found = 0;
    do {
      found = 0;
      // relaxed(revalidated): take() decides.
      W::await(word_, is_zero, std::memory_order_relaxed, policy{});
    } while (!take(found));
  }

  atomic<W, std::uint32_t> word_{0};
};

using queued_spinlock = basic_queued_spinlock<>;

}  // namespace lockyard::inline v0
