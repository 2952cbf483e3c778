// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// A spinlock that serves its waiters in order of arrival: each waiter draws a number and waits
/// until unlock calls that number; the waiter yields after every 16 pauses.
///
/// Use: where waits must be short and even, and there are at most as many threads as cores. Strict
/// order is a weakness under oversubscription: until the one thread with the called number runs
/// again, the lock stays free, although other waiters are ready to run.
/// Source: the "ticket_spinlock" of M. Skarupke (2019); ticket locks are due to D. Reed and
///   R. Kanodia (1979).
/// Guarantees: mutual exclusion; first come, first served, by the order of the ticket draws; with
///   fewer than 2^32 threads, and no try_lock() that is stopped for exactly 2^32 acquisitions. Not
///   recursive. Not safe between a thread and its own signal handler. After fork, usable in the
///   child only if no thread waited: the waiters, whose numbers are called next, do not exist
///   there. The next owner may destroy the lock as soon as it holds the lock: unlock's last access
///   is the store that calls the next number.
///   On x86, unlock does not order non-temporal stores: they need an sfence before it.
/// Size: 8 bytes. All zero bytes are the free state.
///
/// | (next_, serving_) | meaning |
/// |---|---|
/// | n, n | free |
/// | n + 1 + k, n | held by the thread with ticket n; k threads wait |
///
/// Invariants: I1 serving_ <= next_ (as distance, modulo 2^32). I2 only the owner changes serving_.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_ticket_spinlock
    : public detail::held_assertions<basic_ticket_spinlock<W>, W> {
 public:
  constexpr basic_ticket_spinlock() noexcept = default;
  basic_ticket_spinlock(const basic_ticket_spinlock&) = delete;
  basic_ticket_spinlock& operator=(const basic_ticket_spinlock&) = delete;

  /// Precondition: the calling thread does not hold the lock.
  /// Effects: draws a ticket and waits for its turn, spinning and yielding in turns.
  /// Synchronisation: all that earlier owners did before unlock happens before the return.
  /// Progress: starvation-free if every owner unlocks and the scheduler runs every thread.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    // (next,serving)  n+k,n -> n+k+1,n
    // relaxed(atomicity): the draw orders the waiters; serving_ alone carries data.
    const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    const auto is_mine = [mine](std::uint32_t called) noexcept { return called == mine; };
    // order[turn]: acquire; pairs [unlock]; the critical section begins after the previous one.
    W::await(serving_, is_mine, std::memory_order_acquire,
             wait_policies::pausing_then_yielding<16>{});
  }

  /// Precondition: as lock(). Effects: acquires the lock if it is free and no thread waits; returns
  /// whether it did. Synchronisation: as lock() if it returns true, none otherwise.
  /// Progress: wait-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    // order[called]: acquire; pairs [unlock]; if this number has not been drawn, the lock is free
    // and the critical section begins after the previous one.
    std::uint32_t called = serving_.load(std::memory_order_acquire);
    // (next,serving)  n,n -> n+1,n
    // By I1, next_ == called means that serving_ has not changed: no thread was served meanwhile.
    // relaxed(atomicity): success is a draw as in lock(); the load above carries the data.
    return scope.result(next_.compare_exchange_strong(called, called + 1, std::memory_order_relaxed,
                                                      std::memory_order_relaxed));
  }

  /// Precondition: the calling thread holds the lock. Effects: calls the next number.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    // (next,serving)  n+1+k,n -> n+1+k,n+1
    // relaxed(owner): by I2 no other thread writes serving_, so no atomic addition is needed.
    const std::uint32_t mine = serving_.load(std::memory_order_relaxed);
    // order[unlock]: release; pairs [turn, called]; publishes the critical section.
    serving_.store(mine + 1, std::memory_order_release);
  }

 private:
  atomic<W, std::uint32_t> next_{0};
  atomic<W, std::uint32_t> serving_{0};
};

using ticket_spinlock = basic_ticket_spinlock<>;

}  // namespace lockyard::inline v0
