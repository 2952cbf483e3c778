// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// A mutex that spins for as long as spinning has lately helped, and then sleeps.
///
/// Use: where the hold time of the lock is unknown. Waiters of a lock with short holds stay out of
///   the kernel; waiters of a lock with long holds soon learn to sleep there.
/// Source: the adaptive mutex of Solaris and the C library (PTHREAD_MUTEX_ADAPTIVE_NP), whose rule
///   for the length of the spin this is, on U. Drepper's mutex of three states ("Futexes Are
///   Tricky", 2004). Unlike theirs, the cost of a sleep bounds the spin here, and a spin that was
///   too short makes the next spins shorter, not longer.
/// Guarantees: mutual exclusion; no lost wake-up (below); timed. A newcomer or a spinner may barge
///   past a sleeper any number of times. Not recursive. Not safe between a thread and its own
///   signal handler. After fork, held by the forking thread alone. The next owner may destroy the
///   mutex as soon as it holds it: after the exchange, unlock uses the address only; and owners
///   alone write the estimate. Within one process only.
/// Size: 8 bytes. All zero bytes are the free state.
///
/// | state_ | meaning |
/// |---|---|
/// | 0 | free |
/// | 1 | held, no thread sleeps |
/// | 2 | held, a thread may sleep |
///
/// The spin: at most 2 * mean + 10 looks with a pause each, and never longer than W::spin_limit().
/// The mean is the average number of looks of the threads that acquired the lock after a wait,
/// where a spin that was not enough counts as no looks; each newcomer counts for an eighth.
///
/// Invariant I1: while a thread sleeps in the kernel, state_ is 2, or an owner is between its
/// exchange and its wake, or a woken thread is on its way to its exchange.
/// No lost wake-up: a thread sleeps only if the kernel finds 2, compared and enqueued in one step
/// against every wake. The owner that takes the word from 2 to 0 wakes one sleeper, which comes
/// back by exchanging 2, not 1, so that I1 holds again; the woken thread does not spin any more.
/// Spinners and newcomers take 0 to 1 only, and then the wake that followed the 0 is under way. A
/// wake that reaches a sleeper at its deadline is reported as a wake, so no wake is spent on a
/// thread that leaves. A dropped wake turns AdaptiveMutex.sleeps_once_spinning_has_taken_too_long
/// red.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_adaptive_mutex
    : public detail::timed_lock<basic_adaptive_mutex<W>, W> {
 public:
  constexpr basic_adaptive_mutex() noexcept = default;
  basic_adaptive_mutex(const basic_adaptive_mutex&) = delete;
  basic_adaptive_mutex& operator=(const basic_adaptive_mutex&) = delete;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex, spinning and then sleeping while it is held.
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
  friend detail::timed_lock<basic_adaptive_mutex, W>;

  /// Pauses, and counts the looks.
  struct counting {
    std::int32_t looks = 0;

    template <class World>
    step_length step() noexcept {
      ++looks;
      World::pause();
      return step_length::brief;
    }
  };

  bool take() noexcept {
    std::uint32_t expected = 0;
    // (state)  0 -> 1
    // order[take]: acquire; pairs [unlock]; the critical section starts after the last one's end.
    // relaxed(hint): a failure promises nothing.
    return state_.compare_exchange_strong(expected, 1, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  bool take_until(typename W::deadline limit) noexcept { return take_contended(limit); }

  /// Returns false if there is a deadline and it passed first. The spin does not check it: a
  /// time-out may be late by the length of a spin.
  [[gnu::noinline, gnu::cold]] bool take_contended(typename W::deadline limit = W::never) noexcept {
    typename W::contended scope{this};
    // relaxed(hint): how long to spin.
    const std::int32_t known = eight_means_.load(std::memory_order_relaxed);
    counting spin;
    const bool is_enough = take_spinning(spin, known / 8);
    if (!is_enough && !take_sleeping(limit)) return scope.result(false);
    const std::int32_t learned = known - known / 8 + (is_enough ? spin.looks : 0);
    // relaxed(locked): owners write it; any other reader takes it for a hint.
    if (learned != known) eight_means_.store(learned, std::memory_order_relaxed);
    return true;
  }

  bool take_spinning(counting& spin, std::int32_t mean) noexcept {
    constexpr std::chrono::microseconds measure{10};
    const std::chrono::nanoseconds expected =
        (2 * mean + 10) * std::chrono::nanoseconds{measure} / W::pauses_in(measure);
    const auto limit = W::spin_limit(expected);
    do {
      // relaxed(revalidated): take() decides.
      if (!W::await(state_, is_zero, std::memory_order_relaxed, spin, limit)) return false;
      if (take()) return true;
    } while (!W::passed(limit));
    return false;
  }

  bool take_sleeping(typename W::deadline limit) noexcept {
    // (state)  0 -> 2 and owned,  1 -> 2,  2 -> 2
    // order[retake]: acquire; pairs [unlock]; as in take().
    while (state_.exchange(2, std::memory_order_acquire) != 0) {
      if (W::wait(state_, 2, limit) == W::wait_result::timed_out) return false;
    }
    return true;
  }

  atomic<W, std::uint32_t> state_{0};
  atomic<W, std::int32_t> eight_means_{0};  ///< an eighth of a look is kept
};

using adaptive_mutex = basic_adaptive_mutex<>;

}  // namespace lockyard::inline v0
