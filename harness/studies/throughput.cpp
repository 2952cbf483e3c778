// SPDX-License-Identifier: Apache-2.0

// The throughput of a lock when several threads want it for given times. No clock is read around
// the lock. docs/studies/throughput.md gives definition and reading.

#include "../energy.hpp"
#include "../futex_calls.hpp"
#include "../layout.hpp"
#include "../rate.hpp"
#include "../study.hpp"
#include "../subject.hpp"
#include "../team.hpp"

#include <peers/all.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace lockyard::harness {

namespace {

/// Futex calls are counted in one of this many blocks, for this part of the run, after the rate has
/// been measured.
constexpr std::uint64_t blocks_for_one_count = 16;
constexpr double counting_part = 0.1;

/// Returns the job of a part of the run.
job part_of(const job& whole, double share) {
  job part = whole;
  part.bound.duration_s *= share;
  return part;
}

/// The threads' work, whether their futex calls are counted or not.
struct contest {
  void* lock;
  ownership& state;
  const workload& work;
  rate_loop* loop;
};

/// Returns, of the time in which threads were not busy with work, the part in which they had a
/// processor; nullopt if there was no such time.
std::optional<double> spin_share(const team_run& run, const workload& work) {
  double busy_ns = 0;
  for (unsigned thread = 0; thread < run.spans.size(); ++thread) {
    busy_ns += work.busy_ns(thread, run.spans[thread].operations);
  }
  const double waited_ns = run.run_ns() * static_cast<double>(run.spans.size()) - busy_ns;
  if (waited_ns <= 0) return std::nullopt;
  return std::clamp((run.used.cpu_s * 1e9 - busy_ns) / waited_ns, 0.0, 1.0);
}

/// Adds the futex calls of a part of the run; returns its operations.
std::uint64_t count_futex_calls(outcome& to, const job& of, const contest& on) {
  const futex_calls here;  // while it exists, the threads' counters start and end cheaply
  if (!here.count()) {
    to.values["futex_calls_missing"] = here.why_not();
    return 0;
  }
  const job part = part_of(of, counting_part);
  closing_time closing{of.work};
  std::vector<std::unique_ptr<futex_calls>> counters(of.threads);
  std::vector<std::optional<std::uint64_t>> calls(of.threads);
  const team_run run = run_team(
      part, {.before = [&](unsigned thread) { counters[thread] = std::make_unique<futex_calls>(); },
             .gathered = [] {},
             .loop =
                 [&](unsigned thread, loop_limit limit) {
                   const auto before = counters[thread]->count();
                   const thread_span span =
                       on.loop(on.lock, on.state, closing, on.work.of(thread), thread, limit);
                   const auto after = counters[thread]->count();
                   if (before && after) calls[thread] = *after - *before;
                   return span;
                 }});
  to.values["counting_run_ns"] = run.run_ns();
  std::uint64_t all = 0;
  for (unsigned thread = 0; thread < of.threads; ++thread) {
    const std::optional<std::uint64_t> counted = calls[thread];
    if (!counted) {
      to.values["futex_calls_missing"] = counters[thread]->why_not();
      return run.operations();
    }
    all += *counted;
  }
  if (run.operations() > 0) {
    to.values["futex_calls_per_operation"] =
        static_cast<double>(all) / static_cast<double>(run.operations());
  }
  return run.operations();
}

outcome measure(const job& of, const subject& lock, rate_loop loop) {
  const arena<ownership> place{lock, of.seed, layout_of(of)};
  ownership& state = place.data();
  const workload work{of.work, of.threads, of.seed};
  const bool counts = of.block % blocks_for_one_count == 0;
  closing_time closing{of.work};
  refusal_check refusal{lock, place.lock()};
  const energy_meter energy;
  const team_run run = run_team_on(
      part_of(of, counts ? 1 - counting_part : 1), refusal, [&](unsigned thread, loop_limit limit) {
        return loop(place.lock(), state, closing, work.of(thread), thread, limit);
      });
  const auto used_j = energy.used_j();
  // No thread enters where the operation is lock-free.
  outcome result = rate_outcome(of, run, state.counter == 0 ? nullptr : &state);
  result.values["work_step_ns"] = to_json(work.step_ns());
  result.values["spin_share"] = to_json(spin_share(run, work));
  result.values["energy_per_operation_j"] = nullptr;
  if (used_j && run.operations() > 0) {
    result.values["energy_per_operation_j"] = *used_j / static_cast<double>(run.operations());
  }
  result.values["futex_calls_per_operation"] = nullptr;
  result.values["futex_calls_missing"] = nullptr;
  result.values["counting_run_ns"] = nullptr;
  std::uint64_t operations = run.operations();
  if (counts) {
    const contest on{.lock = place.lock(), .state = state, .work = work, .loop = loop};
    operations += count_futex_calls(result, of, on);
  }
  result.checks = checks_of(lock, refusal, state.counter == operations);
  return result;
}

struct throughput {
  static constexpr bool measures_variants = true;

  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure(of, {traits, operations_on<Lock>}, rate_loop_of<Lock>);
  }
};

}  // namespace

study throughput_study() {
  return {.name = "throughput",
          .summary =
              "how many operations a lock permits, how threads share them, and what processor time "
              "they cost",
          .place = 50,
          .default_run_s = 0.2,
          .default_budget_s = 2,
          .takes = times::hold_and_gap,
          .parameters = {layout_parameter()},
          .cells = cells_of<throughput>()};
}

}  // namespace lockyard::harness
