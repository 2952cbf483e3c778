// SPDX-License-Identifier: Apache-2.0
#include "rate.hpp"

#include <algorithm>
#include <utility>

namespace lockyard::harness {

namespace {

/// Returns the most operations of a thread divided by the fewest; null if a thread made none.
nlohmann::ordered_json most_to_fewest(const team_run& run) {
  const auto [fewest, most] = std::ranges::minmax_element(run.spans, {}, &thread_span::operations);
  if (fewest->operations == 0) return nullptr;
  return static_cast<double>(most->operations) / static_cast<double>(fewest->operations);
}

}  // namespace

team_run run_team_on(const job& of, refusal_check& refusal,
                     std::function<thread_span(unsigned thread, loop_limit limit)> loop) {
  return run_team(of, {.before = [&](unsigned) { refusal.probe(); },
                       .gathered = [&] { refusal.finish(); },
                       .loop = std::move(loop)});
}

outcome rate_outcome(const job& of, const team_run& run, const ownership* shared,
                     unsigned acquisitions_per_operation) {
  outcome result{.values = run.values(of)};
  result.values["operations_most_to_fewest"] = most_to_fewest(run);
  result.values["owner_switches"] = nullptr;
  result.values["owner_switch_share"] = nullptr;
  if (shared != nullptr) {
    const std::uint64_t acquisitions = run.operations() * acquisitions_per_operation;
    result.values["owner_switches"] = shared->switches;
    result.values["owner_switch_share"] =
        static_cast<double>(shared->switches) /
        static_cast<double>(std::max<std::uint64_t>(acquisitions, 1));
  }
  result.values["cpu_share"] = run.cpu_share();
  return result;
}

}  // namespace lockyard::harness
