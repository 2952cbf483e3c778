// SPDX-License-Identifier: Apache-2.0
#include "studies.hpp"

#include "../own/adopted.hpp"

#include <algorithm>

namespace lockyard::harness {

const std::vector<study>& all_studies() {
  static const std::vector<study> studies{
      noise_study(),       costs_study(),      wait_study(),       idle_study(),
      throughput_study(),  response_study(),   contention_study(), frequency_study(),
      bystander_study(),   background_study(), priority_study(),   stalls_study(),
      readers_study(),     torture_study(),    scale_study(),      wakeup_study(),
      uncontended_study(), workers_study(),    recovery_study(),
  };
  return studies;
}

const study* find_study(std::string_view name) {
  const auto found = std::ranges::find(all_studies(), name, &study::name);
  return found == all_studies().end() ? nullptr : &*found;
}

const cell* find_cell(const study& in, std::string_view lock) {
  const auto found = std::ranges::find(in.cells, lock, &cell::lock);
  return found == in.cells.end() ? find_adopted_cell(in.name, lock) : &*found;
}

const listed_workload* find_workload(const study& in, std::string_view name) {
  const auto found = std::ranges::find(in.workloads, name, &listed_workload::name);
  return found == in.workloads.end() ? nullptr : &*found;
}

}  // namespace lockyard::harness
