// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>

namespace lockyard::inline v0 {

/// A test and test-and-set spinlock that pauses and never yields. Waiters read a shared copy of
/// the cache line until the lock looks free, so they do not disturb the owner. But while the owner
/// is preempted, a waiter wastes its whole time slice.
///
/// Use: where there are never more threads than cores and critical sections are short. Under
/// oversubscription use yielding_spinlock or a mutex.
/// Source: the "spinlock_amd" of M. Skarupke (2019), after AMD's advice for spin loops; test and
///   test-and-set is due to L. Rudolph and Z. Segall (1984).
/// Guarantees: mutual exclusion. No fairness, not even progress for a given thread. Not recursive.
///   Not safe between a thread and its own signal handler. After fork, the child may unlock its
///   copy if the forking thread held the lock. The next owner may destroy the lock as soon as it
///   holds the lock: unlock accesses the lock once. On x86, unlock does not order non-temporal
///   stores: they need an sfence before it.
/// Size: 1 byte. All zero bytes are the free state.
///
/// | locked_ | meaning |
/// |---|---|
/// | false | free |
/// | true | held |
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_ttas_spinlock
    : public detail::held_assertions<basic_ttas_spinlock<W>, W> {
 public:
  constexpr basic_ttas_spinlock() noexcept = default;
  basic_ttas_spinlock(const basic_ttas_spinlock&) = delete;
  basic_ttas_spinlock& operator=(const basic_ttas_spinlock&) = delete;

  /// Precondition: the calling thread does not hold the lock.
  /// Effects: acquires the lock, spinning while it is held.
  /// Synchronisation: all that earlier owners did before unlock happens before the return.
  /// Progress: none guaranteed to a given thread.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    while (!take()) {
      // relaxed(revalidated): take() decides.
      W::await(locked_, is_zero, std::memory_order_relaxed, wait_policies::pausing{});
    }
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
  bool take() noexcept {
    bool expected = false;
    // relaxed(revalidated): a stale "free" is caught by the compare-exchange.
    if (locked_.load(std::memory_order_relaxed)) return false;
    // order[take]: acquire; pairs [unlock]; the critical section begins after the previous one.
    // relaxed(hint): a failure promises nothing.
    return locked_.compare_exchange_strong(expected, true, std::memory_order_acquire,
                                           std::memory_order_relaxed);
  }

  atomic<W, bool> locked_{false};
};

using ttas_spinlock = basic_ttas_spinlock<>;

}  // namespace lockyard::inline v0
