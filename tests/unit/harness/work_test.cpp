// SPDX-License-Identifier: Apache-2.0
#include <work.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace lockyard::harness {
namespace {

constexpr double mean_steps = 1000;

double mean_of(const std::vector<std::uint32_t>& steps) {
  return std::accumulate(steps.begin(), steps.end(), 0.0) / static_cast<double>(steps.size());
}

TEST(Work, constant_lengths_are_all_the_same) {
  const auto steps = steps_of(mean_steps, lengths::constant);
  EXPECT_EQ(steps.size(), worker::turns);
  EXPECT_EQ(std::ranges::count(steps, 1000U), worker::turns);
}

TEST(Work, exponential_lengths_have_the_mean_and_the_quantiles_of_the_distribution) {
  const auto steps = steps_of(mean_steps, lengths::exponential);
  EXPECT_NEAR(mean_of(steps), mean_steps, mean_steps / 1000);
  EXPECT_NEAR(steps[worker::turns / 2], mean_steps * std::log(2), 2);
  const double share_beyond_mean =
      static_cast<double>(
          std::ranges::count_if(steps, [](std::uint32_t each) { return each > mean_steps; })) /
      worker::turns;
  EXPECT_NEAR(share_beyond_mean, std::exp(-1), 0.002);
}

TEST(Work, no_length_is_no_work) {
  EXPECT_EQ(std::ranges::count(steps_of(0, lengths::exponential), 0U), worker::turns);
  const workload none{{.hold_ns = 0, .gap_ns = 0, .kind = lengths::exponential}, 4, 1};
  EXPECT_FALSE(none.step_ns());
}

TEST(Work, a_step_takes_time) {
  const workload some{{.hold_ns = 100, .gap_ns = 0, .kind = lengths::constant}, 2, 1};
  ASSERT_TRUE(some.step_ns());
  EXPECT_GT(*some.step_ns(), 0);
}

}  // namespace
}  // namespace lockyard::harness
