// SPDX-License-Identifier: Apache-2.0
#include "subjects.hpp"

#include "world.hpp"

#include <lockyard/catalog.hpp>
#include <lockyard/world/in_world.hpp>

#include <vector>

namespace lockyard::simulation {

std::span<const subject> catalogue_subjects() {
  static const std::vector<subject> all = [] {
    std::vector<subject> found;
    for_each_entry([&found]<class Lock>(const catalog_entry<Lock>& entry) {
      if constexpr (requires { typename in_world_t<Lock, simulated>; }) {
        found.push_back(subject_of<in_world_t<Lock, simulated>>(entry.traits));
      }
    });
    return found;
  }();
  return all;
}

}  // namespace lockyard::simulation
