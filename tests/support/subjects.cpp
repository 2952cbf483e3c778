// SPDX-License-Identifier: Apache-2.0
#include "support/subjects.hpp"

#include <cctype>
#include <ostream>
#include <string>

namespace lockyard::testing {

std::vector<subject> sound_subjects() {
  return sound_subjects([](const lock_traits&) { return true; });
}

std::vector<subject> sound_subjects(bool (*accepts)(const lock_traits&)) {
  std::vector<subject> found;
  for_each_lock([&]<class Lock>(const catalog_entry<Lock>& entry) {
    if constexpr (is_sound<Lock>) {
      if (accepts(entry.traits)) found.push_back(subject_of<Lock>(entry.traits));
    }
  });
  return found;
}

std::vector<subject> our_subjects() {
  return sound_subjects([](const lock_traits& lock) { return lock.kind == lock_kind::ours; });
}

std::vector<subject> our_timed_subjects() {
  return sound_subjects(
      [](const lock_traits& lock) { return lock.kind == lock_kind::ours && lock.timed; });
}

void PrintTo(const subject& each, std::ostream* to) {
  *to << each.traits.name;
}

std::string name_of(const ::testing::TestParamInfo<subject>& info) {
  std::string name{info.param.traits.name};
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace lockyard::testing
