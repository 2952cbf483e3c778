// SPDX-License-Identifier: Apache-2.0
#include <priority/ranks.hpp>

#include <gtest/gtest.h>

namespace lockyard::harness {
namespace {

TEST(Ranks, real_time_ones_are_above_each_other_and_the_low_ones_below_all) {
  const ranks found = ranks_under({.of = policy::rr, .priority = 4});
  EXPECT_TRUE(found.are_strict);
  EXPECT_EQ(found.hog.priority, 4U);
  EXPECT_EQ(found.high.priority, 5U);
  EXPECT_EQ(found.rescuer.priority, 6U);
  EXPECT_EQ(found.high.of, policy::rr);
  EXPECT_EQ(found.low.of, policy::other);
}

TEST(Ranks, by_nice_the_hog_is_in_the_middle) {
  for (int nice = -20; nice <= 17; ++nice) {
    const ranks found = ranks_under({.of = policy::batch, .nice = nice});
    EXPECT_FALSE(found.are_strict);
    EXPECT_EQ(found.high.nice, nice);
    EXPECT_LT(found.high.nice, found.hog.nice);
    EXPECT_LT(found.hog.nice, found.low.nice);
    EXPECT_EQ(found.low.of, policy::batch);
  }
}

TEST(Ranks, there_have_to_be_three) {
  EXPECT_THROW(ranks_under({.of = policy::fifo, .priority = 98}), condition_error);
  EXPECT_THROW(ranks_under({.of = policy::other, .nice = 18}), condition_error);
  EXPECT_THROW(ranks_under({.of = policy::idle}), condition_error);
  EXPECT_THROW(ranks_under({.of = policy::deadline}), condition_error);
}

}  // namespace
}  // namespace lockyard::harness
