// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the time between a release and the next acquisition consists of.

#include "clock.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace lockyard::harness {

/// Shorter gaps are not looked into, and shorter parts of gaps not counted: reading the other
/// threads' lines costs about as much. What it asks of the clock is in skew.hpp.
inline constexpr double idle_threshold_ns = 1000;

/// The stamps around a hand-off, as the next owner sees them.
struct gap_stamps {
  ticks release_began;            ///< just before the releaser called unlock
  std::optional<ticks> released;  ///< when its unlock had returned; nothing if it had not yet
  ticks acquired;
  ticks first_call;  ///< the earliest call of lock by another thread than the releaser
};

/// What `first_call` is when nobody else had called.
inline constexpr ticks never = std::numeric_limits<ticks>::max();

/// The parts of a gap in which somebody waited.
struct gap_parts {
  ticks idle;        ///< after the release had ended: nobody held the lock, somebody wanted it
  ticks in_release;  ///< while the releaser was in its unlock: held or free, nobody can say
};

/// Idle counts only if the call came before the release ended: a later caller finds a free lock,
/// and what it needs is the price of an acquisition. A release that had not ended when the lock was
/// acquired, or ended only after that, leaves all of the gap undecided.
constexpr gap_parts parts_of(const gap_stamps& gap) noexcept {
  const bool ended = gap.released && *gap.released <= gap.acquired;
  const ticks end_of_release = ended ? *gap.released : gap.acquired;
  if (gap.first_call >= end_of_release) return {.idle = 0, .in_release = 0};
  return {.idle = gap.acquired - end_of_release,
          .in_release = elapsed(std::max(gap.release_began, gap.first_call), end_of_release)};
}

}  // namespace lockyard::harness
