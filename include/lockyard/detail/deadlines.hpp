// SPDX-License-Identifier: Apache-2.0
#pragma once

// Conversion of the standard's durations and time points, on any clock, to a world's deadlines.

#include <lockyard/detail/durations.hpp>
#include <lockyard/world/world.hpp>

#include <cstdint>
#include <ratio>
#include <type_traits>

namespace lockyard::inline v0::detail {

/// Converts so many periods to nanoseconds, rounded up, or returns the largest number of
/// nanoseconds. Exact for every period: no product overflows.
template <class Period>
constexpr std::chrono::nanoseconds periods_to_nanoseconds(std::uint64_t count) noexcept {
  using std::chrono::nanoseconds;
  __extension__ using wide = unsigned __int128;
  constexpr wide per_second = std::nano::den;
  constexpr wide most = nanoseconds::max().count();
  constexpr wide num = Period::num;
  constexpr wide den = Period::den;
  if constexpr (per_second % den == 0) {
    constexpr wide each = num * (per_second / den);
    if (count > most / each) return nanoseconds::max();
    return nanoseconds{static_cast<nanoseconds::rep>(count * each)};
  } else {
    const wide seconds = count * num / den;
    const wide rest = count * num % den;
    if (seconds > most / per_second) return nanoseconds::max();
    const wide all = seconds * per_second + (rest * per_second + den - 1) / den;
    return all < most ? nanoseconds{static_cast<nanoseconds::rep>(all)} : nanoseconds::max();
  }
}

/// Converts a duration to nanoseconds: rounded up, because a time-out may be late and never early;
/// zero if the duration is negative or not a number; at most the largest number of nanoseconds.
/// Exact if the number of periods is an integer of at most 64 bits, otherwise as exact as a long
/// double.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds to_nanoseconds(
    const std::chrono::duration<Rep, Period>& duration) noexcept {
  using std::chrono::nanoseconds;
  if (!(duration > duration.zero())) return nanoseconds::zero();
  if constexpr (std::is_integral_v<Rep> && sizeof(Rep) <= sizeof(std::uint64_t)) {
    return periods_to_nanoseconds<Period>(static_cast<std::uint64_t>(duration.count()));
  } else {
    // Not exact at 2^63, and it need not be: that is 292 years.
    using wide = std::chrono::duration<long double, std::nano>;
    const wide all{duration};
    return all < wide{nanoseconds::max()} ? std::chrono::ceil<nanoseconds>(all)
                                          : nanoseconds::max();
  }
}

/// Returns the time between two points of a clock in nanoseconds, as to_nanoseconds() does. Neither
/// the difference of the points nor their common unit need fit into their types, so the calculation
/// uses numbers that represent every count of nanoseconds in 64 bits, and the range of all other
/// counts.
template <class Clock, class Earlier, class Later>
constexpr std::chrono::nanoseconds time_between(
    const std::chrono::time_point<Clock, Earlier>& earlier,
    const std::chrono::time_point<Clock, Later>& later) noexcept {
  using wide = std::chrono::duration<long double, std::nano>;
  return to_nanoseconds(wide{later.time_since_epoch()} - wide{earlier.time_since_epoch()});
}

/// Calls `wait` with a deadline after `duration`, and returns its result; returns false, without a
/// call, if the duration is not positive.
template <world W, class Rep, class Period, class Wait>
bool wait_within(const std::chrono::duration<Rep, Period>& duration, Wait wait) noexcept {
  const std::chrono::nanoseconds length = to_nanoseconds(duration);
  return length.count() > 0 && wait(W::deadline_after(length));
}

/// A time point as a world's deadline. A clock that may be set is read again while the wait goes
/// on, in the native world every 50 ms: a clock that is set forward past the time point ends the
/// wait at the next reading, and a clock that is set back or runs slow prolongs it. A steady clock
/// is read once, and the wait is one sleep. The object must outlive the wait.
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
  /// Returns the deadline; `left` is the remaining time by the last reading of the clock.
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
/// clock that runs slow also ends the wait late, never early: it is read again when the remaining
/// time of its last reading has passed.
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
