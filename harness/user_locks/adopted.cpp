// SPDX-License-Identifier: Apache-2.0
#include "adopted.hpp"

#include <utility>

namespace lockyard::harness {

namespace {

// Functions, because objects use them before main, in an unknown order.

std::vector<user_lock>& locks() {
  static std::vector<user_lock> all;
  return all;
}

std::vector<study>& studies() {
  static std::vector<study> all;
  return all;
}

}  // namespace

adoption::adoption(std::vector<user_lock> of_user) {
  locks() = std::move(of_user);
}

adoption::adoption(study with_own_cells) {
  studies().push_back(std::move(with_own_cells));
}

const std::vector<user_lock>& adopted_locks() {
  return locks();
}

const cell* find_adopted_cell(std::string_view study, std::string_view lock) {
  for (const auto& each : studies()) {
    if (each.name != study) continue;
    for (const cell& one : each.cells) {
      if (one.lock == lock) return &one;
    }
  }
  return nullptr;
}

}  // namespace lockyard::harness
