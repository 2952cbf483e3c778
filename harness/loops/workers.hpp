// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of the study workers, native and simulated. docs/studies/workers.md defines them.

namespace lockyard::harness::loops {

/// Submits the tasks of a burst, with the time of each submission, and sleeps until the last task
/// has ended.
template <class Submitter>
[[gnu::always_inline]] inline void submit_burst(Submitter& self) {
  for (unsigned task = 0; task < self.tasks(); ++task) {
    const auto before = self.read_clock();
    self.submit(task, before);
    self.record_submission(before, self.read_clock());
  }
  self.sleep_until_all_have_ended();
}

/// Alternates gaps and bursts, at least one of each.
template <class Submitter>
void alternate(Submitter& self) {
  do {
    self.pass_gap();
    self.run_burst();
  } while (self.goes_on());
}

/// A worker runs a task.
template <class Task>
[[gnu::always_inline]] inline void run_task(Task& self) {
  self.begin(self.read_clock());
  self.work();
  self.end(self.read_clock());
}

}  // namespace lockyard::harness::loops
