// SPDX-License-Identifier: Apache-2.0
#include <wakeup/latencies.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace lockyard::harness {
namespace {

TEST(Latencies, are_summed_up_with_their_signs) {
  const auto found = std::make_unique<latencies>();
  for (const ticks to : {100U, 104U, 98U, 110U}) found->add(100, to);
  EXPECT_EQ(found->count(), 4U);
  EXPECT_EQ(found->negatives(), 1U);
  EXPECT_EQ(found->least(), -2);
  EXPECT_EQ(found->most(), 10);
  EXPECT_DOUBLE_EQ(found->mean(), 3);
  EXPECT_DOUBLE_EQ(found->deviation(), std::sqrt((9.0 + 1 + 25 + 49) / 3));
  EXPECT_EQ(found->median(), 0);
  EXPECT_EQ(found->histogram().count(), 3U);
}

TEST(Latencies, have_a_negative_median_if_most_are) {
  const auto found = std::make_unique<latencies>();
  for (const ticks to : {90U, 80U, 200U}) found->add(100, to);
  EXPECT_EQ(found->median(), -10);
}

TEST(Latencies, report_nothing_if_there_are_none) {
  clock::use(clock_source::monotonic_raw, 2.0);
  const auto found = std::make_unique<latencies>();
  auto values = nlohmann::ordered_json::object();
  found->report(values, "x");
  EXPECT_TRUE(values["x_min_ns"].is_null());
  EXPECT_EQ(values["x_negatives"], 0);
  found->add(100, 95);
  found->report(values, "x");
  EXPECT_EQ(values["x_min_ns"], -10.0) << "in nanoseconds";
  EXPECT_EQ(values["x_median_ns"], -10.0);
}

}  // namespace
}  // namespace lockyard::harness
