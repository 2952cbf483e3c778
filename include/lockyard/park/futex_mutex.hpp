// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// A mutex of one word with three states, whose waiters sleep as soon as they find the lock held:
/// the textbook futex mutex, and the baseline for the other parking locks.
///
/// Use: where waiters must not burn processor time. It does not spin, so a short wait costs two
///   trips into the kernel.
/// Source: after U. Drepper, "Futexes Are Tricky" (2004), the third mutex; unlock by exchange.
/// Guarantees: mutual exclusion; no lost wake-up (below); timed. A newcomer may barge past a woken
///   waiter any number of times. Not recursive. Not safe between a thread and its own signal
///   handler. After fork, held by the forking thread alone. The next owner may destroy the mutex as
///   soon as it holds it: after the exchange, unlock uses the lock's address only, to name the
///   sleepers to the kernel. Within one process only.
/// Size: 4 bytes. All zero bytes are the free state.
///
/// | state_ | meaning |
/// |---|---|
/// | 0 | free |
/// | 1 | held, no thread sleeps |
/// | 2 | held, a thread may sleep |
///
/// Invariant I1: while a thread sleeps in the kernel, state_ is 2, or an owner is between its
/// exchange and its wake, or a woken thread is on its way to its exchange.
/// No lost wake-up: a thread sleeps only if the kernel finds 2, compared and enqueued in one step
/// against every wake. The owner that takes the word from 2 to 0 wakes one sleeper; that sleeper,
/// like every thread that has been in the slow path, comes back with 2, not 1, because it cannot
/// know whether others sleep on. So I1 holds again when it owns the lock. If the woken thread finds
/// the lock held, it sets 2 before it sleeps. A wake that reaches a sleeper at its deadline is
/// reported as a wake, never as a time-out, and that sleeper looks again: no wake is spent on a
/// thread that leaves. A thread that does leave keeps 2 in the word, which costs one wake that may
/// find no sleeper. A seeded `exchange(1)` in the slow path turns
/// FutexMutex.comes_back_from_sleep_expecting_other_sleepers red.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_futex_mutex : public detail::timed_lock<basic_futex_mutex<W>, W> {
 public:
  constexpr basic_futex_mutex() noexcept = default;
  basic_futex_mutex(const basic_futex_mutex&) = delete;
  basic_futex_mutex& operator=(const basic_futex_mutex&) = delete;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex, sleeping while it is held.
  /// Synchronisation: everything earlier owners did before unlock happens before the return.
  /// Progress: deadlock-free; none guaranteed to a given thread.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take()) [[unlikely]]
      take_contended();
  }

  /// Precondition: as lock(). Effects: acquires the mutex if it is free; returns whether it did.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: wait-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds the mutex.
  /// Effects: releases it, and wakes one sleeper if there may be one.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free except for the system call.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    // (state)  1 -> 0,  2 -> 0 and one wake
    // order[unlock]: release; pairs [take, retake]; publishes the critical section.
    if (state_.exchange(0, std::memory_order_release) == 2) [[unlikely]] {
      W::wake(state_, 1);
    }
  }

 private:
  friend detail::timed_lock<basic_futex_mutex, W>;

  bool take() noexcept {
    std::uint32_t expected = 0;
    // (state)  0 -> 1
    // order[take]: acquire; pairs [unlock]; the critical section starts after the last one's end.
    // relaxed(hint): a failure promises nothing.
    return state_.compare_exchange_strong(expected, 1, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  bool take_until(typename W::deadline limit) noexcept { return take_contended(limit); }

  /// Returns false if there is a deadline and it passed first.
  [[gnu::noinline, gnu::cold]] bool take_contended(typename W::deadline limit = W::never) noexcept {
    typename W::contended scope{this};
    // (state)  0 -> 2 and owned,  1 -> 2,  2 -> 2
    // order[retake]: acquire; pairs [unlock]; as in take().
    while (state_.exchange(2, std::memory_order_acquire) != 0) {
      if (W::wait(state_, 2, limit) == W::wait_result::timed_out) return scope.result(false);
    }
    return true;
  }

  atomic<W, std::uint32_t> state_{0};
};

using futex_mutex = basic_futex_mutex<>;

}  // namespace lockyard::inline v0
