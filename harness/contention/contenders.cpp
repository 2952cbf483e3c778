// SPDX-License-Identifier: Apache-2.0
#include "contenders.hpp"

#include <algorithm>

namespace lockyard::harness {

contenders::contenders(const interval& of, const unit_costs& costs, unsigned threads,
                       std::uint64_t seed)
    : costs_{costs},
      tables_{shuffled_tables(units_of(of.free_ns() / costs.free_ns, worker::turns),
                              units_of(of.held_ns() / costs.held_ns, worker::turns), threads,
                              seed)} {
  members_.reserve(threads);
  for (unsigned thread = 0; thread < threads; ++thread) {
    const worker turns{tables_.data() + std::size_t{thread} * worker::turns};
    members_.push_back({.turns = turns, .draws = drawing{seed + thread}});
  }
}

std::uint64_t contenders::units() const noexcept {
  std::uint64_t sum = 0;
  for (const contender& each : members_) sum += each.free_units + each.held_units;
  return sum;
}

std::uint64_t contenders::held_units() const noexcept {
  std::uint64_t sum = 0;
  for (const contender& each : members_) sum += each.held_units;
  return sum;
}

double contenders::work_ns() const noexcept {
  double sum = 0;
  for (const contender& each : members_) {
    sum += static_cast<double>(each.free_units) * costs_.free_ns +
           static_cast<double>(each.held_units) * costs_.held_ns;
  }
  return sum;
}

double contenders::waiting_share(const team_run& run) const noexcept {
  ticks waited = 0;
  for (const contender& each : members_) waited += each.waited;
  ticks whole = 0;
  for (const thread_span& each : run.spans) whole += elapsed(each.first, each.last);
  return static_cast<double>(waited) / static_cast<double>(std::max<ticks>(whole, 1));
}

outcome contenders_outcome(const job& of, const team_run& run, const ownership& state,
                           const contenders& all, const interval& between,
                           const unit_costs& costs) {
  outcome result = rate_outcome(of, run, &state);
  result.values["interval_ns"] = between.mean_ns;
  result.values["unit_ns"] = costs.free_ns;
  result.values["held_unit_ns"] = costs.held_ns;
  result.values["units"] = all.units();
  result.values["held_units"] = all.held_units();
  result.values["work_ns"] = all.work_ns();
  result.values["parallelism"] = all.work_ns() / run.run_ns();
  return result;
}

}  // namespace lockyard::harness
