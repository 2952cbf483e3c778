// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// The compact NUMA-aware lock of Dice and Kogan: a queue lock that hands itself to waiters of the
/// owner's NUMA node for a while, so that the lock and its data seldom cross between sockets.
///
/// Use: on machines with several sockets, where many threads of different sockets contend. On one
///   socket it is an mcs_spinlock that is 16 bytes larger. `guard` contains the node; lock() and
///   unlock() need none, and both forms may be mixed. Under oversubscription it is slow, as every
///   lock that hands itself off is.
/// Source: D. Dice and A. Kogan, "Compact NUMA-aware Locks" (EuroSys 2019). Here a counter bounds
///   the unfairness, and the owner's node is inside the lock, as in mcs_spinlock.
/// Guarantees: mutual exclusion; bounded bypass: the waiter that came first among those that wait
///   is bypassed at most `Bypasses` times, so k waiters ahead of a thread delay it by at most
///   (k + 1) * (Bypasses + 1) acquisitions. Not recursive. Not safe between a thread and its own
///   signal handler. After fork, usable in the child only if no thread waited. The next owner may
///   destroy the lock as soon as it holds the lock: unlock's last access to the lock frees the lock
///   or precedes the hand-off. On x86, unlock does not order non-temporal stores: they need an
///   sfence before it.
/// Size: 32 bytes, however many sockets there are. All zero bytes are the free state.
///
/// | tail_ | meaning |
/// |---|---|
/// | null | free |
/// | &owner_ | held by lock(), the main queue is empty |
/// | another link | held; that link is the last of the main queue, or its owner's |
///
/// The owner's link leads to two queues: `next` to the main queue, whose last link is in tail_, and
/// `skipped` to the last link of a ring of waiters of other nodes.
///
/// Invariants: I1 owner_ is empty except for its numbers of NUMA nodes, unless the owner locked by
/// lock() and a thread waits. I2 the thread that finds a link in tail_ writes to the link's
/// `next_numa_node` and then `next`, once each; all else that a waiter's link leads to is the
/// owner's to change. I3 the ring and then the main queue
/// are in order of arrival: the owner skips only the first waiters of the main queue, in order, and
/// readmits the ring whole, before the main queue. So the ring's first waiter came first.
/// Node lifetime: as in mcs_spinlock: a waiter's node is in exactly one of the queues until its
/// grant, no link leads to it afterwards, and its thread ends it only when its successor has linked
/// itself or cannot come. With a weaker order at [moved], the checker's client cna_spinlock 2x2
/// fails.
template <world W = default_world, std::uint32_t Bypasses = 256>
class LOCKYARD_CAPABILITY basic_cna_spinlock
    : public detail::held_assertions<basic_cna_spinlock<W, Bypasses>, W> {
  struct link {
    atomic<W, link*> next{nullptr};
    var<W, link*> skipped{nullptr};  ///< the last link of the ring; the owner's only
    // Numbers of NUMA nodes are hints: a wrong number costs only time.
    var<W, std::uint16_t> numa_node{0};  ///< where its thread last enqueued; 0 at first
    /// Where the thread of `next` runs: the owner need not fetch the line of that thread's link.
    var<W, std::uint16_t> next_numa_node{0};
    /// How often the ring's first waiter was bypassed; the owner's only.
    var<W, std::uint32_t> bypasses{0};
  };

 public:
  /// A place in the queue, for one acquisition at a time; must live from lock() to unlock(). Its
  /// alignment keeps it on one cache line.
  class alignas(32) node : link {
   public:
    constexpr node() noexcept = default;
    node(const node&) = delete;
    node& operator=(const node&) = delete;

   private:
    friend basic_cna_spinlock;
    atomic<W, bool> granted_{false};
  };

  /// Holds the lock from its constructor to its destructor, and contains the node.
  class [[nodiscard]] LOCKYARD_SCOPED_CAPABILITY guard {
   public:
    explicit guard(basic_cna_spinlock& lock) noexcept LOCKYARD_ACQUIRE(lock) : lock_{lock} {
      lock_.lock(node_);
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() LOCKYARD_RELEASE() { lock_.unlock(node_); }

   private:
    basic_cna_spinlock& lock_;
    node node_;
  };

  constexpr basic_cna_spinlock() noexcept = default;
  basic_cna_spinlock(const basic_cna_spinlock&) = delete;
  basic_cna_spinlock& operator=(const basic_cna_spinlock&) = delete;

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
  /// hands it off to a waiter; waits for a waiter that is just enqueuing.
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
    const auto numa_node = static_cast<std::uint16_t>(W::numa_node());
    mine.numa_node.write(numa_node);
    // (tail)  ahead -> mine
    // order[enqueue]: acq_rel; pairs [take, enqueue, leave, readmit, move]; the predecessor made
    // its link before this thread writes to it, and the successor sees this link made; null is a
    // release.
    link* const ahead = tail_.exchange(&mine, std::memory_order_acq_rel);
    if (ahead == nullptr) return;
    ahead->next_numa_node.write(numa_node);
    // order[link]: release; pairs [linked, searched, moved]; this node is made before an owner
    // reads it or writes to it.
    ahead->next.store(&mine, std::memory_order_release);
    const auto is_granted = [](bool granted) noexcept { return granted; };
    // order[granted]: acquire; pairs [grant]; the critical section begins after the previous one.
    W::await(mine.granted_, is_granted, std::memory_order_acquire, policy{});
  }

  /// Waits with a node on the stack, and replaces that node by owner_ in the queue.
  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    node mine;
    enqueue(mine);
    owner_.skipped.write(mine.skipped.read());
    owner_.numa_node.write(mine.numa_node.read());
    owner_.bypasses.write(mine.bypasses.read());
    link* last = &mine;
    // (tail)  mine -> owner_
    // order[move]: release; pairs [enqueue]; owner_ was emptied before the successor writes to it.
    // relaxed(hint): a failure says that there is a successor.
    if (tail_.compare_exchange_strong(last, &owner_, std::memory_order_release,
                                      std::memory_order_relaxed))
      return;
    // order[moved]: acquire; pairs [link]; the successor no longer uses this node, and is ready.
    link* const behind = W::await(mine.next, is_there, std::memory_order_acquire, policy{});
    owner_.next_numa_node.write(mine.next_numa_node.read());
    // relaxed(owner): only the owner reads owner_.next.
    owner_.next.store(behind, std::memory_order_relaxed);
  }

  void release(link& mine) noexcept {
    // relaxed(revalidated): null decides nothing, and [linked] reads again.
    if (mine.next.load(std::memory_order_relaxed) == nullptr && mine.skipped.read() == nullptr) {
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
    link* const skipped = mine.skipped.read();
    // relaxed(revalidated): null decides nothing, as in release().
    if (skipped != nullptr && mine.next.load(std::memory_order_relaxed) == nullptr) {
      // relaxed(owner): I2.
      link* const oldest = skipped->next.load(std::memory_order_relaxed);
      // relaxed(unpublished): [readmit] publishes that the link has no successor.
      skipped->next.store(nullptr, std::memory_order_relaxed);
      link* last = &mine;
      // (tail)  mine -> skipped
      // order[readmit]: release; pairs [enqueue]; the link is without a successor before the next
      // newcomer writes to it. relaxed(hint): a failure says that there is a successor.
      if (tail_.compare_exchange_strong(last, skipped, std::memory_order_release,
                                        std::memory_order_relaxed))
        return grant(mine, oldest, nullptr, 0);
      // relaxed(owner): I2; the ring is whole again.
      skipped->next.store(oldest, std::memory_order_relaxed);
    }
    // order[linked]: acquire; pairs [link]; the successor's node is made before this thread reads
    // it and writes to it.
    link* const first = W::await(mine.next, is_there, std::memory_order_acquire, policy{});
    const std::uint32_t bypasses = mine.bypasses.read();
    const bool is_due = bypasses >= Bypasses;
    const auto [stranger, neighbour] = is_due ? neighbour_search{} : find_neighbour(mine, first);
    if (neighbour == nullptr) {
      grant(mine, skipped == nullptr ? first : insert(*skipped, mine, first), nullptr, 0);
    } else if (stranger == nullptr) {
      grant(mine, neighbour, skipped, bypasses + 1);
    } else {
      // relaxed(owner): I2; the ring closes behind its new last link.
      stranger->next.store(skipped == nullptr ? first : insert(*skipped, mine, first),
                           std::memory_order_relaxed);
      grant(mine, neighbour, stranger, bypasses + 1);
    }
  }

  struct neighbour_search {
    link* stranger = nullptr;   ///< the last link before the neighbour's; null: there is none
    link* neighbour = nullptr;  ///< null: none has linked itself
  };

  /// Returns the first waiter of the main queue that runs on the owner's NUMA node.
  static neighbour_search find_neighbour(link& mine, link* first) noexcept {
    const std::uint16_t wanted = mine.numa_node.read();
    link* stranger = nullptr;
    std::uint16_t numa_node = mine.next_numa_node.read();
    for (link* each = first; each != nullptr;) {
      if (numa_node == wanted) return {stranger, each};
      stranger = each;
      // order[searched]: acquire; pairs [link]; the link behind is made before this thread uses it,
      // and its NUMA node is known.
      each = each->next.load(std::memory_order_acquire);
      if (each != nullptr) numa_node = stranger->next_numa_node.read();
    }
    return {};
  }

  /// Puts the main queue behind the ring's last link, and returns the ring's first link.
  static link* insert(link& skipped, link& mine, link* first) noexcept {
    // relaxed(owner): I2.
    link* const oldest = skipped.next.load(std::memory_order_relaxed);
    skipped.next_numa_node.write(mine.next_numa_node.read());
    // relaxed(owner): I2.
    skipped.next.store(first, std::memory_order_relaxed);
    return oldest;
  }

  /// Makes the thread of `to` the owner. `bypasses`: how often the ring's first waiter, if there is
  /// one, has been bypassed, this time included.
  static void grant(link& mine, link* to, link* skipped, std::uint32_t bypasses) noexcept {
    // relaxed(owner): I1; [grant] publishes it to the next owner.
    mine.next.store(nullptr, std::memory_order_relaxed);
    mine.skipped.write(nullptr);
    mine.bypasses.write(0);
    if (skipped != nullptr) {
      to->skipped.write(skipped);
      to->bypasses.write(bypasses);
    }
    // order[grant]: release; pairs [granted]; publishes the critical section and the queues.
    static_cast<node*>(to)->granted_.store(true, std::memory_order_release);
  }

  static constexpr auto is_there = [](link* each) noexcept { return each != nullptr; };

  atomic<W, link*> tail_{nullptr};
  link owner_;
};

using cna_spinlock = basic_cna_spinlock<>;

}  // namespace lockyard::inline v0
