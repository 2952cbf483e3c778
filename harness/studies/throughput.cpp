// SPDX-License-Identifier: Apache-2.0

// How much a lock lets through when several threads want it for given times. No clock is read
// around the lock. docs/studies/throughput.md gives definition and reading.

#include "../closing_time.hpp"
#include "../subject.hpp"
#include "../team.hpp"
#include "../work.hpp"
#include "studies.hpp"

#include <peers/all.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace lockyard::harness {

namespace {

/// What the lock protects.
struct ownership {
  std::uint64_t counter = 0;
  std::uint64_t switches = 0;
  unsigned owner = std::numeric_limits<unsigned>::max();
};

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
    state.counter = state.counter + 1;
    if (state.owner != thread) {
      state.owner = thread;
      state.switches = state.switches + 1;
    }
    work.hold();
    lock.unlock();
  }
  span.last = clock::now();
  return span;
}

/// The most operations of a thread for the fewest of one; null if one made none.
nlohmann::ordered_json most_to_fewest(const team_run& run) {
  const auto [fewest, most] = std::ranges::minmax_element(run.spans, {}, &thread_span::operations);
  if (fewest->operations == 0) return nullptr;
  return static_cast<double>(most->operations) / static_cast<double>(fewest->operations);
}

outcome measure(const job& of, const subject& lock, throughput_loop loop) {
  const arena<ownership> place{lock, of.seed};
  ownership& state = place.data();
  const workload work{of.work, of.threads, of.seed};
  closing_time closing{of.work};
  refusal_check refusal{lock, place.lock()};
  const team_run run =
      run_team(of, {.before = [&](unsigned) { refusal.probe(); },
                    .gathered = [&] { refusal.finish(); },
                    .loop =
                        [&](unsigned thread, loop_limit limit) {
                          return loop(place.lock(), state, closing, work.of(thread), thread, limit);
                        }});
  outcome result{.values = run.values(of)};
  const auto operations = static_cast<double>(std::max<std::uint64_t>(run.operations(), 1));
  result.values["operations_most_to_fewest"] = most_to_fewest(run);
  result.values["owner_switches"] = state.switches;
  result.values["owner_switch_share"] = static_cast<double>(state.switches) / operations;
  result.values["cpu_share"] = run.cpu_share();
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
