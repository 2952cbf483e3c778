// SPDX-License-Identifier: Apache-2.0

// The cost of this machine's own operations: the basis of spin budgets, and of the simulator's
// parameters. docs/studies/costs.md defines each.

#include "../costs/costs.hpp"

#include "../schedule.hpp"
#include "../study.hpp"
#include "../topology.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace lockyard::harness {

namespace {

/// The operations of several threads: yields, two wake-ups, membarrier, all lines
/// together.
constexpr unsigned together_count = 5;
/// The least time of a pair of cores, however many pairs there are.
constexpr double least_pair_ns = 0.2e6;

constexpr const char* across_names[] = {"wake_other_core", "membarrier_with_siblings",
                                        "line_round_trip"};

void report(outcome& to, const cost& found) {
  if (found.timings() == 0) {
    to.values[found.name() + "_ns"] = nullptr;
    return;
  }
  to.values[found.name() + "_ns"] = found.median_ns();
  to.histograms[found.name()] = found.histogram().to_json(found.scale());
}

/// Measures every pair of cores; the machine's figure is the middle one.
void report_lines(outcome& to, const job& of, const std::vector<int>& cpus, double share_ns) {
  const auto pairs = static_cast<double>(cpus.size() * (cpus.size() - 1)) / 2;
  std::vector<double> medians_ns;
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    for (std::size_t k = i + 1; k < cpus.size(); ++k) {
      const cost found =
          line_round_trip(of, cpus[i], cpus[k], std::max(share_ns / pairs, least_pair_ns));
      medians_ns.push_back(found.median_ns());
      list.push_back({{"cpus", {cpus[i], cpus[k]}}, {"ns", found.median_ns()}});
    }
  }
  const auto middle = medians_ns.begin() + static_cast<std::ptrdiff_t>(medians_ns.size() / 2);
  std::ranges::nth_element(medians_ns, middle);
  to.values["line_round_trip_ns"] = *middle;
  to.values["line_round_trips"] = std::move(list);
}

/// Values that need a second processor are null if there is none.
void report_across(outcome& to, const job& of, const std::vector<int>& cpus, double share_ns) {
  if (cpus.size() == 1) {
    for (const char* name : across_names) to.values[std::string{name} + "_ns"] = nullptr;
    to.values["line_round_trips"] = nlohmann::ordered_json::array();
    return;
  }
  report(to, wake_up_on_other_core(of, cpus[0], cpus[1], share_ns));
  report(to, membarrier_among_siblings(of, cpus, share_ns));
  report_lines(to, of, cpus, share_ns);
}

struct costs {
  static outcome run(const job& of) {
    const std::vector<int> cpus = processors_at(of.pin);
    leave_room(of.under, of.threads, static_cast<unsigned>(cpus.size()));
    const double share_ns = of.bound.duration_s * 1e9 / (alone_count + together_count);
    outcome result;
    const ticks began = clock::now();
    for (const cost& each : costs_alone(of, cpus[0], share_ns)) report(result, each);
    for (const cost& each : costs_on_one_core(of, cpus[0], share_ns)) report(result, each);
    report_across(result, of, cpus, share_ns);
    result.values["measured_s"] = clock::ns(elapsed(began, clock::now())) * 1e-9;
    result.values["operations"] = result.histograms.size();
    result.values["complete"] = true;
    return result;
  }
};

}  // namespace

study costs_study() {
  return {.name = "costs",
          .summary =
              "what the machine's own operations cost: clock, pause, yield, futex, switch, "
              "cache line, fence, membarrier, sleep",
          .place = 20,
          .default_run_s = 1,
          .default_budget_s = 12,
          .measures = subjects::machine,
          .cells = machine_cell<costs>()};
}

}  // namespace lockyard::harness
