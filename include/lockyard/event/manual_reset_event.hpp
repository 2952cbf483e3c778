// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/timed_wait.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

/// An event that, once set, lets every thread through until it is reset. docs/events explains it in
/// detail.
///
/// Use: for states that come once, or open and shut: "loaded", "running", "told to end". Where each
///   set is meant for one thread, auto_reset_event; where the program keeps the state itself,
///   event_count.
/// Source: Windows' manual-reset event; a word that sleepers compare, after U. Drepper, "Futexes
///   Are Tricky" (2004); the count of sets, by which no set is missed, is this library's.
/// Guarantees: a thread that waits when the event is set goes on, even if it is reset at once; no
///   lost wake-up (below). A signal handler may call set(). After fork the child's copy is as it
///   was, without waiters. A thread that the event has let through may destroy it as soon as no
///   other thread waits, though the set() that did so may not have returned. Within one process.
/// Size: 4 bytes. All zero bytes are an event that is not set.
///
/// | state_, bits | meaning |
/// |---|---|
/// | 0 | set |
/// | 1 | awaited: not set, and a thread may sleep |
/// | 2 to 31 | the number of changes from not set to set, modulo 2^30 |
///
/// I1 Only a set changes the count, and it clears `awaited`; both by one compare-exchange.
/// No lost wake-up: a thread sleeps only if the kernel finds `awaited` and the count that the
/// thread has seen unset, compared and enqueued in one step against every wake. By I1 the set that
/// replaces that word finds `awaited` and wakes all. A woken thread goes on if the count has
/// changed, no matter what followed; it would sleep on only if 2^30 sets passed between two of its
/// looks. A thread that gives up leaves `awaited` set, which costs a wake that may find no sleeper.
/// Lifetime: a wake names the word by its address alone. Clients manual_reset_event*; the mutants
/// manual_event_* hang.
template <world W = default_world>
class basic_manual_reset_event : public detail::timed_wait<basic_manual_reset_event<W>, W> {
 public:
  /// Begins not set, unless told otherwise.
  constexpr explicit basic_manual_reset_event(bool is_set = false) noexcept
      : state_{is_set ? set_bit : 0} {}
  basic_manual_reset_event(const basic_manual_reset_event&) = delete;
  basic_manual_reset_event& operator=(const basic_manual_reset_event&) = delete;

  /// Effects: sets the event and wakes all waiters. Does nothing new if it is set already.
  /// Synchronisation: everything done before happens before the return of every wait that finds the
  /// event set, or that this set ends.
  /// Progress: lock-free, and a system call if a thread may sleep.
  void set() noexcept {
    // relaxed(revalidated): the compare-exchange checks it.
    std::uint32_t found = state_.load(std::memory_order_relaxed);
    std::uint32_t next = found;
    do {
      next = (found & set_bit) != 0 ? found : (found & ~awaited) + one_set + set_bit;
      // (count,awaited,set)  n,a,0 -> n+1,0,1 and a wake if a;  n,0,1 -> n,0,1
      // order[set]: release; pairs [look, look_again, mark, mark_fails, woken, reset]; publishes
      // the work that led to the event.
      // relaxed(revalidated): by the next turn.
    } while (!state_.compare_exchange_weak(found, next, std::memory_order_release,
                                           std::memory_order_relaxed));
    if ((found & awaited) != 0) [[unlikely]]
      W::wake(state_, UINT32_MAX);
  }

  /// Effects: makes threads wait from now on. Does nothing if the event is not set.
  /// Synchronisation: everything done before earlier sets happens before the return, so that a
  /// thread that resets and then looks for work misses no work whose set came before.
  /// Progress: wait-free.
  void reset() noexcept {
    // (count,awaited,set)  n,a,s -> n,a,0
    // order[reset]: acquire; pairs [set]; all that came before a set that this undoes is seen.
    state_.fetch_and(~set_bit, std::memory_order_acquire);
  }

  /// Returns whether the event is set; waits for nothing. Synchronisation: as wait() if it returns
  /// true.
  /// Progress: wait-free.
  [[nodiscard]] bool try_wait() const noexcept {
    // order[look]: acquire; pairs [set]; the thread goes on from there.
    return (state_.load(std::memory_order_acquire) & set_bit) != 0;
  }

  /// Effects: returns when the event is set, or has been set since the call.
  /// Synchronisation: everything done before that set happens before the return.
  /// Progress: as the progress of the thread that sets it.
  void wait() noexcept {
    if (!try_wait()) wait_asleep();
  }

 private:
  friend detail::timed_wait<basic_manual_reset_event, W>;

  static constexpr std::uint32_t set_bit = 1, awaited = 2, one_set = 4;

  bool wait_by(typename W::deadline limit) noexcept { return wait_asleep(limit); }

  /// Returns false if there is a deadline and it passed first.
  [[gnu::noinline, gnu::cold]] bool wait_asleep(typename W::deadline limit = W::never) noexcept {
    // order[look_again]: acquire; pairs [set]; as above.
    std::uint32_t seen = state_.load(std::memory_order_acquire);
    // (count,awaited,set)  n,0,0 -> n,1,0
    // order[mark]: acquire; pairs [set]; needs none, but compilers refuse less than the failure's.
    // order[mark_fails]: acquire; pairs [set]; the event may have been set meanwhile.
    while ((seen & (set_bit | awaited)) == 0 &&
           !state_.compare_exchange_weak(seen, seen | awaited, std::memory_order_acquire,
                                         std::memory_order_acquire)) {
    }
    if ((seen & set_bit) != 0) return true;
    for (bool in_time = true; in_time;) {
      in_time = W::wait(state_, seen | awaited, limit) != W::wait_result::timed_out;
      // order[woken]: acquire; pairs [set]; as above.
      if (state_.load(std::memory_order_acquire) / one_set != seen / one_set) return true;
    }
    return false;
  }

  atomic<W, std::uint32_t> state_;
};

using manual_reset_event = basic_manual_reset_event<>;

}  // namespace lockyard::inline v0
