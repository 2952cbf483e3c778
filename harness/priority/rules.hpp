// SPDX-License-Identifier: Apache-2.0
#pragma once

// The times of the study priority, native and simulated.

namespace lockyard::harness::priority_rules {

/// The hog sleeps for a part of each period, and keeps its processor busy for the rest.
inline constexpr double hog_period_ns = 10e6;
/// The rescuer looks at the high thread so often.
inline constexpr double look_every_ns = 5e6;
/// The other threads look so often whether they must still stay away from the lock.
inline constexpr double look_from_aside_every_ns = 1e5;

/// Returns how long the high thread waits before it is rescued: more turns than the low threads can
/// need unless they are kept off the processor.
constexpr double rescued_after_ns(double hold_ns, unsigned threads) noexcept {
  return 50e6 + 20 * hold_ns * threads;
}

/// Returns the next interval of the high thread in units of the mean. It is between half the mean
/// and one and a half times the mean, so that the thread never keeps step with the hog.
constexpr double interval_part(double uniform) noexcept {
  return 0.5 + uniform;
}

}  // namespace lockyard::harness::priority_rules
