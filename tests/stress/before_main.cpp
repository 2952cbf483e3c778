// SPDX-License-Identifier: Apache-2.0

// Locks that are used before main, and before whatever the library itself does then.

#include <string>
#include <vector>

#include "stress/contention.hpp"

namespace lockyard::testing {
namespace {

struct finding {
  std::string lock;
  ::testing::AssertionResult kept_its_word;
};

std::vector<finding> fight_for_every_lock() {
  std::vector<finding> found;
  for (const subject& each : sound_subjects()) {
    const auto lock = each.make();
    contention team{*lock, {.rounds = 50, .sleep = std::chrono::microseconds{20}}};
    found.push_back({std::string{each.traits.name}, team.kept_its_word()});
  }
  return found;
}

/// Earlier than every object without a priority, including the library's.
[[gnu::init_priority(101)]] const std::vector<finding> before_main = fight_for_every_lock();

TEST(BeforeMain, every_lock_serves_threads) {
  EXPECT_EQ(before_main.size(), sound_subjects().size());
  for (const auto& [lock, kept_its_word] : before_main) EXPECT_TRUE(kept_its_word) << lock;
}

}  // namespace
}  // namespace lockyard::testing
