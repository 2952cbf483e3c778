// SPDX-License-Identifier: Apache-2.0
#include "study.hpp"

#include "topology.hpp"
#include "user_locks/adopted.hpp"

#include <algorithm>
#include <string>

namespace lockyard::harness {

// CMake lists every file of the folder studies: LOCKYARD_STUDY(background) and so on.
#define LOCKYARD_STUDY(name) study name##_study();
#include <listed_studies.inc>
#undef LOCKYARD_STUDY

namespace {

/// Returns the studies and, as studies of their own, their presets.
std::vector<study> with_presets(const std::vector<study>& declared) {
  std::vector<study> all = declared;
  for (const study& of : declared) {
    for (const study_preset& each : of.presets) {
      study& named = all.emplace_back(of);
      named.name = each.name;
      named.summary = each.summary;
      named.place = each.place;
      named.default_run_s = each.default_run_s;
      named.default_budget_s = each.default_budget_s;
      named.parameters = each.parameters;
      named.clock_reads = each.clock_reads;
      named.preset_of = of.name;
    }
  }
  return all;
}

}  // namespace

outcome refuse_variant(const job& of, const lock_traits& traits) {
  std::string able;
  for (const study& each : all_studies()) {
    const auto found = std::ranges::find(each.cells, traits.name, &cell::lock);
    if (found == each.cells.end() || found->run == &refuse_variant) continue;
    able += (able.empty() ? "" : ", ") + std::string{each.name};
  }
  throw condition_error{"study '" + of.study + "' does not measure " + std::string{traits.name} +
                        ", which is not compiled for it: choose one of " + able};
}

const std::vector<study>& all_studies() {
  static const std::vector<study> studies = [] {
#define LOCKYARD_STUDY(name) name##_study(),
    std::vector<study> found = with_presets({
#include <listed_studies.inc>
    });
#undef LOCKYARD_STUDY
    std::ranges::sort(found, {}, &study::place);
    return found;
  }();
  return studies;
}

const study* find_study(std::string_view name) {
  const auto found = std::ranges::find(all_studies(), name, &study::name);
  return found == all_studies().end() ? nullptr : &*found;
}

const cell* find_cell(const study& in, std::string_view lock) {
  const auto found = std::ranges::find(in.cells, lock, &cell::lock);
  return found == in.cells.end() ? find_adopted_cell(in.stem(), lock) : &*found;
}

}  // namespace lockyard::harness
