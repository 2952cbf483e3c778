// SPDX-License-Identifier: Apache-2.0
#include <arrivals.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace lockyard::harness {
namespace {

constexpr double mean_ns = 1000;
constexpr unsigned many = 100'000;
constexpr ticks start = 5000;

/// Gaps, with a clock of which a tick is half a nanosecond.
std::vector<double> gaps_ns(std::uint64_t seed, unsigned count) {
  clock::use(clock_source::monotonic_raw, 0.5);
  arrivals due{mean_ns, seed};
  due.begin(start);
  std::vector<double> found;
  for (ticks last = start; found.size() < count;) {
    const ticks next = due.next();
    found.push_back(clock::ns(next - last));
    last = next;
  }
  clock::use(clock_source::monotonic_raw, 1);
  return found;
}

TEST(Arrivals, gaps_have_the_mean_and_the_quantiles_of_an_exponential_distribution) {
  auto gaps = gaps_ns(7, many);
  double sum = 0;
  for (const double gap : gaps) sum += gap;
  EXPECT_NEAR(sum / many, mean_ns, mean_ns / 50);
  std::ranges::sort(gaps);
  EXPECT_NEAR(gaps[many / 2], mean_ns * std::log(2), mean_ns / 50);
  EXPECT_NEAR(gaps[many - many / 100], mean_ns * std::log(100), mean_ns / 5);
}

TEST(Arrivals, a_gap_says_nothing_of_the_next_one) {
  const auto gaps = gaps_ns(3, many);
  double together = 0;
  for (unsigned i = 1; i < many; ++i) together += (gaps[i] - mean_ns) * (gaps[i - 1] - mean_ns);
  EXPECT_NEAR(together / many / (mean_ns * mean_ns), 0, 0.02);
}

TEST(Arrivals, follow_from_the_seed) {
  EXPECT_EQ(gaps_ns(7, 10), gaps_ns(7, 10));
  EXPECT_NE(gaps_ns(7, 10), gaps_ns(8, 10));
}

TEST(Arrivals, those_that_are_left_are_counted_from_the_one_that_is_due) {
  arrivals counted{mean_ns, 5};
  counted.begin(start);
  const ticks first = counted.next();
  const ticks end = start + 100 * static_cast<ticks>(mean_ns);
  arrivals walked{mean_ns, 5};
  walked.begin(start);
  std::uint64_t expected = 0;
  while (walked.next() < end) ++expected;
  ASSERT_GT(expected, 50U);
  EXPECT_EQ(counted.count_until(end, first), expected);
  EXPECT_EQ(counted.count_until(end, end), 0U);
}

TEST(Arrivals, without_gaps_are_due_at_once_and_endless) {
  arrivals due{0, 1};
  due.begin(start);
  EXPECT_TRUE(due.are_endless());
  EXPECT_EQ(due.next(), start);
  EXPECT_EQ(due.next(), start);
  EXPECT_EQ(due.count_until(start + 1, start), 0U);
}

}  // namespace
}  // namespace lockyard::harness
