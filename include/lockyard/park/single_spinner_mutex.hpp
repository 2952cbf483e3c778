// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// A mutex in which one waiter spins and the others sleep, and which a plain store releases.
///
/// Use: to see the cost of the compromise: the uncontended path equals a spinlock's, and under
///   contention one thread burns a core. Not where waiters have higher priority than owners: the
///   waiter that spins only yields.
/// Source: M. Skarupke, "Measuring Mutexes, Spinlocks and how Bad the Linux Scheduler Really is"
///   (2019), `spin_to_futex_mutex`; the time-outs are added here.
/// Guarantees: mutual exclusion; no lost wake-up (below); timed. A newcomer may barge past any
///   waiter any number of times. Not recursive. Not safe between a thread and its own signal
///   handler. After fork, held by the forking thread alone. The next owner may destroy the mutex as
///   soon as it holds it: after the store, unlock uses the address only. Within one process only.
///   On x86 unlock does not order non-temporal stores: they need an sfence before it.
/// Size: 4 bytes. All zero bytes are the free state.
///
/// | state_ | meaning |
/// |---|---|
/// | 0 | free |
/// | 1 | held; unlock wakes no thread |
/// | 2 | held; a thread may sleep |
///
/// A waiter exchanges 2 into the word: it spins if 1 came out, sleeps if 2 came out, owns the lock
/// if 0 did. A second spinner is possible: unlock may erase the first spinner's 2, and a newcomer
/// bring the word to 1 again before that spinner looks.
///
/// Invariant I1: while a thread sleeps in the kernel, the owner found the lock by exchanging 2 and
/// will wake, or a wake is under way, or another waiter is awake: a spinner, or one on its way to
/// its exchange.
/// No lost wake-up: unlock looks at the word and then stores 0, so a 2 that lands in between is
/// erased, and no thread woken. Only the exchange that finds 1 can land there first, because an
/// owner that came with 2 sees 2; and the thread of that exchange does not sleep but spins until it
/// sees the 0. It keeps I1 for all threads that found its 2 and sleep, then owns the lock with 2,
/// or finds the 2 of another owner that came by exchange, or a 1 for which it spins on. A spinner
/// that gives up takes its 2 back, so that no thread relies on it any more, and wakes one sleeper
/// to take its place. A wake that reaches a sleeper at its deadline is reported as a wake. Without
/// that last wake SingleSpinnerMutex.hands_its_place_on_when_it_gives_up_spinning is red, and so is
/// the checker's client of three threads with a time-out.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_single_spinner_mutex
    : public detail::timed_lock<basic_single_spinner_mutex<W>, W> {
 public:
  constexpr basic_single_spinner_mutex() noexcept = default;
  basic_single_spinner_mutex(const basic_single_spinner_mutex&) = delete;
  basic_single_spinner_mutex& operator=(const basic_single_spinner_mutex&) = delete;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex; while it is held, spins and yields in turns if no other thread
  /// does, and sleeps otherwise.
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
  /// Effects: releases it, and wakes one sleeper if no spinner will.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free except for the system call.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    // (state)  1 -> 0,  2 -> 0 and one wake
    // relaxed(owner): a 2 not seen here belongs to a spinner, which needs no wake (header block).
    const std::uint32_t found = state_.load(std::memory_order_relaxed);
    // order[unlock]: release; pairs [take, retake]; publishes the critical section.
    state_.store(0, std::memory_order_release);
    if (found == 2) [[unlikely]]
      W::wake(state_, 1);
  }

 private:
  friend detail::timed_lock<basic_single_spinner_mutex, W>;

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
    for (;;) {
      // (state)  0 -> 2 and owned,  1 -> 2 and spin,  2 -> 2 and sleep
      // order[retake]: acquire; pairs [unlock]; as in take().
      const std::uint32_t found = state_.exchange(2, std::memory_order_acquire);
      if (found == 0) return true;
      if (found == 2) {
        if (W::wait(state_, 2, limit) == W::wait_result::timed_out) return scope.result(false);
      } else if (!saw_free(limit)) {
        give_up_spinning();
        return scope.result(false);
      }
    }
  }

  bool saw_free(typename W::deadline limit) noexcept {
    wait_policies::pausing_then_yielding<1> policy;
    // relaxed(revalidated): the next exchange decides.
    return W::await(state_, is_zero, std::memory_order_relaxed, policy, limit).has_value();
  }

  void give_up_spinning() noexcept {
    std::uint32_t expected = 2;
    // (state)  2 -> 1
    // relaxed(atomicity): a later sleeper found a later 2; the wake serves the earlier ones.
    // relaxed(atomicity): on failure the 2 was erased already.
    state_.compare_exchange_strong(expected, 1, std::memory_order_relaxed,
                                   std::memory_order_relaxed);
    W::wake(state_, 1);
  }

  atomic<W, std::uint32_t> state_{0};
};

using single_spinner_mutex = basic_single_spinner_mutex<>;

}  // namespace lockyard::inline v0
