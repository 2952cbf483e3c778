// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>

namespace lockyard::inline v0 {

/// The queue lock of Mellor-Crummey and Scott: each waiter spins on its own node, and the previous
/// owner hands off the lock by a write to that node.
///
/// Use: on many cores, where waiters on one word would disturb each other. `guard` contains the
/// node; lock() and unlock() need none, and both forms may be mixed. Under oversubscription it is
/// slow, as every lock with strict order is.
/// Source: J. Mellor-Crummey and M. Scott, "Algorithms for Scalable Synchronization on
///   Shared-Memory Multiprocessors" (1991). The lock of the K42 system (M. Auslander and others,
///   2002) adds the owner's node inside the lock. So a thread may hold several locks, release them
///   in any order, and needs no nodes of its own.
/// Guarantees: mutual exclusion; first come, first served, by the order of the exchanges. Not
///   recursive. Not safe between a thread and its own signal handler. After fork, usable in the
///   child only if no thread waited. The next owner may destroy the lock as soon as it holds the
///   lock: unlock's last access to the lock frees the lock or precedes the hand-off.
///   On x86, unlock does not order non-temporal stores: they need an sfence before it.
/// Size: 16 bytes. All zero bytes are the free state.
///
/// | tail_ | meaning |
/// |---|---|
/// | null | free |
/// | &owner_ | held by lock(), no thread waits |
/// | another link | held; that link's thread enqueued last |
///
/// Invariants: I1 owner_.next is null unless the owner locked by lock() and a thread waits.
/// I2 the thread that finds a link in tail_ writes to the link once, and no other thread learns
/// the link's address.
/// Node lifetime: the successor (I2) and the predecessor write to a node. lock() ends the life of
/// its node only after it has read the predecessor's write, and after either tail_ no longer
/// points to the node, so that no successor can come, or the successor has written. unlock(node)
/// does the same. A seeded return before the link is there makes the checker's client
/// mcs_spinlock 3x1 fail with `lifetime`.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_mcs_spinlock
    : public detail::held_assertions<basic_mcs_spinlock<W>, W> {
  struct link {
    atomic<W, link*> next{nullptr};
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
    atomic<W, bool> granted_{false};
  };

  /// Holds the lock from its constructor to its destructor, and contains the node.
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
  /// Effects: acquires the lock; while it is held, waits in the queue, spinning and yielding in
  /// turns.
  /// Synchronisation: all that earlier owners did before unlock happens before the return.
  /// Progress: starvation-free if every owner unlocks and the scheduler runs every thread.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take(owner_)) [[unlikely]]
      lock_contended();
  }

  /// As lock(), with a node that is not in use. Further precondition: the node lives until
  /// unlock(mine), which must release the lock.
  void lock(node& mine) noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take(mine)) [[unlikely]]
      enqueue(mine);
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

  /// Precondition: the calling thread acquired the lock by the same form. Effects: releases it, or
  /// hands it off to the first waiter of the queue; waits for a waiter that is just enqueuing.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free if no thread waits.
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
    // order[take]: acq_rel; pairs [leave, enqueue]; the critical section begins after the previous
    // one, and the successor sees the link as it is now. relaxed(hint): a failure promises nothing.
    return tail_.compare_exchange_strong(free, &mine, std::memory_order_acq_rel,
                                         std::memory_order_relaxed);
  }

  /// Enqueues `mine` and waits until this thread owns the lock.
  void enqueue(node& mine) noexcept {
    // relaxed(unpublished): resets the previous acquisition's grant; [enqueue] publishes the node.
    mine.granted_.store(false, std::memory_order_relaxed);
    // (tail)  ahead -> mine
    // order[enqueue]: acq_rel; pairs [take, enqueue, leave, move]; the predecessor made its link
    // before this thread writes to it, and the successor sees this link made; null is a release.
    link* const ahead = tail_.exchange(&mine, std::memory_order_acq_rel);
    if (ahead == nullptr) return;
    // order[link]: release; pairs [linked, moved]; this node is made before the predecessor writes
    // to it.
    ahead->next.store(&mine, std::memory_order_release);
    const auto is_granted = [](bool granted) noexcept { return granted; };
    // order[granted]: acquire; pairs [grant]; the critical section begins after the previous one.
    W::await(mine.granted_, is_granted, std::memory_order_acquire, policy{});
  }

  /// Waits with a node on the stack, and replaces that node by owner_ in the queue.
  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    node mine;
    enqueue(mine);
    link* last = &mine;
    // (tail)  mine -> owner_
    // order[move]: release; pairs [enqueue]; owner_ was emptied before the successor writes to it.
    // relaxed(hint): a failure says that there is a successor.
    if (tail_.compare_exchange_strong(last, &owner_, std::memory_order_release,
                                      std::memory_order_relaxed))
      return;
    // order[moved]: acquire; pairs [link]; the successor no longer uses this node, and is ready.
    link* const behind = W::await(mine.next, is_there, std::memory_order_acquire, policy{});
    // relaxed(owner): only the owner reads owner_.next.
    owner_.next.store(behind, std::memory_order_relaxed);
  }

  void release(link& mine) noexcept {
    // relaxed(revalidated): null decides nothing, and [linked] reads again.
    if (mine.next.load(std::memory_order_relaxed) == nullptr) {
      link* last = &mine;
      // (tail)  mine -> null
      // order[leave]: release; pairs [take, enqueue]; publishes the critical section.
      // relaxed(hint): a failure says that there is a successor.
      if (tail_.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                        std::memory_order_relaxed)) [[likely]]
        return;
    }
    hand_over(mine);
  }

  [[gnu::noinline, gnu::cold]] void hand_over(link& mine) noexcept {
    // order[linked]: acquire; pairs [link]; the successor's node is made before this thread writes.
    link* const behind = W::await(mine.next, is_there, std::memory_order_acquire, policy{});
    // relaxed(owner): I1; [grant] publishes it to the next owner.
    mine.next.store(nullptr, std::memory_order_relaxed);
    // order[grant]: release; pairs [granted]; publishes the critical section.
    static_cast<node*>(behind)->granted_.store(true, std::memory_order_release);
  }

  static constexpr auto is_there = [](link* each) noexcept { return each != nullptr; };

  atomic<W, link*> tail_{nullptr};
  link owner_;
};

using mcs_spinlock = basic_mcs_spinlock<>;

}  // namespace lockyard::inline v0
