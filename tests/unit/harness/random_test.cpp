// SPDX-License-Identifier: Apache-2.0
#include <random.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace lockyard::harness {
namespace {

constexpr std::uint64_t stretch = 1000;

std::vector<std::uint64_t> first_places(std::uint64_t seed, unsigned count) {
  places of{stretch, seed};
  std::vector<std::uint64_t> found(count);
  for (auto& each : found) each = of.next();
  return found;
}

TEST(Draws, places_are_one_in_each_stretch) {
  const auto found = first_places(7, 100);
  for (std::uint64_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i] / stretch, i);
}

TEST(Draws, places_follow_from_the_seed) {
  EXPECT_EQ(first_places(7, 10), first_places(7, 10));
  EXPECT_NE(first_places(7, 10), first_places(8, 10));
}

TEST(Draws, odds_come_up_as_often_as_they_say) {
  constexpr unsigned draws = 400'000;
  xorshift chance{1};
  const odds once_in_400{400};
  unsigned came = 0;
  for (unsigned i = 0; i < draws; ++i) came += once_in_400.come_up(chance) ? 1 : 0;
  EXPECT_NEAR(came, 1000, 150);  // nearly five deviations, and the seed is fixed
}

TEST(Draws, threads_draw_different_numbers) {
  xorshift one{mixed(7)};
  xorshift other{mixed(7) + 1};
  EXPECT_NE(one.next(), other.next());
}

}  // namespace
}  // namespace lockyard::harness
