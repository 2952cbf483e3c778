// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// A mutex whose owner runs with the priority of its most urgent waiter.
///
/// Use: between threads of different real-time priorities, where a thread in between would
///   otherwise keep a low owner, and with it a high waiter, off the processor without end.
///   Elsewhere every contended acquisition costs two system calls and a hand-off, and it is much
///   slower than the other mutexes.
/// Source: the kernel's priority-inheritance futex (FUTEX_LOCK_PI; I. Molnar, T. Gleixner 2006);
///   priority inheritance: L. Sha, R. Rajkumar, J. P. Lehoczky (1990).
/// Guarantees: mutual exclusion; no lost wake-up (below); timed. The kernel hands the mutex to the
///   waiter of the highest priority, and to the first among equals; a newcomer barges past no
///   waiter in the kernel. Locking it twice ends the process with errno EDEADLK, and so does a
///   lock() that would wait in a ring of threads and pi_mutexes; a wait with a time-out goes on
///   until the time-out. Unlocking a mutex that another thread holds ends the process with EPERM.
///   If a thread ends while it holds the mutex, the next thread to lock it ends the process (ESRCH
///   or EOWNERDEAD), because the protected data may be half changed; unless a new thread got the
///   same id, which then counts as the owner. Not safe between a thread and its own signal handler.
///   A mutex held at a fork stays held in the child, by a thread that is not there: it can only be
///   made anew. Within one process only. A kernel without these futexes ends the process at the
///   first contention (ENOSYS).
/// Destruction: by the next owner as soon as it holds the mutex. An unlock in user space is the
///   compare-exchange, and nothing after it. One that fails leaves the mutex held until the kernel
///   has written the new owner into the word, which it does before it lets that owner run, and it
///   does not come back to the word after that.
/// Size: 4 bytes. All zero bytes are the free state.
///
/// | state_ | meaning |
/// |---|---|
/// | 0 | free |
/// | id | held by that thread; no thread waits |
/// | id + waiters | held; the kernel does the unlock |
///
/// No lost wake-up: a waiter is in the kernel's queue before the waiters bit that it set can be
/// seen, both under one lock of the kernel's. The compare-exchange of unlock expects the bare id,
/// so it fails as long as the bit is set, and the kernel, which holds the same lock, finds the
/// waiter. It hands off in one step: the word is never 0 while a thread waits. A waiter that gives
/// up leaves its queue and at most the bit; the unlock that finds no waiter clears the word. An
/// unlock that stores 0 over the bit turns PiMutex.leaves_the_hand_over_to_the_kernel red.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_pi_mutex : public detail::timed_lock<basic_pi_mutex<W>, W> {
 public:
  constexpr basic_pi_mutex() noexcept = default;
  basic_pi_mutex(const basic_pi_mutex&) = delete;
  basic_pi_mutex& operator=(const basic_pi_mutex&) = delete;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex, sleeping in the kernel while it is held and lending its priority.
  /// Synchronisation: everything earlier owners did before unlock happens before the return.
  /// Progress: deadlock-free; starvation-free among threads of one priority that wait in the
  /// kernel.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take()) [[unlikely]]
      lock_contended();
  }

  /// Precondition: as lock(). Effects: acquires the mutex if it is free; returns whether it did.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: wait-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds the mutex.
  /// Effects: releases it, or hands it to a waiter.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free except for the system call.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    std::uint32_t expected = W::thread_id();
    // (state)  id -> 0
    // order[unlock]: release; pairs [take]; publishes the critical section.
    // relaxed(owner): on failure it is still held, and the kernel's hand-off is a release.
    if (!state_.compare_exchange_strong(expected, 0, std::memory_order_release,
                                        std::memory_order_relaxed)) [[unlikely]] {
      W::pi_unlock(state_);
    }
  }

 private:
  friend detail::timed_lock<basic_pi_mutex, W>;

  bool take() noexcept {
    std::uint32_t expected = 0;
    // (state)  0 -> id
    // order[take]: acquire; pairs [unlock]; the critical section starts after the last one's end.
    // relaxed(hint): a failure promises nothing.
    return state_.compare_exchange_strong(expected, W::thread_id(), std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    const typename W::contended scope{this};
    W::pi_lock(state_);
  }
  [[gnu::noinline, gnu::cold]] bool take_until(typename W::deadline limit) noexcept {
    typename W::contended scope{this};
    return scope.result(W::pi_lock(state_, limit));
  }

  atomic<W, std::uint32_t> state_{0};
};

using pi_mutex = basic_pi_mutex<>;

}  // namespace lockyard::inline v0
