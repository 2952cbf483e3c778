// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loop of the study idle, in its published form and in ours, native and simulated.

namespace lockyard::harness::loops {

/// Measures the time from each release to the next acquisition. The contender has `began()`,
/// `has_turns_left()`, `is_before_end(acquired)`, `stay_away()`, `enter()`, `hold()` and
/// `read_clock()` as in wait.hpp, and
/// - `call()` just before it calls lock,
/// - `look_back(acquired)`, which as the owner looks at the time since the last release,
/// - `begin_release(now)`, which as the owner leaves the time for the next one, and
/// - `end_release()`, which counts the turn as well.
template <class Lock, class Contender>
[[gnu::always_inline]] inline void measure_gaps(Lock& lock, Contender& self) {
  for (auto acquired = self.began(); self.has_turns_left() && self.is_before_end(acquired);) {
    self.stay_away();
    self.call();
    lock.lock();
    acquired = self.read_clock();
    self.look_back(acquired);
    self.enter();
    self.hold();
    self.begin_release(self.read_clock());
    lock.unlock();
    self.end_release();
  }
}

}  // namespace lockyard::harness::loops
