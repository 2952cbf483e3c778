// SPDX-License-Identifier: Apache-2.0
#pragma once

// The deadlines of the native world, and how long a thread may sleep before a deadline.

#include <lockyard/detail/bounds.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/world/world.hpp>

namespace lockyard::inline v0::detail {

/// A point of the steady clock, or of a clock that may be set. In the second case the native world
/// reads that clock again, and the point of the steady clock is an estimate.
struct native_deadline : std::chrono::steady_clock::time_point {
  using clock = std::chrono::steady_clock;
  using nanoseconds = std::chrono::nanoseconds;

  /// How long a sleep lasts before the thread reads a clock that may be set.
  static constexpr std::chrono::milliseconds longest_without_a_look{50};

  using clock::time_point::time_point;
  constexpr native_deadline() noexcept = default;
  constexpr native_deadline(clock::time_point at) noexcept : clock::time_point{at} {}
  constexpr native_deadline(clock::time_point at, const adjustable_limit& limit) noexcept
      : clock::time_point{at}, adjustable{&limit} {}
  bool operator==(const native_deadline&) const noexcept = default;

  /// Saturates: a duration past the end of the clock lasts forever.
  static native_deadline after(nanoseconds duration) noexcept {
    const clock::time_point start = clock::now();
    return duration < max() - start ? start + duration : max();
  }

  [[nodiscard]] bool has_passed() const noexcept {
    if (adjustable != nullptr) return left().count() == 0;
    return *this != native_deadline{max()} && clock::now() >= *this;
  }
  [[nodiscard]] clock::time_point end_of_sleep() const noexcept {
    if (adjustable == nullptr) [[likely]]
      return *this;
    return after(at_most<nanoseconds>(left(), longest_without_a_look));
  }
  /// After a sleep that ended by time-out: returns true if the deadline has not been reached yet.
  [[nodiscard]] bool is_early() const noexcept {
    return adjustable != nullptr && left().count() != 0;
  }

  const adjustable_limit* adjustable = nullptr;

 private:
  [[nodiscard]] nanoseconds left() const noexcept { return adjustable->time_left(*adjustable); }
};

}  // namespace lockyard::inline v0::detail
