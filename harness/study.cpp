// SPDX-License-Identifier: Apache-2.0
#include "study.hpp"

#include "user_locks/adopted.hpp"

#include <algorithm>

namespace lockyard::harness {

// CMake lists every file of the folder studies: LOCKYARD_STUDY(background) and so on.
#define LOCKYARD_STUDY(name) study name##_study();
#include <listed_studies.inc>
#undef LOCKYARD_STUDY

const std::vector<study>& all_studies() {
  static const std::vector<study> studies = [] {
#define LOCKYARD_STUDY(name) name##_study(),
    std::vector<study> found{
#include <listed_studies.inc>
    };
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
  return found == in.cells.end() ? find_adopted_cell(in.name, lock) : &*found;
}

}  // namespace lockyard::harness
