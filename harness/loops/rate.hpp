// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loop of the studies throughput and contention, native and simulated. The files of this folder
// define what a study measures; a *contender* says what it means where the loop runs: a thread of
// this machine, or a simulated one. Loops are always inlined, so that a contender of this machine
// can be in registers.

namespace lockyard::harness::loops {

/// Repeats turns with the lock and without it. `ReadsClock`: measures each wait. The contender has
/// - `goes_on()`, which tells whether another turn begins,
/// - `stay_away()` and `hold()`, the work without the lock and with it,
/// - `enter()`, what the owner writes to the data that the lock protects,
/// - `complete()`, which counts the turn, and
/// - if it reads the clock: `read_clock_early()`, `read_clock()`, and `add_wait(called, acquired)`.
template <bool ReadsClock, class Lock, class Contender>
[[gnu::always_inline]] inline void take_turns(Lock& lock, Contender& self) {
  while (self.goes_on()) {
    self.stay_away();
    if constexpr (ReadsClock) {
      const auto called = self.read_clock_early();
      lock.lock();
      self.add_wait(called, self.read_clock());
    } else {
      lock.lock();
    }
    self.enter();
    self.hold();
    lock.unlock();
    self.complete();
  }
}

}  // namespace lockyard::harness::loops
