// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/world/world.hpp>

#include <algorithm>
#include <chrono>

namespace lockyard::inline v0::detail {

/// A duration in nanoseconds: rounded up, because a time-out may be late and never early; zero if
/// it is negative or no number; at most what nanoseconds can hold.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds to_nanoseconds(
    const std::chrono::duration<Rep, Period>& duration) noexcept {
  using std::chrono::nanoseconds;
  // Not exact at 2^63, and it need not be: that is 292 years.
  using wide = std::chrono::duration<long double, std::nano>;
  if (!(duration > duration.zero())) return nanoseconds::zero();
  if (wide{duration} >= wide{nanoseconds::max()}) return nanoseconds::max();
  return std::chrono::ceil<nanoseconds>(duration);
}

/// The time between two points of a clock as such a duration. Neither their difference nor a common
/// unit of theirs need fit into their types, so it is reckoned in numbers that hold every count of
/// nanoseconds in 64 bits, and the range of all others.
template <class Clock, class Earlier, class Later>
constexpr std::chrono::nanoseconds time_between(
    const std::chrono::time_point<Clock, Earlier>& earlier,
    const std::chrono::time_point<Clock, Later>& later) noexcept {
  using wide = std::chrono::duration<long double, std::nano>;
  return to_nanoseconds(wide{later.time_since_epoch()} - wide{earlier.time_since_epoch()});
}

/// The timed half of a parking lock, as the standard has it ([thread.timedmutex.requirements]).
/// A lock derives from `timed_lock<itself, W>`, makes it a friend, and has two private members:
/// `bool take()`, which acquires if it can at once, and `bool take_until(typename W::deadline)`,
/// which waits for that and returns false if the deadline passed first. Empty: it adds no byte.
template <class Lock, world W>
class LOCKYARD_CAPABILITY timed_lock {
 public:
  /// Precondition: the calling thread does not hold the lock.
  /// Effects: acquires the lock, waiting for at least `duration` if it has to; returns whether it
  /// did. Without a positive duration: as try_lock(). Measured by the steady clock.
  /// Synchronisation: as lock() if it returns true, none otherwise.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) noexcept
      LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{&self(), W::trying};
    return scope.result(self().take() || take_within(to_nanoseconds(duration)));
  }

  /// The same, until `Clock` has reached `limit`. The clock is asked again when the time that it
  /// promised has passed, so a clock that runs slow or was set back ends the wait late, never
  /// early; one that was set forward is believed only then.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& limit) noexcept
      LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{&self(), W::trying};
    bool acquired = self().take();
    while (!acquired) {
      const auto left = time_between(Clock::now(), limit);
      if (left.count() == 0) break;
      acquired = take_within(left);
    }
    return scope.result(acquired);
  }

 private:
  Lock& self() noexcept { return static_cast<Lock&>(*this); }

  bool take_within(std::chrono::nanoseconds duration) noexcept {
    return duration.count() > 0 && self().take_until(W::deadline_after(duration));
  }
};

}  // namespace lockyard::inline v0::detail
