// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of the study scale, native and simulated: in which order an operation takes its locks.
// docs/studies/scale.md says what the objects stand for.

namespace lockyard::harness::loops {

/// Thinks, then makes one step while holding the lock.
template <class Contender, class Lock, class Step>
[[gnu::always_inline]] inline void think_then(Contender& self, Lock& lock, Step step) {
  self.think();
  lock.lock();
  step();
  lock.unlock();
}

/// Locks a range of a file and unlocks it. `looks_up_file()` tells whether the table of open files
/// is searched in between, as it is if each thread has a file of its own.
template <class Contender>
[[gnu::always_inline]] inline void lock_and_unlock_ranges(Contender& self) {
  while (self.goes_on()) {
    think_then(self, self.ranges_lock(), [&] { self.insert_range(); });
    if (self.looks_up_file()) think_then(self, self.table_lock(), [&] { self.look_up_file(); });
    think_then(self, self.ranges_lock(), [&] { self.remove_range(); });
    self.complete();
  }
}

/// Opens a file in a directory and closes it.
template <class Contender>
[[gnu::always_inline]] inline void open_and_close_files(Contender& self) {
  while (self.goes_on()) {
    think_then(self, self.table_lock(), [&] { self.open_file(); });
    think_then(self, self.directory_lock(), [&] { self.take_reference(); });
    think_then(self, self.directory_lock(), [&] { self.look_up_name(); });
    think_then(self, self.directory_lock(), [&] { self.drop_reference(); });
    think_then(self, self.table_lock(), [&] { self.close_file(); });
    self.complete();
  }
}

}  // namespace lockyard::harness::loops
