// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// A test and test-and-set spinlock whose waiters read the lock less and less often, at random
/// times, and after a while take naps between the reads. Waiters never yield: each yield asks the
/// scheduler for a decision, and many yielding waiters keep the scheduler busy with nothing else.
///
/// Use: for short critical sections, where the lock must fit in a byte and threads may outnumber
/// cores. After the spin, the nap limits the latency: unlock does not wake a napping waiter, so a
/// waiter may sleep for up to a millisecond, plus the kernel's delay, although the lock is free.
/// Where this delay is too long use a mutex: its unlock wakes a waiter.
/// Source: T. Anderson, "The Performance of Spin Lock Alternatives for Shared-Memory
///   Multiprocessors" (1990), for back-off; the naps are an addition of this library.
/// Guarantees: mutual exclusion. No fairness, not even progress for a given thread. Not recursive.
///   Not safe between a thread and its own signal handler. After fork, the child may unlock its
///   copy if the forking thread held the lock. The next owner may destroy the lock as soon as it
///   holds the lock: unlock accesses the lock once, and a napping waiter sleeps on a word of its
///   own stack. On x86, unlock does not order non-temporal stores: they need an sfence before it.
/// Size: 1 byte. All zero bytes are the free state.
///
/// | locked_ | meaning |
/// |---|---|
/// | false | free |
/// | true | held |
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_backoff_spinlock
    : public detail::held_assertions<basic_backoff_spinlock<W>, W> {
 public:
  constexpr basic_backoff_spinlock() noexcept = default;
  basic_backoff_spinlock(const basic_backoff_spinlock&) = delete;
  basic_backoff_spinlock& operator=(const basic_backoff_spinlock&) = delete;

  /// Precondition: the calling thread does not hold the lock.
  /// Effects: acquires the lock; while the lock is held, spins for as long as a sleep would cost,
  /// then naps and spins in turns. Each nap is twice as long as the previous nap, 50 us to 1 ms.
  /// Synchronisation: all that earlier owners did before unlock happens before the return.
  /// Progress: none guaranteed to a given thread.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take()) [[unlikely]]
      lock_contended();
  }

  /// Precondition: as lock(). Effects: acquires the lock if it is free; returns whether it did.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: wait-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds the lock. Effects: releases it.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    // order[unlock]: release; pairs [take]; publishes the critical section.
    locked_.store(false, std::memory_order_release);
  }

 private:
  /// Each read costs the owner about 100 ns: the cache line travels to the waiter and back.
  using backing_off = wait_policies::backing_off<100, 1600>;
  static constexpr std::chrono::microseconds shortest_nap{50};
  static constexpr std::chrono::microseconds longest_nap{1000};

  bool take() noexcept {
    // relaxed(revalidated): a stale "free" is caught by the exchange.
    if (locked_.load(std::memory_order_relaxed)) return false;
    // order[take]: acquire; pairs [unlock]; the critical section begins after the previous one.
    return !locked_.exchange(true, std::memory_order_acquire);
  }

  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    backing_off policy;
    const atomic<W, std::uint32_t> bed{0};
    for (auto nap = shortest_nap;; nap = std::min(nap * 2, longest_nap)) {
      const auto limit = W::spin_limit();
      // relaxed(revalidated): take() decides.
      while (W::await(locked_, is_zero, std::memory_order_relaxed, policy, limit)) {
        if (take()) return;
      }
      // No other thread knows `bed`: only the deadline or a spurious wake ends the nap, and both
      // only lead to another read.
      W::wait(bed, 0, W::deadline_after(nap));
    }
  }

  atomic<W, bool> locked_{false};
};

using backoff_spinlock = basic_backoff_spinlock<>;

}  // namespace lockyard::inline v0
