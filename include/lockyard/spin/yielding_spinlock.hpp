// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>

namespace lockyard::inline v0 {

/// A test and test-and-set spinlock that yields the processor after every 16 pauses.
///
/// Use: for short critical sections where a mutex is too large or too slow uncontended. A yield
/// costs scheduler time in the kernel and does not guarantee that the owner runs next: where waits
/// are long, or priorities differ, use a mutex.
/// Source: the "spinlock" of M. Skarupke (2019).
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
class LOCKYARD_CAPABILITY basic_yielding_spinlock
    : public detail::held_assertions<basic_yielding_spinlock<W>, W> {
 public:
  constexpr basic_yielding_spinlock() noexcept = default;
  basic_yielding_spinlock(const basic_yielding_spinlock&) = delete;
  basic_yielding_spinlock& operator=(const basic_yielding_spinlock&) = delete;

  /// Precondition: the calling thread does not hold the lock.
  /// Effects: acquires the lock; while the lock is held, spins and yields in turns.
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
  bool take() noexcept {
    // relaxed(revalidated): a stale "free" is caught by the exchange.
    if (locked_.load(std::memory_order_relaxed)) return false;
    // order[take]: acquire; pairs [unlock]; the critical section begins after the previous one.
    return !locked_.exchange(true, std::memory_order_acquire);
  }

  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    wait_policies::pausing_then_yielding<16> policy;
    do {
      // relaxed(revalidated): take() decides.
      W::await(locked_, is_zero, std::memory_order_relaxed, policy);
    } while (!take());
  }

  atomic<W, bool> locked_{false};
};

using yielding_spinlock = basic_yielding_spinlock<>;

}  // namespace lockyard::inline v0
