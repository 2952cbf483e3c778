// SPDX-License-Identifier: Apache-2.0
#include "studies.hpp"

#include <algorithm>

namespace lockyard::harness {

const std::vector<study>& all_studies() {
  static const std::vector<study> studies{
      noise_study(),   costs_study(),    wait_study(),  idle_study(),   throughput_study(),
      readers_study(), torture_study(),  scale_study(), wakeup_study(), uncontended_study(),
      workers_study(), recovery_study(), stalls_study()};
  return studies;
}

const study* find_study(std::string_view name) {
  const auto found = std::ranges::find(all_studies(), name, &study::name);
  return found == all_studies().end() ? nullptr : &*found;
}

const cell* find_cell(const study& in, std::string_view lock) {
  const auto found = std::ranges::find(in.cells, lock, &cell::lock);
  return found == in.cells.end() ? nullptr : &*found;
}

const listed_workload* find_workload(const study& in, std::string_view name) {
  const auto found = std::ranges::find(in.workloads, name, &listed_workload::name);
  return found == in.workloads.end() ? nullptr : &*found;
}

}  // namespace lockyard::harness
