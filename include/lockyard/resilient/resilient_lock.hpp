// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/deadlines.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/held_assertions.hpp>
#include <lockyard/detail/held_locks.hpp>
#include <lockyard/detail/resilient_line.hpp>
#include <lockyard/detail/stall_watch.hpp>
#include <lockyard/lock_report.hpp>
#include <lockyard/resilience.hpp>
#include <lockyard/resilient/lock_result.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <optional>
#include <source_location>
#include <type_traits>

namespace lockyard::inline v0 {

namespace detail {
/// Returns `watched` for locks that do not recover: they keep no tables.
constexpr ownership ownership_of(resilience of) noexcept {
  return of.recovers ? ownership::known : ownership::watched;
}

/// Takes the place of the name of a lock that has none.
struct no_name {
  static constexpr const char* read() noexcept { return nullptr; }
};
}  // namespace detail

/// The common base of basic_resilient_spinlock and basic_resilient_mutex, which differ only in how
/// their waiters wait. docs/locks/resilient.md explains it in detail.
///
/// Each acquisition enters the lock in a table of its thread, and each unlock removes the entry.
/// Only threads that have waited for a while read the tables. Every millisecond such a waiter finds
/// out whether it waits for itself, for a thread that waits for it in turn, directly or through
/// any number of other threads, or for a thread that has ended. The waiter cannot see a cycle that
/// goes through a std::mutex, a join or a device; the stall time-out ends such a wait.
template <class Self, world W, resilience R, detail::line_form Form>
class LOCKYARD_CAPABILITY resilient_lock
    : public detail::held_assertions<Self, W, detail::ownership_of(R)> {
  using shared = detail::unwatched<W>;
  using tables = detail::held_locks<shared>;
  using entry = typename tables::entry;
  using watch =
      std::conditional_t<R.recovers, detail::stall_watch<shared, R>, detail::no_watch<shared>>;
  using line = detail::resilient_line<W, Form>;

 public:
  static constexpr bool recovers = R.recovers;

  constexpr resilient_lock() noexcept = default;
  /// `name` appears in reports. Must live as long as the process, as string literals do.
  constexpr explicit resilient_lock(const char* name) noexcept
    requires(R.named)
      : name_{name} {}
  resilient_lock(const resilient_lock&) = delete;
  resilient_lock& operator=(const resilient_lock&) = delete;

  /// Effects: acquires the lock, waiting while it is held; or fails, and returns the reason.
  /// Synchronisation: all that earlier owners did before unlock happens before a return with
  /// `acquired`; none otherwise.
  /// Errors: `deadlock` at once if the calling thread holds the lock, or if the code that its
  /// signal handler interrupted holds or tries to acquire it; and if this thread is chosen as the
  /// victim of a cycle of threads that wait for each other. `owner_dead` if the owner's thread has
  /// ended. `timed_out` where the lock stalled (stall_limits). `nested_busy` in a signal handler
  /// that interrupted a wait, if its own wait would need one node too many. Do not retry in a loop:
  /// first release the other locks that the thread holds.
  /// Progress: returns if the scheduler runs every running thread, with two exceptions: stall
  /// time-outs are `never` and the owner is stuck; or the predecessor meets only waiters that give
  /// up at that moment.
  [[nodiscard]] lock_result lock(
      std::source_location at = std::source_location::current()) noexcept {
    return acquire(nullptr, at);
  }

  /// Effects: acquires the lock if it is free and no thread waits; returns whether it did.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: wait-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{self(), W::trying};
    entry* const place = enter();
    std::uint32_t found = 0;
    if (scope.result(line_.take(found))) return true;
    forget(place);
    return false;
  }

  /// As lock(), and fails with `timed_out` once `duration` has passed, at any place in the queue.
  /// Does not wait at all unless the duration is positive.
  template <class Rep, class Period>
  lock_result try_lock_for(const std::chrono::duration<Rep, Period>& duration,
                           std::source_location at = std::source_location::current()) noexcept
    requires(R.recovers)
  {
    const std::chrono::nanoseconds length = detail::to_nanoseconds(duration);
    if (length.count() <= 0) return try_lock() ? lock_errc::acquired : lock_errc::timed_out;
    const auto by = shared::deadline_after(length);
    return acquire(&by, at);
  }

  /// As try_lock_for(), until `Clock` has reached `limit`; see `wait_up_to` in deadlines.hpp.
  template <class Clock, class Duration>
  lock_result try_lock_until(const std::chrono::time_point<Clock, Duration>& limit,
                             std::source_location at = std::source_location::current()) noexcept
    requires(R.recovers)
  {
    if (try_lock()) return lock_errc::acquired;
    lock_result how = lock_errc::timed_out;
    detail::wait_up_to<shared>(limit, [&](typename shared::deadline by) {
      how = acquire(&by, at);
      return how.code() != lock_errc::timed_out || !shared::passed(by);
    });
    return how;
  }

  /// Effects: releases the lock. If the calling thread does not hold it, an assertion fails where
  /// assertions are enabled; otherwise the only effect is the report `not_held` with this place and
  /// the owner.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free if `Form` spins; otherwise a compare-exchange loop, which threads that
  /// begin to wait may delay. Locks may be released in any order; the reverse order is fastest.
  void unlock([[maybe_unused]] std::source_location at = std::source_location::current()) noexcept
      LOCKYARD_RELEASE() {
    if constexpr (R.recovers) {
      entry* const place = tables::begin_release(label().address);
      if (place == nullptr) [[unlikely]]
        return unlock_other(at);
      const typename W::releasing scope{self()};
      line_.release();
      tables::end_release(place);
    } else {
      const typename W::releasing scope{self()};
      line_.release();
    }
  }

  /// Precondition: no living thread holds the lock, as after `owner_dead`.
  /// Effects: releases the lock if its owner's thread has ended; returns whether it did, which is
  /// true once for each such owner. The protected data are as that thread left them. Call it before
  /// the destruction of a lock whose owner has ended; otherwise the next lock at the same address
  /// has a dead owner.
  /// Synchronisation: all that the ended thread did happens before the return, and before the next
  /// acquisition's return.
  bool release_dead_owner() noexcept {
    if (!R.recovers || !tables::exhume(label().address)) return false;
    // At the fork a thread may not yet have acquired the lock, or may already have released it.
    const bool is_left = line_.is_owned();
    if (is_left) line_.release();
    return is_left;
  }

  [[nodiscard]] const char* name() const noexcept { return name_.read(); }

  /// Sets the stall time-outs of all locks with this `R`, from the next wait on. Returns false, and
  /// changes nothing, unless both are positive.
  static bool set_stall_limits(stall_limits next) noexcept { return limits().set(next); }
  [[nodiscard]] static stall_limits current_stall_limits() noexcept { return limits().get(); }

 private:
  friend detail::held_assertions<Self, W, detail::ownership_of(R)>;

  [[nodiscard]] std::optional<bool> is_held_here() const noexcept {
    return tables::holds(label().address);
  }

  /// The lock as the debug mode names it.
  const Self* self() const noexcept { return static_cast<const Self*>(this); }
  static detail::limits_of_type<R>& limits() noexcept {
    return shared::template process_state<detail::limits_of_type<R>>();
  }

  /// Returns the lock's key in the tables, and its name.
  [[nodiscard]] lock_label label() const noexcept {
    if constexpr (R.named) {
      return {static_cast<const detail::lock_name<shared>*>(&name_), name_.read()};
    } else {
      return {detail::nameless::key_of(self()), nullptr};
    }
  }

  entry* enter() noexcept {
    if constexpr (R.recovers) return tables::enter(label().address);
    return nullptr;
  }
  void forget(entry* place) noexcept {
    if constexpr (!R.recovers) return;
    if (place != nullptr) return tables::remove(place);
    tables::forget_unlisted();
  }

  /// `limit` may be null.
  [[nodiscard, gnu::always_inline]] lock_result acquire(const typename shared::deadline* limit,
                                                        std::source_location at) noexcept {
    typename W::acquiring scope =
        R.recovers ? typename W::acquiring{self(), W::trying} : typename W::acquiring{self()};
    entry* const place = enter();
    std::uint32_t found = 0;
    if (line_.take(found)) [[likely]] {
      scope.result(true);
      return lock_errc::acquired;
    }
    const lock_errc how = acquire_contended(found, place, limit, at);
    scope.result(how == lock_errc::acquired);
    return how;
  }

  [[gnu::noinline, gnu::cold]] lock_errc acquire_contended(std::uint32_t found, entry* place,
                                                           const typename shared::deadline* limit,
                                                           std::source_location at) noexcept {
    typename W::contended scope{self()};
    const bool is_own = R.recovers && tables::has_below(place, label().address);
    if (!is_own && line_.barge()) return lock_errc::acquired;
    const lock_errc how = wait_in_line(found, place, limit, at, is_own);
    scope.result(how == lock_errc::acquired);
    return how;
  }

  [[gnu::noinline]] lock_errc wait_in_line(std::uint32_t found, entry* place,
                                           const typename shared::deadline* limit,
                                           std::source_location at, bool is_own) noexcept {
    if constexpr (!R.recovers) {
      watch without;
      return line_.acquire_contended(found, without);
    } else {
      watch with{place, label(), at, current_stall_limits(), limit};
      const lock_errc how = is_own ? with.deny() : line_.acquire_contended(found, with);
      with.end();
      if (how == lock_errc::acquired) return how;
      forget(place);
      with.report();
      return how;
    }
  }

  /// Releases a lock that is not the last acquired one, or that has no entry.
  [[gnu::noinline, gnu::cold]] void unlock_other(std::source_location at) noexcept {
    const bool was_left = tables::take_back(label().address);
    const typename W::releasing scope{self()};
    if (was_left) return line_.release();
    if (entry* const place = tables::begin_release_below(label().address)) {
      line_.release();
      return tables::remove(place);
    }
    if (tables::forget_unlisted()) return line_.release();
    const lock_wait unlock{shared::thread_id(), detail::with_address(label()), at};
    const std::uint32_t owner = tables::living_owner(label().address);
    detail::deliver({lock_event::not_held, unlock, {}, {}, owner}, tables::inside_handler());
    assert(false && "unlock() by a thread that does not hold the lock");
  }

  [[no_unique_address]] std::conditional_t<R.named, detail::lock_name<W>, detail::no_name> name_{};
  line line_;
};

}  // namespace lockyard::inline v0
