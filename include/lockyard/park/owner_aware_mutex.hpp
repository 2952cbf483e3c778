// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/owner_watch.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// A mutex whose waiters spin only while its owner runs, and otherwise sleep at once. Where the
/// kernel can extend a time slice, an owner asks for that. docs/locks/owner_aware_mutex.md explains
/// it in detail.
///
/// Use: where owners may lose their processors: more threads than processors, small quotas.
///   A waiter then leaves its processor to the owner, instead of spinning against it.
/// Source: the optimistic spin of Linux' mutex (P. Zijlstra 2009), here with what the kernel tells
///   other threads; the time slice extension of T. Gleixner (2025); U. Drepper's mutex of three
///   states ("Futexes Are Tricky", 2004).
/// Guarantees: mutual exclusion; no lost wake-up (below); timed. A newcomer or a spinner may barge
///   past a sleeper any number of times. Not recursive. Not safe between a thread and its own
///   signal handler. After fork, held by the forking thread alone, in the child too. The next owner
///   may destroy the mutex as soon as it holds it: after the exchange, unlock uses the address
///   only. Within one process only.
/// Size: 8 bytes. All zero bytes are the free state.
///
/// | state_ | meaning |
/// |---|---|
/// | 0 | free |
/// | id | held by the thread with that id, no thread sleeps |
/// | id, sleepers | held by the thread with that id, a thread may sleep |
///
/// The spin: owner_watch.hpp. A waiter compares its processor with the owner's (processor_), and
/// asks the kernel how much processor time the owner has used. It never reads memory of the owner:
/// the owner's thread may have ended by then.
///
/// Invariant I1: while a thread sleeps in the kernel, state_ has `sleepers`, or an owner is between
/// its exchange and its wake, or a woken thread is on its way to its compare-exchange.
/// No lost wake-up: a thread sleeps only if the kernel finds `sleepers` and the owner's id,
/// compared and enqueued in one step against every wake. The owner whose exchange takes `sleepers`
/// out wakes one thread. That thread acquires the lock with `sleepers`, or sets it again before it
/// sleeps, so I1 holds again. A wake that reaches a sleeper at its deadline is reported as a wake,
/// so no wake is spent on a thread that leaves. The mutants owner_aware_* show both.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_owner_aware_mutex
    : public detail::timed_lock<basic_owner_aware_mutex<W>, W> {
  using slice = detail::time_slice<W>;
  using owner_watch = detail::owner_watch<W>;

 public:
  constexpr basic_owner_aware_mutex() noexcept = default;
  basic_owner_aware_mutex(const basic_owner_aware_mutex&) = delete;
  basic_owner_aware_mutex& operator=(const basic_owner_aware_mutex&) = delete;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex; while it is held, spins as long as the owner runs, and sleeps
  /// otherwise.
  /// Synchronisation: everything earlier owners did before unlock happens before the return.
  /// Progress: deadlock-free; none guaranteed to a given thread.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take()) [[unlikely]]
      take_until(W::never);
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
    // relaxed(hint): so that a thread does not take its own processor for the next owner's.
    processor_.store(0, std::memory_order_relaxed);
    // (state)  id -> 0,  id|sleepers -> 0 and one wake
    // order[unlock]: release; pairs [take]; publishes the critical section.
    if ((state_.exchange(0, std::memory_order_release) & sleepers) != 0) [[unlikely]] {
      W::wake(state_, 1);
    }
    slice::end();
  }

 private:
  friend detail::timed_lock<basic_owner_aware_mutex, W>;

  static constexpr std::uint32_t sleepers = 0x8000'0000;

  bool take() noexcept {
    slice::begin();
    if (take_free(0)) return true;
    slice::end();
    return false;
  }

  /// `mark` is 0, or `sleepers` for a thread that cannot know whether others sleep.
  bool take_free(std::uint32_t mark) noexcept {
    std::uint32_t expected = 0;
    // (state)  0 -> id,  0 -> id|sleepers
    // order[take]: acquire; pairs [unlock]; the critical section starts after the last one's end.
    // relaxed(hint): a failure promises nothing.
    if (!state_.compare_exchange_strong(expected, W::thread_id() | mark, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      return false;
    }
    // relaxed(hint): for the waiters' spin; owners alone write it.
    processor_.store(owner_watch::processor(), std::memory_order_relaxed);
    return true;
  }

  /// Returns false if the deadline passed first. A spin does not check it: a time-out may be late
  /// by the length of a spin.
  /// A thread that leaves without the lock may have been woken, so it wakes another one.
  [[gnu::noinline, gnu::cold]] bool take_until(typename W::deadline limit) noexcept {
    typename W::contended scope{this};
    std::uint32_t mark = 0;
    while (!spin(mark)) {
      if (W::passed(limit)) {
        if (mark != 0) W::wake(state_, 1);
        return scope.result(false);
      }
      // relaxed(revalidated): the kernel compares it.
      std::uint32_t found = state_.load(std::memory_order_relaxed);
      if (found == 0) continue;
      // (state)  id -> id|sleepers
      // relaxed(atomicity): the mark alone; the kernel compares the word.
      if ((found & sleepers) == 0 &&
          !state_.compare_exchange_strong(found, found | sleepers, std::memory_order_relaxed,
                                          std::memory_order_relaxed)) {
        continue;
      }
      if (W::wait(state_, found | sleepers, limit) == W::wait_result::timed_out) {
        return scope.result(false);
      }
      mark = sleepers;
    }
    slice::begin();
    return true;
  }

  /// Returns false if the owner does not run.
  bool spin(std::uint32_t mark) noexcept {
    owner_watch owner{state_};
    for (;;) {
      // relaxed(revalidated): take_free() decides.
      const std::uint32_t found = state_.load(std::memory_order_relaxed);
      if (found == 0) {
        if (take_free(mark)) return true;
        continue;
      }
      // relaxed(hint): the processor of this owner or of another one.
      if (!owner.may_run(found & ~sleepers, processor_.load(std::memory_order_relaxed))) {
        return false;
      }
      // relaxed(revalidated): as above.
      W::await(state_, is_zero, std::memory_order_relaxed, owner.spacing(), owner.next_look());
    }
  }

  atomic<W, std::uint32_t> state_{0};
  atomic<W, std::uint32_t> processor_{0};  ///< the owner's, from owner_watch::processor()
};

using owner_aware_mutex = basic_owner_aware_mutex<>;

}  // namespace lockyard::inline v0
