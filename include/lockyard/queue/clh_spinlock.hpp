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

/// The queue lock of Craig, Landin and Hagersten: each waiter spins on its predecessor's node.
/// Uncontended acquisition and release cost one locked operation and a plain store.
///
/// Use: on many cores, where the uncontended cost matters too. Under oversubscription it is slow,
/// as every lock with strict order is.
/// Source: T. Craig (1993); P. Magnusson, A. Landin and E. Hagersten (1994). Their nodes move from
///   thread to thread, and a free lock keeps a node. This lock is free when all its bytes are zero,
///   and its destructor does nothing, so it cannot keep a node. Instead, the lock itself serves as
///   the owner's node, with a number as in ticket_spinlock. Only the first waiter of the queue
///   spins on the lock. Each other waiter spins on its predecessor's node until the predecessor has
///   become the owner and has written its number to that node.
/// Guarantees: mutual exclusion; first come, first served, by the order of the exchanges, for
///   threads with a node. lock() has no node if more than 4096 threads live or four of the
///   thread's nodes are in use; the thread then never barges, and other threads may acquire before
///   it forever. lock(node) does not use these nodes. Not recursive. Not safe between a thread and
///   its own signal handler. After fork, usable in the child only if no thread waited. The next
///   owner may destroy the lock as soon as it holds the lock: unlock's last access to the lock is
///   the store that calls the number.
///   On x86, unlock does not order non-temporal stores: they need an sfence before it.
/// Size: 16 bytes, and 512 KiB of nodes in zeroed static memory, which all locks share. All zero
/// bytes are the free state. Numbers are even and grow by 2; they are assumed not to wrap around.
///
/// | (tail_, called_) | meaning |
/// |---|---|
/// | n, n | free |
/// | n + 2, n | held, no thread waits |
/// | odd, n | held; tail_ is 1 + the address of the last waiter's node |
///
/// | node | meaning |
/// |---|---|
/// | 0 | not in use |
/// | 1 | its thread is enqueued |
/// | n | its thread owns the lock and releases it by calling n; the successor must write 0 |
///
/// Invariants: I1 the owner's number is called_ + 2; only the owner writes called_.
/// Node lifetime: only a node's thread and the thread's successor use the node; the successor
/// writes 0 as its last access. A thread's own nodes are never freed (detail/queue_nodes.hpp) and
/// are reused when they are 0; unlock(node) returns when its node is 0.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_clh_spinlock
    : public detail::held_assertions<basic_clh_spinlock<W>, W> {
  using nodes = detail::queue_nodes<W>;
  using word = typename nodes::node;

 public:
  /// A place in the queue, for one acquisition at a time; must live from lock() to unlock().
  class node {
   public:
    constexpr node() noexcept = default;
    node(const node&) = delete;
    node& operator=(const node&) = delete;

   private:
    friend basic_clh_spinlock;
    word word_{0};
  };

  /// Holds the lock from its constructor to its destructor, and contains the node.
  class [[nodiscard]] LOCKYARD_SCOPED_CAPABILITY guard {
   public:
    explicit guard(basic_clh_spinlock& lock) noexcept LOCKYARD_ACQUIRE(lock) : lock_{lock} {
      lock_.lock(node_);
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() LOCKYARD_RELEASE() { lock_.unlock(node_); }

   private:
    basic_clh_spinlock& lock_;
    node node_;
  };

  constexpr basic_clh_spinlock() noexcept = default;
  basic_clh_spinlock(const basic_clh_spinlock&) = delete;
  basic_clh_spinlock& operator=(const basic_clh_spinlock&) = delete;

  /// Precondition: the calling thread does not hold the lock.
  /// Effects: acquires the lock; while it is held, waits in the queue, spinning and yielding in
  /// turns.
  /// Synchronisation: all that earlier owners did before unlock happens before the return.
  /// Progress: starvation-free for a thread with a node, if every owner unlocks and the scheduler
  /// runs every thread.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take()) [[unlikely]]
      lock_contended();
  }

  /// As lock(), with a node that is not in use. Further precondition: the node lives until
  /// unlock(mine), which must release the lock.
  void lock(node& mine) noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (take()) [[likely]]
      return;
    // relaxed(unpublished): [enqueue] publishes the node.
    mine.word_.store(in_line, std::memory_order_relaxed);
    enqueue(mine.word_);
  }

  /// Precondition: as lock(). Effects: acquires the lock if it is free and no thread waits; returns
  /// whether it did. Synchronisation: as lock() if it returns true, none otherwise.
  /// Progress: wait-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }
  [[nodiscard]] bool try_lock(node& /*mine*/) noexcept LOCKYARD_TRY_ACQUIRE(true) {
    return try_lock();
  }

  /// Precondition: the calling thread acquired the lock by the same form. Effects: releases it.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    // (tail,called)  t,n -> t,n+2
    // relaxed(owner): by I1 no other thread writes it, so no atomic addition is needed.
    const std::uint64_t last = called_.load(std::memory_order_relaxed);
    // order[unlock]: release; pairs [called, turn]; publishes the critical section.
    called_.store(last + one, std::memory_order_release);
  }

  /// As unlock(); then waits until the successor no longer uses the node.
  void unlock(node& mine) noexcept LOCKYARD_RELEASE() {
    unlock();
    // order[left]: acquire; pairs [leave]; the node's lifetime may end.
    W::await(mine.word_, is_zero, std::memory_order_acquire, policy{});
  }

 private:
  using policy = wait_policies::pausing_then_yielding<16>;
  static constexpr std::uint64_t in_line = 1, one = 2;

  bool take() noexcept {
    // order[called]: acquire; pairs [unlock]; if this is the last number given, the lock is free
    // and the critical section begins after the previous one.
    std::uint64_t last = called_.load(std::memory_order_acquire);
    // (tail,called)  n,n -> n+2,n
    // By I1, tail_ == last means that called_ has not changed: no thread was the owner meanwhile.
    // relaxed(atomicity): a number is given; the load above carries the data.
    return tail_.compare_exchange_strong(last, last + one, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }

  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    if (const std::uint32_t self = nodes::claim(in_line); self != nodes::none) {
      enqueue(nodes::of(self));
      return;
    }
    do {
      // relaxed(hint): an old number only makes take() fail.
      const std::uint64_t last = tail_.load(std::memory_order_relaxed);
      const auto is_free = [last](std::uint64_t number) noexcept { return number == last; };
      const auto has_changed = [last](std::uint64_t tail) noexcept { return tail != last; };
      // relaxed(revalidated): take() decides.
      W::await_any(policy{}, condition{called_, is_free, std::memory_order_relaxed},
                   condition{tail_, has_changed, std::memory_order_relaxed});
    } while (!take());
  }

  /// Enqueues `mine`, which holds `in_line`, and waits until this thread owns the lock.
  [[gnu::noinline, gnu::cold]] void enqueue(word& mine) noexcept {
    const std::uint64_t self = reinterpret_cast<std::uintptr_t>(&mine) | 1U;
    // (tail,called)  t,n -> self,n
    // order[enqueue]: acq_rel; pairs [enqueue]; the predecessor's node holds `in_line` before this
    // thread reads the node, and the successor sees `in_line` in this node.
    const std::uint64_t ahead = tail_.exchange(self, std::memory_order_acq_rel);
    const std::uint64_t turn = number_of(ahead);
    const auto is_turn = [turn](std::uint64_t number) noexcept { return number == turn; };
    // order[turn]: acquire; pairs [unlock]; the critical section begins after the previous one.
    W::await(called_, is_turn, std::memory_order_acquire, policy{});
    std::uint64_t last = self;
    // (tail,called)  self,n -> n+2,n
    // relaxed(atomicity): a number is given.
    const bool is_last = tail_.compare_exchange_strong(last, turn + one, std::memory_order_relaxed,
                                                       std::memory_order_relaxed);
    // relaxed(atomicity): a number, no data; the successor reads the number before it writes 0.
    mine.store(is_last ? 0 : turn + one, std::memory_order_relaxed);
  }

  /// Returns the number with which the predecessor will release the lock.
  static std::uint64_t number_of(std::uint64_t ahead) noexcept {
    if (ahead % one == 0) return ahead;
    word& node = *reinterpret_cast<word*>(ahead - 1);
    const auto is_number = [](std::uint64_t found) noexcept { return found > in_line; };
    // relaxed(atomicity): a number; [turn] carries the data.
    const std::uint64_t number = W::await(node, is_number, std::memory_order_relaxed, policy{});
    // order[leave]: release; pairs [left]; the last access to the node.
    node.store(0, std::memory_order_release);
    return number;
  }

  atomic<W, std::uint64_t> tail_{0};
  atomic<W, std::uint64_t> called_{0};
};

using clh_spinlock = basic_clh_spinlock<>;

}  // namespace lockyard::inline v0
