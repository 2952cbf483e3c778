// SPDX-License-Identifier: Apache-2.0
#include <spans.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace lockyard::harness {
namespace {

using spans = std::vector<thread_span>;

TEST(Overlap, is_the_part_in_which_every_thread_was_in_its_loop) {
  EXPECT_DOUBLE_EQ(overlap_of(spans{{100, 200, 1}, {100, 200, 1}}), 1.0);
  EXPECT_DOUBLE_EQ(overlap_of(spans{{100, 200, 1}, {150, 200, 1}}), 0.5);
  EXPECT_DOUBLE_EQ(overlap_of(spans{{100, 150, 1}, {150, 200, 1}}), 0.0);
  EXPECT_DOUBLE_EQ(overlap_of(spans{{100, 120, 1}, {180, 200, 1}}), 0.0);
}

TEST(Fairness, is_one_for_equal_shares_and_one_nth_for_a_monopoly) {
  EXPECT_DOUBLE_EQ(jain_index(spans{{0, 10, 5}, {0, 10, 5}}, false), 1.0);
  EXPECT_DOUBLE_EQ(jain_index(spans{{0, 10, 8}, {0, 10, 0}}, false), 0.5);
}

TEST(Fairness, compares_speeds_where_the_work_is_the_same) {
  EXPECT_DOUBLE_EQ(jain_index(spans{{0, 10, 5}, {90, 100, 5}}, true), 1.0);
  EXPECT_LT(jain_index(spans{{0, 10, 5}, {0, 100, 5}}, true), 0.7);
}

TEST(Spans, begin_with_the_first_thread_and_end_with_the_last) {
  const spans both{{100, 180, 3}, {90, 170, 4}};
  EXPECT_EQ(start_of(both), 90U);
  EXPECT_EQ(end_of(both), 180U);
  EXPECT_EQ(operations_of(both), 7U);
}

}  // namespace
}  // namespace lockyard::harness
