// SPDX-License-Identifier: Apache-2.0

// How long a thread waits for the lock: from call to acquisition, for every operation.
// docs/studies/wait.md gives definition and reading.

#include "../loops/wait.hpp"
#include "../histogram.hpp"
#include "../layout.hpp"
#include "../loops/native.hpp"
#include "../study.hpp"
#include "../subject.hpp"
#include "../team.hpp"
#include "../timer_tick.hpp"
#include "../work.hpp"

#include <peers/all.hpp>

#include <cstdint>
#include <memory>

namespace lockyard::harness {

namespace {

struct protected_counter {
  std::uint64_t value = 0;
};

/// One thread's own measurements, separated from every other thread's.
struct alignas(detail::arch::interference_size) wait_log {
  wait_lengths waits;
  longest_stalls longest;
};

using wait_loop = thread_span(void* place, std::uint64_t& counter, worker work, unsigned thread,
                              loop_limit limit, wait_log& log);

/// A thread of this machine in the loop.
struct wait_contender : loops::native_contender {
  [[nodiscard]] ticks began() const noexcept { return span.first; }
  [[nodiscard]] bool has_turns_left() const noexcept { return span.operations < limit.operations; }
  [[nodiscard]] bool is_before_end(ticks acquired) const noexcept { return acquired < limit.end; }
  void stay_away() noexcept { work.stay_away(); }
  void enter() noexcept { counter = counter + 1; }
  void hold() noexcept { work.hold(); }
  [[gnu::always_inline]] void record(ticks called, ticks acquired) noexcept {
    const ticks waited = elapsed(called, acquired);
    log.waits.add(acquired, waited);
    log.longest.offer(thread, acquired, waited);
    ++span.operations;
  }

  std::uint64_t& counter;
  worker work;
  unsigned thread;
  loop_limit limit;
  wait_log& log;
};

template <class Lock>
[[gnu::noinline]] thread_span loop_of(void* place, std::uint64_t& counter, worker work,
                                      unsigned thread, loop_limit limit, wait_log& log) {
  thread_span span{.first = clock::now()};
  wait_contender self{{span}, counter, work, thread, limit, log};
  loops::measure_waits(*static_cast<Lock*>(place), self);
  span.last = clock::now();
  return span;
}

outcome measure(const job& of, const subject& lock, wait_loop loop) {
  timer_tick::find();
  const arena<protected_counter> place{lock, of.seed, layout_of(of)};
  const workload work{of.work, of.threads, of.seed};
  const auto logs = std::make_unique<wait_log[]>(of.threads);
  refusal_check refusal{lock, place.lock()};
  const team_run run =
      run_team(of, {.before = [&](unsigned) { refusal.probe(); },
                    .gathered = [&] { refusal.finish(); },
                    .loop =
                        [&](unsigned thread, loop_limit limit) {
                          return loop(place.lock(), place.data().value, work.of(thread), thread,
                                      limit, logs[thread]);
                        }});
  const auto waits = std::make_unique<merged_histogram>();
  const auto to_tick = std::make_unique<merged_histogram>();
  longest_stalls longest;
  for (unsigned thread = 0; thread < of.threads; ++thread) {
    waits->merge(logs[thread].waits.all());
    to_tick->merge(logs[thread].waits.to_tick());
    longest.merge(logs[thread].longest);
  }
  outcome result{.values = run.values(of)};
  result.values["wait_max_ns"] = clock::ns(longest.longest_first()[0].length);
  result.values["work_step_ns"] = to_json(work.step_ns());
  report_waits(result.histograms, *waits, *to_tick);
  result.stalls = stalls_to_json(longest, run.start());
  result.checks = checks_of(lock, refusal, place.data().value == run.operations());
  return result;
}

struct wait {
  static constexpr bool measures_variants = true;

  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure(of, {traits, operations_on<Lock>}, loop_of<Lock>);
  }
};

}  // namespace

study wait_study() {
  return {.name = "wait",
          .summary = "how long a thread waits for the lock: call to acquisition, every operation",
          .place = 30,
          .default_run_s = 0.2,
          .default_budget_s = 2,
          .takes = times::hold_and_gap,
          .parameters = {layout_parameter()},
          .published_loops = 16384,
          .published_runs = 100,
          .cells = cells_of<wait>()};
}

}  // namespace lockyard::harness
