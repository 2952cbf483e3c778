// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>

namespace lockyard::inline v0 {

/// The queue lock of Mellor-Crummey and Scott: each waiter spins on a node of its own, to which the
/// one before it hands the lock over.
///
/// Use: among many cores, where waiters on one word would disturb each other. `guard` keeps the
/// node at its user; lock() and unlock() do without one, and both forms may be mixed. Under
/// oversubscription it suffers like every lock with an order.
/// Source: J. Mellor-Crummey and M. Scott, "Algorithms for Scalable Synchronization on
/// Shared-Memory
///   Multiprocessors" (1991); that an owner's node may lie in the lock, from the lock of the K42
///   system (M. Auslander and others, 2002). So several locks may be held and released in any
///   order, and no thread needs nodes of its own.
/// Guarantees: mutual exclusion; first come, first served, by the order of the exchanges. Not
///   recursive. Not safe between a thread and its own signal handler. After fork usable in the
///   child only if nobody waited. May be destroyed by the next owner as soon as that one holds it:
///   the last access of unlock to the lock is before the hand-over, or is the one that frees it.
///   On x86 unlock does not order non-temporal stores: they need an sfence before it.
/// Size: 16 bytes. All zero bytes are the free state.
///
/// | tail_ | meaning |
/// |---|---|
/// | null | free |
/// | &owner_ | held by lock(), nobody waits |
/// | another link | held; that link's thread came last |
///
/// Invariants: I1 owner_.next is null unless the owner locked by lock() and somebody waits.
/// I2 whoever finds a link in tail_ writes to it once, and nobody else gets to know the link.
/// Node lifetime: a node is written to by the one behind it (I2) and the one ahead. lock() leaves
/// its own only when it has read what the one ahead writes, and when tail_ has been taken off the
/// node, so that none will come, or the one behind has written. unlock(node) likewise. A planted
/// return before the link is there turns mcs_spinlock 3x1 in the checker to `lifetime`.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_mcs_spinlock
    : public detail::held_assertions<basic_mcs_spinlock<W>, W> {
  struct link {
    typename W::template atomic<link*> next{nullptr};
  };

 public:
  /// A place in the queue, for one acquisition at a time; must live from lock() to unlock().
  class node : link {
   public:
    constexpr node() noexcept = default;
    node(const node&) = delete;
    node& operator=(const node&) = delete;

   private:
    friend basic_mcs_spinlock;
    typename W::template atomic<bool> granted_{false};
  };

  /// Holds the lock from its constructor to its destructor, with its node within.
  class [[nodiscard]] LOCKYARD_SCOPED_CAPABILITY guard {
   public:
    explicit guard(basic_mcs_spinlock& lock) noexcept LOCKYARD_ACQUIRE(lock) : lock_{lock} {
      lock_.lock(node_);
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() LOCKYARD_RELEASE() { lock_.unlock(node_); }

   private:
    basic_mcs_spinlock& lock_;
    node node_;
  };

  constexpr basic_mcs_spinlock() noexcept = default;
  basic_mcs_spinlock(const basic_mcs_spinlock&) = delete;
  basic_mcs_spinlock& operator=(const basic_mcs_spinlock&) = delete;

  /// Precondition: the calling thread does not hold the lock.
  /// Effects: acquires the lock, waiting in line while it is held, spinning and yielding in turns.
  /// Synchronisation: what earlier owners did before unlock happens before the return.
  /// Progress: starvation-free if every owner unlocks and every thread is run by the scheduler.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take(owner_)) [[unlikely]]
      lock_contended();
  }

  /// The same with a node that is not in use. Precondition also: the node lives until
  /// unlock(mine), by which the lock is to be released.
  void lock(node& mine) noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take(mine)) [[unlikely]]
      line_up(mine);
  }

  /// Precondition: as lock(). Effects: acquires the lock if it is free; returns whether it did.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: wait-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take(owner_));
  }
  [[nodiscard]] bool try_lock(node& mine) noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take(mine));
  }

  /// Precondition: the calling thread holds the lock by the same form. Effects: releases it, to the
  /// one that waits longest if there is one; waits for that one if it is just entering the line.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free if nobody waits.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    release(owner_);
  }
  void unlock(node& mine) noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    release(mine);
  }

 private:
  using policy = wait_policies::pausing_then_yielding<16>;

  bool take(link& mine) noexcept {
    link* free = nullptr;
    // (tail)  null -> mine
    // order[take]: acq_rel; pairs [leave, enqueue]; the critical section starts after the last
    // one's end, and the one behind sees the link as it is now. relaxed(hint): a failure promises
    // nothing.
    return tail_.compare_exchange_strong(free, &mine, std::memory_order_acq_rel,
                                         std::memory_order_relaxed);
  }

  /// Until this thread owns the lock.
  void line_up(node& mine) noexcept {
    // relaxed(unpublished): of an acquisition before; [enqueue] publishes the node.
    mine.granted_.store(false, std::memory_order_relaxed);
    // (tail)  ahead -> mine
    // order[enqueue]: acq_rel; pairs [take, enqueue, leave, move]; the one ahead made its link
    // before this thread writes to it, and the one behind sees this one made; null is a release.
    link* const ahead = tail_.exchange(&mine, std::memory_order_acq_rel);
    if (ahead == nullptr) return;
    // order[link]: release; pairs [linked, moved]; this node is made before the one ahead writes to
    // it.
    ahead->next.store(&mine, std::memory_order_release);
    const auto is_granted = [](bool granted) noexcept { return granted; };
    // order[granted]: acquire; pairs [grant]; the critical section starts after the last one's end.
    W::await(mine.granted_, is_granted, std::memory_order_acquire, policy{});
  }

  /// Waits with a node on the stack, and leaves its place to owner_.
  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    node mine;
    line_up(mine);
    link* last = &mine;
    // (tail)  mine -> owner_
    // order[move]: release; pairs [enqueue]; owner_ was emptied before the one behind writes to it.
    // relaxed(hint): a failure says that there is one behind.
    if (tail_.compare_exchange_strong(last, &owner_, std::memory_order_release,
                                      std::memory_order_relaxed))
      return;
    // order[moved]: acquire; pairs [link]; the one behind is done with this node, and ready.
    link* const behind = W::await(mine.next, is_there, std::memory_order_acquire, policy{});
    // relaxed(owner): only the owner reads it.
    owner_.next.store(behind, std::memory_order_relaxed);
  }

  void release(link& mine) noexcept {
    // relaxed(revalidated): a null decides nothing, and [linked] reads again.
    if (mine.next.load(std::memory_order_relaxed) == nullptr) {
      link* last = &mine;
      // (tail)  mine -> null
      // order[leave]: release; pairs [take, enqueue]; publishes the critical section.
      // relaxed(hint): a failure says that there is one behind.
      if (tail_.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                        std::memory_order_relaxed)) [[likely]]
        return;
    }
    hand_over(mine);
  }

  [[gnu::noinline, gnu::cold]] void hand_over(link& mine) noexcept {
    // order[linked]: acquire; pairs [link]; the node behind is ready to be written to.
    link* const behind = W::await(mine.next, is_there, std::memory_order_acquire, policy{});
    // relaxed(owner): I1; [grant] publishes it to the next owner.
    mine.next.store(nullptr, std::memory_order_relaxed);
    // order[grant]: release; pairs [granted]; publishes the critical section.
    static_cast<node*>(behind)->granted_.store(true, std::memory_order_release);
  }

  static constexpr auto is_there = [](link* each) noexcept { return each != nullptr; };

  typename W::template atomic<link*> tail_{nullptr};
  link owner_;
};

using mcs_spinlock = basic_mcs_spinlock<>;

}  // namespace lockyard::inline v0
