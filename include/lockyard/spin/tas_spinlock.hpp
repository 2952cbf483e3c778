// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>

namespace lockyard::inline v0 {

/// A test-and-set spinlock with an empty loop: the worst behaved lock of the family, kept as an
/// example to avoid. Every waiter writes the lock's cache line without a pause. The writes slow
/// down the owner and, through the interconnect, threads that do not use the lock.
///
/// Use: only to measure the gain of other spinlocks. Otherwise use yielding_spinlock or a mutex.
/// Source: the "terrible_spinlock" of M. Skarupke, "Measuring Mutexes, Spinlocks and how Bad the
///   Linux Scheduler Really is" (2019).
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
class LOCKYARD_CAPABILITY basic_tas_spinlock
    : public detail::held_assertions<basic_tas_spinlock<W>, W> {
 public:
  constexpr basic_tas_spinlock() noexcept = default;
  basic_tas_spinlock(const basic_tas_spinlock&) = delete;
  basic_tas_spinlock& operator=(const basic_tas_spinlock&) = delete;

  /// Precondition: the calling thread does not hold the lock.
  /// Effects: acquires the lock, spinning while it is held.
  /// Synchronisation: all that earlier owners did before unlock happens before the return.
  /// Progress: none guaranteed to a given thread.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    // order[lock]: acquire; pairs [unlock]; the critical section begins after the previous one.
    W::await_exchange(locked_, true, is_zero, std::memory_order_acquire, wait_policies::busy{});
  }

  /// Precondition: as lock(). Effects: acquires the lock if it is free; returns whether it did.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: wait-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    // order[try_lock]: acquire; pairs [unlock]; as in lock().
    return scope.result(!locked_.exchange(true, std::memory_order_acquire));
  }

  /// Precondition: the calling thread holds the lock. Effects: releases it.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    // order[unlock]: release; pairs [lock, try_lock]; publishes the critical section.
    locked_.store(false, std::memory_order_release);
  }

 private:
  atomic<W, bool> locked_{false};
};

using tas_spinlock = basic_tas_spinlock<>;

}  // namespace lockyard::inline v0
