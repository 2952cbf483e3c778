// SPDX-License-Identifier: Apache-2.0
#pragma once

// The parts of the time between a release and the next acquisition.

#include "clock.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace lockyard::harness {

/// Shorter gaps are ignored, and so are shorter parts of gaps: reading the other threads' cache
/// lines costs about as much. skew.hpp states what this threshold requires of the clock.
inline constexpr double idle_threshold_ns = 1000;

/// The stamps around a hand-off, as the next owner sees them.
struct gap_stamps {
  ticks release_began;            ///< just before the releaser called unlock
  std::optional<ticks> released;  ///< when its unlock had returned; nullopt if not yet
  ticks acquired;
  ticks first_call;  ///< the earliest call of lock by a thread other than the releaser
};

/// The value of `first_call` if no other thread had called.
inline constexpr ticks never = std::numeric_limits<ticks>::max();

/// The parts of a gap during which a thread waited.
struct gap_parts {
  ticks idle;        ///< after the end of the release: the lock was free but wanted
  ticks in_release;  ///< during the releaser's unlock: the lock may have been held or free
};

/// Divides a gap. Idle time counts only if the call came before the release ended: a later caller
/// finds a free lock, and its time is the cost of an acquisition. If the release had not ended when
/// the lock was acquired, the whole gap stays undecided.
constexpr gap_parts parts_of(const gap_stamps& gap) noexcept {
  const bool ended = gap.released && *gap.released <= gap.acquired;
  const ticks end_of_release = ended ? *gap.released : gap.acquired;
  if (gap.first_call >= end_of_release) return {.idle = 0, .in_release = 0};
  return {.idle = gap.acquired - end_of_release,
          .in_release = elapsed(std::max(gap.release_began, gap.first_call), end_of_release)};
}

}  // namespace lockyard::harness
