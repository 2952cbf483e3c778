// SPDX-License-Identifier: Apache-2.0
#include <frames/frame_log.hpp>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace lockyard::harness {
namespace {

constexpr ticks period = 1000;

/// A frame that is due at 5000, by its times from then on.
frame of(ticks woken, ticks done, ticks waited) {
  return {.due = 5000, .woken = 5000 + woken, .done = 5000 + done, .waited = waited};
}

frame_fault fault(ticks woken, ticks done, ticks waited) {
  return fault_of(of(woken, done, waited), 5000 + period);
}

struct reported {
  nlohmann::ordered_json values = nlohmann::ordered_json::object();
  nlohmann::ordered_json histograms = nlohmann::ordered_json::object();

  explicit reported(const frame_log& of) { of.report(values, histograms); }
};

TEST(FrameLog, a_late_frame_is_the_fault_of_what_it_could_not_do_without) {
  EXPECT_EQ(fault(100, 1400, 500), frame_fault::lock);
  EXPECT_EQ(fault(500, 1400, 100), frame_fault::wake_up);
  EXPECT_EQ(fault(300, 1400, 300), frame_fault::lock_and_wake_up);
  EXPECT_EQ(fault(100, 1400, 100), frame_fault::own_work);
}

TEST(FrameLog, of_two_sufficient_faults_the_longer_one_counts) {
  EXPECT_EQ(fault(500, 1400, 600), frame_fault::lock);
  EXPECT_EQ(fault(600, 1400, 500), frame_fault::wake_up);
  EXPECT_EQ(fault(500, 1400, 500), frame_fault::lock);
}

TEST(FrameLog, a_frame_that_ends_with_its_period_is_in_time) {
  frame_log log{period};
  EXPECT_EQ(log.add(of(0, period, 0)), 1U);
  EXPECT_EQ(log.missed(), 0U);
  EXPECT_EQ(log.add(of(0, period + 1, period)), 2U);
  EXPECT_EQ(log.missed(), 1U);
}

TEST(FrameLog, a_late_frame_takes_the_place_of_those_that_it_covers) {
  frame_log log{period};
  EXPECT_EQ(log.add(of(0, 3500, 3000)), 4U);
  EXPECT_EQ(log.add(of(0, 10, 0)), 1U);
  const reported found{log};
  EXPECT_EQ(found.values["frames"], 5);
  EXPECT_EQ(found.values["missed"], 3);
  EXPECT_EQ(found.values["missed_by_lock"], 3);
  EXPECT_EQ(found.values["overrun_max_ns"], 2500);
  EXPECT_DOUBLE_EQ(found.values["missed_share"].get<double>(), 0.6);
  EXPECT_DOUBLE_EQ(found.values["missed_per_minute"].get<double>(), 3 * 60e9 / 5000);
}

TEST(FrameLog, jitter_is_the_standard_deviation_of_the_frames) {
  frame_log log{period};
  for (const ticks length : {200U, 400U, 600U}) log.add(of(50, length, 0));
  const reported found{log};
  EXPECT_DOUBLE_EQ(found.values["frame_mean_ns"].get<double>(), 400);
  EXPECT_DOUBLE_EQ(found.values["jitter_ns"].get<double>(), 200);
  EXPECT_EQ(found.values["wake_late_max_ns"], 50);
}

TEST(FrameLog, every_fault_has_a_count_of_its_own) {
  frame_log log{period};
  log.add(of(100, 1400, 500));
  log.add(of(500, 1400, 100));
  log.add(of(300, 1400, 300));
  for (int i = 0; i < 2; ++i) log.add(of(100, 1400, 100));
  const reported found{log};
  EXPECT_EQ(found.values["missed_by_lock"], 1);
  EXPECT_EQ(found.values["missed_by_wake_up"], 1);
  EXPECT_EQ(found.values["missed_by_both"], 1);
  EXPECT_EQ(found.values["missed_by_work"], 2);
}

}  // namespace
}  // namespace lockyard::harness
