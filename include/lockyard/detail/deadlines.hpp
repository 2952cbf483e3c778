// SPDX-License-Identifier: Apache-2.0
#pragma once

// From the standard's durations and time points, on any clock, to a world's deadlines.

#include <lockyard/detail/durations.hpp>
#include <lockyard/world/world.hpp>

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

/// What `wait` returns of a deadline so far away; false without a positive duration.
template <world W, class Rep, class Period, class Wait>
bool wait_within(const std::chrono::duration<Rep, Period>& duration, Wait wait) noexcept {
  const std::chrono::nanoseconds length = to_nanoseconds(duration);
  return length.count() > 0 && wait(W::deadline_after(length));
}

/// A time point as a world's deadline. A clock that may be set is asked again while the wait goes
/// on, in the native world every 50 ms: one that is set forward past the time point ends the wait
/// by then, one that is set back or runs slow prolongs it. A steady clock is asked once, and the
/// sleep is one. Must outlive the wait.
template <world W, class Clock, class Duration>
class limit_by : adjustable_limit {
 public:
  explicit limit_by(const std::chrono::time_point<Clock, Duration>& limit) noexcept
      : adjustable_limit{[](const adjustable_limit& self) noexcept {
          return static_cast<const limit_by&>(self).left();
        }},
        limit_{limit} {}

  /// Zero if the clock has reached the limit.
  [[nodiscard]] std::chrono::nanoseconds left() const noexcept {
    return time_between(Clock::now(), limit_);
  }
  /// `left` is how long it takes, as the clock has just said.
  [[nodiscard]] typename W::deadline deadline(std::chrono::nanoseconds left) const noexcept {
    if constexpr (Clock::is_steady) {
      return W::deadline_after(left);
    } else {
      return W::deadline_at(*this, left);
    }
  }

 private:
  const std::chrono::time_point<Clock, Duration>& limit_;
};

/// Calls `wait` with deadlines until it returns true, or `Clock` has reached `limit`. A steady
/// clock that runs slow ends the wait late too, never early: it is asked again when the time that
/// it promised has passed.
template <world W, class Clock, class Duration, class Wait>
bool wait_up_to(const std::chrono::time_point<Clock, Duration>& limit, Wait wait) noexcept {
  const limit_by<W, Clock, Duration> end{limit};
  for (;;) {
    const std::chrono::nanoseconds left = end.left();
    if (left.count() == 0) return false;
    if (wait(end.deadline(left))) return true;
  }
}

}  // namespace lockyard::inline v0::detail
