// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <climits>
#include <cstdint>

namespace lockyard::inline v0 {

/// A ticket lock whose waiters sleep, all on the same word: each release wakes them all.
///
/// Use: strict order of arrival without burning processor time, for few waiters. Every release
///   wakes every sleeper, and all but one go back to sleep; and the lock stands idle until the
///   waiter whose turn it is runs. Expect little throughput from it.
/// Source: the ticket lock on a futex of M. Skarupke, "Measuring Mutexes, Spinlocks and how Bad the
///   Linux Scheduler Really is" (2019); tickets: D. P. Reed and R. K. Kanodia (1979).
/// Guarantees: mutual exclusion; first come, first served for lock(); no lost wake-up (below);
///   timed, but a waiter with a time-out has no place in the queue: it could not return a number
///   that will be called. It waits for a moment at which the lock is free and no thread has a
///   ticket, and may wait without success while others come and go. Not recursive. Not safe between
///   a thread and its own signal handler. After fork, held by the forking thread alone, and only if
///   no thread waited. The next owner may destroy the mutex as soon as it holds it: after the
///   exchange, unlock uses the address only. Within one process only; fewer than 2^31 waiters at a
///   time, and no try, also of a waiter with a time-out, that is stopped for exactly 2^31
///   acquisitions.
/// Size: 8 bytes. All zero bytes are the free state.
///
/// | next_ | serving_ | meaning |
/// |---|---|---|
/// | 2n | 2n | free |
/// | 2(n + 1 + k) | 2n | held by ticket n, k threads wait, no thread sleeps |
/// | 2(n + 1 + k) | 2n + 1 | as above; a thread may sleep, with or without a ticket |
///
/// Invariants: I1 serving_ / 2 <= next_ / 2 (as distance, modulo 2^31). I2 only the owner changes
/// the number in serving_. I3 while a thread sleeps in the kernel, serving_ is odd, or an owner is
/// between its exchange and its wake, or the thread has been woken.
/// No lost wake-up: a thread sleeps only if the kernel finds the odd value whose number is not yet
/// its own, compared and enqueued in one step against every wake. A number leaves the word only by
/// the exchange in unlock, which takes the mark out with it and sees it; it is not a second look at
/// another word, whose lifetime the next owner might have ended. The waiter to be served sleeps on
/// an earlier number, so the exchange that calls it wakes it too. A waiter that gives up leaves at
/// most a mark, and that costs one wake that may find no sleeper. Without the mark
/// TicketMutex.is_woken_when_its_number_is_called is red.
template <world W = default_world>
class LOCKYARD_CAPABILITY basic_ticket_mutex : public detail::timed_lock<basic_ticket_mutex<W>, W> {
 public:
  constexpr basic_ticket_mutex() noexcept = default;
  basic_ticket_mutex(const basic_ticket_mutex&) = delete;
  basic_ticket_mutex& operator=(const basic_ticket_mutex&) = delete;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: draws a ticket and sleeps until its turn.
  /// Synchronisation: everything earlier owners did before unlock happens before the return.
  /// Progress: starvation-free if every owner unlocks and the scheduler runs every thread.
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    // (next,serving)  2(n+k),2n -> 2(n+k+1),2n
    // relaxed(atomicity): the draw orders the waiters; serving_ alone carries data.
    const std::uint32_t mine = next_.fetch_add(2, std::memory_order_relaxed);
    // order[turn]: acquire; pairs [unlock]; the critical section starts after the last one's end.
    const std::uint32_t called = serving_.load(std::memory_order_acquire);
    if (number(called) != mine) [[unlikely]]
      wait_for(mine);
  }

  /// Precondition: as lock(). Effects: acquires the mutex if it is free and no thread waits;
  /// returns whether it did. Synchronisation: as lock() if it returns true, none otherwise.
  /// Progress: wait-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds the mutex.
  /// Effects: calls the next number, and wakes all sleepers if there may be any.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free except for the system call.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    // relaxed(owner): by I2 no other thread changes the number.
    const std::uint32_t mine = number(serving_.load(std::memory_order_relaxed));
    // (next,serving)  2(n+1+k),2n -> 2(n+1+k),2(n+1),  2n+1 likewise and a wake
    // order[unlock]: release; pairs [turn, return, called, called_late]; publishes the critical
    // section.
    const std::uint32_t found = serving_.exchange(mine + 2, std::memory_order_release);
    if ((found & somebody_sleeps) != 0) [[unlikely]]
      W::wake(serving_, UINT32_MAX);
  }

 private:
  friend detail::timed_lock<basic_ticket_mutex, W>;

  static constexpr std::uint32_t somebody_sleeps = 1;
  static constexpr std::uint32_t number(std::uint32_t called) noexcept {
    return called & ~somebody_sleeps;
  }

  bool take() noexcept {
    // order[called]: acquire; pairs [unlock]; if this number is still to be drawn, the lock is free
    // and the critical section starts after the last one's end.
    return draw_if_called(serving_.load(std::memory_order_acquire));
  }

  /// (next,serving)  2n,2n -> 2(n+1),2n
  /// By I1, next_ == the number called means that serving_ has not moved on since it was read.
  bool draw_if_called(std::uint32_t called) noexcept {
    std::uint32_t expected = number(called);
    // relaxed(atomicity): a draw as in lock(); the reader of serving_ has the data.
    return next_.compare_exchange_strong(expected, expected + 2, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }

  /// Sleeps if serving_ still has the value that was seen, with or without the mark.
  typename W::wait_result sleep(std::uint32_t seen, typename W::deadline limit) noexcept {
    const std::uint32_t marked = seen | somebody_sleeps;
    // (serving)  2n -> 2n+1
    // relaxed(atomicity): the mark alone, and on failure the word has moved on; the served waiter
    // reads it again.
    if (seen != marked && !serving_.compare_exchange_strong(seen, marked, std::memory_order_relaxed,
                                                            std::memory_order_relaxed)) {
      return W::wait_result::changed;
    }
    return W::wait(serving_, marked, limit);
  }

  [[gnu::noinline, gnu::cold]] void wait_for(std::uint32_t mine) noexcept {
    const typename W::contended scope{this};
    for (;;) {
      // order[return]: acquire; pairs [unlock]; as in lock().
      const std::uint32_t called = serving_.load(std::memory_order_acquire);
      if (number(called) == mine) return;
      sleep(called, W::never);
    }
  }

  /// Acquires without a ticket: see the header block.
  [[gnu::noinline, gnu::cold]] bool take_until(typename W::deadline limit) noexcept {
    typename W::contended scope{this};
    for (;;) {
      // order[called_late]: acquire; pairs [unlock]; as in take().
      const std::uint32_t called = serving_.load(std::memory_order_acquire);
      if (draw_if_called(called)) return true;
      if (sleep(called, limit) == W::wait_result::timed_out) return scope.result(false);
    }
  }

  atomic<W, std::uint32_t> next_{0};
  atomic<W, std::uint32_t> serving_{0};
};

using ticket_mutex = basic_ticket_mutex<>;

}  // namespace lockyard::inline v0
