// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of the study bystander, native and simulated, each for one phase.

namespace lockyard::harness::loops {

/// The activity of the other threads in a phase.
enum meanwhile : unsigned { alone, busy, banging, meanwhiles };

/// The bystander multiplies until the end of the phase, at least once, and ends it. `counts()`
/// tells whether a multiplication counts, since others may have ended the phase meanwhile.
template <class Bystander>
void multiply_through(Bystander& self) {
  const auto end = self.now() + self.phase_length();  // since the phase may have begun late
  do {
    const auto before = self.now();
    self.multiply();
    const auto after = self.now();
    if (!self.counts()) return;
    self.record(before, after);
    if (after >= end || !self.has_turns_left()) self.end_phase();
  } while (self.lasts());
}

/// Another thread keeps its processor busy and touches no memory.
template <class Contender>
void keep_busy_through(Contender& self) {
  while (self.lasts()) {
    if (self.is_overdue()) self.end_phase();
    self.keep_busy();
    self.complete_step();
  }
}

/// Another thread takes the lock again and again.
template <class Lock, class Contender>
[[gnu::always_inline]] inline void contend_through(Lock& lock, Contender& self) {
  while (self.lasts()) {
    if (self.is_overdue()) return self.end_phase();
    self.stay_away();
    lock.lock();
    self.enter();
    self.hold();
    lock.unlock();
    self.complete();
  }
}

}  // namespace lockyard::harness::loops
