// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of the study priority, native and simulated. docs/studies/priority.md says what the
// threads are.

#include <algorithm>

namespace lockyard::harness::loops {

/// The high thread sleeps, and measures each of its waits, and how long the hog ran meanwhile.
template <class Lock, class High>
[[gnu::always_inline]] inline void measure_urgent_waits(Lock& lock, High& self) {
  while (self.goes_on()) {
    self.sleep_for_an_interval();
    const auto hog_before = self.hog_used();
    const auto called = self.read_clock_early();
    self.begin_wait(called);
    lock.lock();
    const auto acquired = self.read_clock();
    const auto hog_ran = self.hog_used() - hog_before;
    self.enter();
    lock.unlock();
    self.end_wait();
    self.record(called, acquired, hog_ran);
  }
}

/// A low thread takes the lock again and again, and stays away from it while the high thread is
/// being rescued.
template <class Lock, class Low>
[[gnu::always_inline]] inline void keep_holding(Lock& lock, Low& self) {
  while (self.goes_on()) {
    self.stay_away();
    self.make_way();
    lock.lock();
    self.enter();
    self.hold();
    lock.unlock();
    self.complete();
  }
}

/// The hog sleeps for the first part of each period, so that the low threads can begin their work,
/// and keeps its processor busy for the rest.
template <class Hog, class Time>
void sleep_and_work(Hog& self, Time period, Time asleep) {
  for (Time begin = self.now(); self.goes_on(begin);
       begin = std::max<Time>(begin + period, self.now())) {
    self.sleep_until(begin + asleep);
    while (self.now() < begin + period && self.may_work()) self.work();
    self.make_way();
  }
}

}  // namespace lockyard::harness::loops
