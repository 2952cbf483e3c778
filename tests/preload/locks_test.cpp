// SPDX-License-Identifier: Apache-2.0

// Which locks of the catalogue can be swapped in, against the list that CMake makes.

#include <lockyard/catalog.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace {

TEST(Swappable, locks_are_all_that_fit_and_start_as_zero_bytes) {
  std::vector<std::string> built;
  std::istringstream names{SWAPPABLE};
  for (std::string name; names >> name;) built.push_back(name);
  lockyard::for_each_entry([&](const auto& entry) {
    using lock = typename std::decay_t<decltype(entry)>::lock_type;
    const std::string name{entry.traits.name};
    alignas(lock) std::array<unsigned char, sizeof(lock)> bytes;
    bytes.fill(0xFF);
    std::construct_at(reinterpret_cast<lock*>(bytes.data()));
    const bool fits = sizeof(lock) <= 8 && alignof(lock) <= 8 &&
                      bytes == std::array<unsigned char, sizeof(lock)>{};
    EXPECT_EQ(std::ranges::count(built, name), fits ? 1 : 0) << name;
  });
}

}  // namespace
