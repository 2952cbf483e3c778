// SPDX-License-Identifier: Apache-2.0
#include <gap.hpp>

#include <gtest/gtest.h>

namespace lockyard::harness {
namespace {

TEST(Gap, is_idle_from_the_end_of_the_release_if_somebody_waited) {
  const gap_parts parts =
      parts_of({.release_began = 100, .released = 110, .acquired = 500, .first_call = 50});
  EXPECT_EQ(parts.idle, 390U);
  EXPECT_EQ(parts.in_release, 10U);
}

TEST(Gap, is_not_wanted_if_the_first_call_came_after_the_release) {
  const gap_parts parts =
      parts_of({.release_began = 100, .released = 110, .acquired = 500, .first_call = 110});
  EXPECT_EQ(parts.idle, 0U);
  EXPECT_EQ(parts.in_release, 0U);
}

TEST(Gap, is_not_wanted_if_nobody_else_called) {
  const gap_parts parts =
      parts_of({.release_began = 100, .released = 110, .acquired = 500, .first_call = never});
  EXPECT_EQ(parts.idle + parts.in_release, 0U);
}

TEST(Gap, is_undecided_while_the_releaser_has_not_left_its_unlock) {
  const gap_parts parts =
      parts_of({.release_began = 100, .released = {}, .acquired = 500, .first_call = 50});
  EXPECT_EQ(parts.idle, 0U);
  EXPECT_EQ(parts.in_release, 400U);
}

TEST(Gap, is_undecided_if_the_release_ended_after_the_acquisition) {
  const gap_parts parts =
      parts_of({.release_began = 100, .released = 600, .acquired = 500, .first_call = 50});
  EXPECT_EQ(parts.idle, 0U);
  EXPECT_EQ(parts.in_release, 400U);
}

TEST(Gap, counts_a_release_only_from_the_first_call_on) {
  const gap_parts parts =
      parts_of({.release_began = 100, .released = 400, .acquired = 500, .first_call = 390});
  EXPECT_EQ(parts.idle, 100U);
  EXPECT_EQ(parts.in_release, 10U);
}

TEST(Elapsed, is_nothing_where_two_clocks_disagree_about_the_order) {
  EXPECT_EQ(elapsed(100, 130), 30U);
  EXPECT_EQ(elapsed(130, 100), 0U);
}

}  // namespace
}  // namespace lockyard::harness
