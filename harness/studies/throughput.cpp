// SPDX-License-Identifier: Apache-2.0

// How much a lock lets through when several threads want it for given times. No clock is read
// around the lock. docs/studies/throughput.md gives definition and reading.

#include "../closing_time.hpp"
#include "../rate.hpp"
#include "../subject.hpp"
#include "../team.hpp"
#include "../work.hpp"
#include "studies.hpp"

#include <peers/all.hpp>

namespace lockyard::harness {

namespace {

using throughput_loop = thread_span(void* place, ownership& state, closing_time& closing,
                                    worker work, unsigned thread, loop_limit limit);

template <class Lock>
[[gnu::noinline]] thread_span loop_of(void* place, ownership& state, closing_time& closing,
                                      worker work, unsigned thread, loop_limit limit) {
  Lock& lock = *static_cast<Lock*>(place);
  thread_span span{.first = clock::now()};
  for (; span.operations < limit.operations && !closing.has_come(span.operations, limit.end);
       ++span.operations) {
    work.stay_away();
    lock.lock();
    state.enter(thread);
    work.hold();
    lock.unlock();
  }
  span.last = clock::now();
  return span;
}

outcome measure(const job& of, const subject& lock, throughput_loop loop) {
  const arena<ownership> place{lock, of.seed};
  ownership& state = place.data();
  const workload work{of.work, of.threads, of.seed};
  closing_time closing{of.work};
  refusal_check refusal{lock, place.lock()};
  const team_run run = run_team_on(of, refusal, [&](unsigned thread, loop_limit limit) {
    return loop(place.lock(), state, closing, work.of(thread), thread, limit);
  });
  outcome result = rate_outcome(of, run, &state);
  result.values["work_step_ns"] = to_json(work.step_ns());
  result.checks = checks_of(lock, refusal, state.counter == run.operations());
  return result;
}

struct throughput {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure(of, {traits, operations_on<Lock>}, loop_of<Lock>);
  }
};

}  // namespace

study throughput_study() {
  return {.name = "throughput",
          .summary =
              "how many operations a lock lets through, to whom, and at what expense of "
              "processor time",
          .default_run_s = 0.2,
          .default_budget_s = 2,
          .cells = cells_of<throughput>()};
}

}  // namespace lockyard::harness
