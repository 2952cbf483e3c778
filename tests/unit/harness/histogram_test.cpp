// SPDX-License-Identifier: Apache-2.0
#include <histogram.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>

namespace lockyard::harness {
namespace {

TEST(Histogram, is_at_most_one_percent_off) {
  std::mt19937_64 random{1};
  for (int bits = 1; bits < 63; ++bits) {
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t value = random() >> static_cast<unsigned>(64 - bits);
      const double off = std::abs(histogram::middle(histogram::index_of(value)) - double(value));
      ASSERT_LE(off, 0.01 * static_cast<double>(value)) << value;
    }
  }
}

TEST(Histogram, is_exact_for_small_values) {
  for (std::uint64_t value = 0; value < 256; ++value) {
    EXPECT_EQ(histogram::lowest(histogram::index_of(value)), value);
  }
}

TEST(Histogram, has_no_gap_and_no_overlap_between_buckets) {
  for (std::size_t index = 1; index < 7000; ++index) {
    const std::uint64_t lowest = histogram::lowest(index);
    ASSERT_EQ(histogram::index_of(lowest), index);
    ASSERT_EQ(histogram::index_of(lowest - 1), index - 1);
  }
}

TEST(Histogram, takes_the_largest_value) {
  const auto values = std::make_unique<histogram>();
  values->add(UINT64_MAX);
  EXPECT_EQ(values->count(), 1U);
}

TEST(Histogram, merges_counts_beyond_those_of_one_thread) {
  const auto thread = std::make_unique<histogram>();
  const auto all = std::make_unique<merged_histogram>();
  thread->add(5);
  thread->add(1000);
  all->merge(*thread);
  all->merge(*thread);
  EXPECT_EQ(all->count(), 4U);
  EXPECT_EQ(all->counts()[5], 2U);
}

TEST(Histogram, knows_its_median) {
  const auto values = std::make_unique<histogram>();
  EXPECT_EQ(values->median(), 0.0);
  for (std::uint64_t value = 1; value <= 101; ++value) values->add(value);
  EXPECT_EQ(values->median(), 51.0);
}

TEST(Histogram, writes_only_what_was_counted) {
  const auto values = std::make_unique<histogram>();
  values->add(5);
  values->add(5);
  const auto document = values->to_json(0.5);
  EXPECT_EQ(document["counts"].dump(), "[[5,2]]");
  EXPECT_EQ(document["scale"], 0.5);
}

}  // namespace
}  // namespace lockyard::harness
