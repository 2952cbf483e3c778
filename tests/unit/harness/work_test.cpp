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

TEST(Work, bimodal_lengths_have_the_mean_and_one_in_ten_is_ten_times_as_long) {
  const auto steps = steps_of(mean_steps, lengths::bimodal);
  EXPECT_NEAR(mean_of(steps), mean_steps, mean_steps / 1000);
  const auto [shorter, longer] = std::ranges::minmax(steps);
  EXPECT_NEAR(longer, 10.0 * shorter, 10);
  EXPECT_EQ(std::ranges::count(steps, longer), worker::turns / 10);
  EXPECT_EQ(std::ranges::count(steps, shorter), worker::turns - worker::turns / 10);
}

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> steps) {
  std::ranges::sort(steps);
  return steps;
}

TEST(Work, each_thread_has_every_length_once_in_an_order_of_its_own) {
  std::vector<std::uint32_t> gaps(worker::turns);
  std::iota(gaps.begin(), gaps.end(), 0U);
  std::vector<std::uint32_t> holds(worker::turns);
  std::iota(holds.begin(), holds.end(), 5000U);
  const auto orders_of = [&](std::uint64_t seed) {
    std::vector<std::vector<std::uint32_t>> found(4);  // gaps and holds of either thread
    const auto tables = shuffled_tables(gaps, holds, 2, seed);
    for (std::size_t i = 0; i < tables.size(); ++i) {
      found[i / worker::turns * 2].push_back(tables[i].gap_steps);
      found[i / worker::turns * 2 + 1].push_back(tables[i].hold_steps);
    }
    return found;
  };
  const auto orders = orders_of(7);
  for (const unsigned thread : {0U, 1U}) {
    EXPECT_EQ(sorted(orders[2 * thread]), gaps);
    EXPECT_EQ(sorted(orders[2 * thread + 1]), holds);
    EXPECT_NE(orders[2 * thread], gaps);
    EXPECT_NE(orders[2 * thread + 1], holds);
  }
  EXPECT_NE(orders[0], orders[2]);
  EXPECT_NE(orders[1], orders[3]);
  EXPECT_EQ(orders, orders_of(7));
  EXPECT_NE(orders, orders_of(8));
}

/// Three turns, of lengths that are far enough apart to tell them by their steps.
const work_request recorded{.hold_ns = 2000,
                            .gap_ns = 20'000,
                            .kind = lengths::recorded,
                            .recording = {{.gap_ns = 10'000, .hold_ns = 1000},
                                          {.gap_ns = 20'000, .hold_ns = 2000},
                                          {.gap_ns = 30'000, .hold_ns = 3000}}};

TEST(Work, recorded_lengths_come_in_their_order_and_over_again) {
  const workload some{recorded, 1, 1};
  worker one = some.of(0);
  for (int round = 0; round < 3; ++round) {
    for (const recorded_turn& each : recorded.recording) {
      const auto turn = one.take();
      EXPECT_NEAR(turn.gap_steps * *some.step_ns(), each.gap_ns, *some.step_ns());
      EXPECT_NEAR(turn.hold_steps * *some.step_ns(), each.hold_ns, *some.step_ns());
    }
  }
}

TEST(Work, threads_begin_at_places_of_a_recording_that_are_far_apart) {
  const workload some{recorded, 3, 1};
  for (unsigned thread = 0; thread < 3; ++thread) {
    EXPECT_NEAR(some.of(thread).take().hold_steps * *some.step_ns(),
                recorded.recording[thread].hold_ns, *some.step_ns());
  }
}

TEST(Work, how_long_a_thread_was_busy_follows_from_its_operations) {
  const workload alone{recorded, 3, 1};
  EXPECT_EQ(alone.busy_ns(0, 0), 0);
  EXPECT_NEAR(alone.busy_ns(0, 1), 11'000, 11);
  EXPECT_NEAR(alone.busy_ns(1, 1), 22'000, 22);
  EXPECT_NEAR(alone.busy_ns(0, 3), 66'000, 66);
  EXPECT_NEAR(alone.busy_ns(1, 7), 2 * 66'000 + 22'000, 154);
  const workload constant{{.hold_ns = 100, .gap_ns = 900, .kind = lengths::constant}, 2, 1};
  EXPECT_NEAR(constant.busy_ns(1, 10'000), 10'000 * 1000, 10'000 * *constant.step_ns() * 2);
  const workload none{{.hold_ns = 0, .gap_ns = 0, .kind = lengths::constant}, 2, 1};
  EXPECT_EQ(none.busy_ns(1, 10'000), 0);
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
