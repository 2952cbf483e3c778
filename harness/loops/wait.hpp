// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loop of the study wait, native and simulated.

namespace lockyard::harness::loops {

/// Measures every wait. The contender has `stay_away()`, `enter()`, `hold()`, `read_clock()` and
/// `read_clock_early()` as in rate.hpp, and
/// - `began()`, when the loop began,
/// - `has_turns_left()` and `is_before_end(acquired)`, which tell whether another turn begins after
///   an acquisition at that time, and
/// - `record(called, acquired)`, which counts the turn as well.
template <class Lock, class Contender>
[[gnu::always_inline]] inline void measure_waits(Lock& lock, Contender& self) {
  for (auto acquired = self.began(); self.has_turns_left() && self.is_before_end(acquired);) {
    self.stay_away();
    const auto called = self.read_clock_early();
    lock.lock();
    acquired = self.read_clock();
    self.enter();
    self.hold();
    lock.unlock();
    self.record(called, acquired);
  }
}

}  // namespace lockyard::harness::loops
