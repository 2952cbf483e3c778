// SPDX-License-Identifier: Apache-2.0
#include <stalls.hpp>

#include <gtest/gtest.h>

namespace lockyard::harness {
namespace {

TEST(LongestStalls, keeps_the_longest_in_order) {
  longest_stalls stalls;
  for (ticks length = 1; length <= 100; ++length) stalls.offer(0, length, length * 37 % 101);
  for (std::size_t i = 0; i < longest_stalls::kept; ++i) {
    EXPECT_EQ(stalls.longest_first()[i].length, 100 - i);
  }
}

TEST(LongestStalls, merges_threads) {
  longest_stalls first;
  longest_stalls second;
  first.offer(1, 10, 5);
  second.offer(2, 20, 9);
  first.merge(second);
  EXPECT_EQ(first.longest_first()[0].thread, 2U);
  EXPECT_EQ(first.longest_first()[1].thread, 1U);
  EXPECT_EQ(first.longest_first()[2].length, 0U);
}

}  // namespace
}  // namespace lockyard::harness
