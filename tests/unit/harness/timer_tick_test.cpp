// SPDX-License-Identifier: Apache-2.0
#include <timer_tick.hpp>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockyard::harness {
namespace {

constexpr ticks ms = 1'000'000;
constexpr ticks us = 1'000;

TEST(TimerTick, a_moment_shortly_after_a_tick_belongs_to_it) {
  timer_tick::set(4 * ms, 3 * ms);
  constexpr ticks tick = 1'000'003 * ms;
  for (const ticks at : {tick, tick + 100 * us, tick + 4 * ms, tick - 10 * us}) {
    EXPECT_TRUE(timer_tick::came_just_before(at)) << at;
  }
  for (const ticks at : {tick - 50 * us, tick + 300 * us, tick + 2 * ms}) {
    EXPECT_FALSE(timer_tick::came_just_before(at)) << at;
  }
}

TEST(TimerTick, of_short_ticks_no_more_than_a_tenth_counts) {
  timer_tick::set(ms, 0);
  EXPECT_TRUE(timer_tick::came_just_before(7 * ms + 70 * us));
  EXPECT_FALSE(timer_tick::came_just_before(7 * ms + 90 * us));
}

TEST(TimerTick, of_long_waits_those_that_end_at_a_tick_are_counted_twice) {
  wait_lengths lengths;
  timer_tick::set(1'000 * ms, 0);
  EXPECT_EQ(timer_tick::long_wait(), clock::from_ns(250e6));
  lengths.add(clock::now(), 250 * ms - 1);  // too short
  EXPECT_EQ(lengths.to_tick().count(), 0U);
  timer_tick::set(1, 0);  // every moment is a tick
  lengths.add(clock::now(), 300 * ms);
  EXPECT_EQ(lengths.to_tick().count(), 1U);
  EXPECT_EQ(lengths.all().count(), 2U);

  nlohmann::ordered_json histograms;
  report_waits(histograms, lengths.all(), lengths.to_tick());
  EXPECT_EQ(histograms["wait"]["counts"].size(), 2U);
  EXPECT_EQ(histograms["wait_to_tick"]["counts"].size(), 1U);
}

}  // namespace
}  // namespace lockyard::harness
