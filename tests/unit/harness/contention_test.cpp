// SPDX-License-Identifier: Apache-2.0
#include <contention/units.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <numeric>
#include <random>
#include <vector>

namespace lockyard::harness {
namespace {

constexpr std::size_t lengths = 1024;

std::uint64_t sum_of(const std::vector<std::uint32_t>& units) {
  return std::accumulate(units.begin(), units.end(), std::uint64_t{0});
}

TEST(UnitsOf, have_exactly_the_mean_that_was_asked_for_however_short) {
  for (const double mean : {0.0, 0.25, 0.5, 1.0, 3.0, 12.5, 1000.0, 30'000.0}) {
    const auto units = units_of(mean, lengths);
    ASSERT_EQ(units.size(), lengths);
    EXPECT_NEAR(static_cast<double>(sum_of(units)), mean * lengths, 1) << mean;
  }
}

TEST(UnitsOf, are_exponentially_distributed) {
  constexpr double mean = 1000;
  const auto units = units_of(mean, lengths);
  EXPECT_TRUE(std::ranges::is_sorted(units));
  EXPECT_NEAR(units[lengths / 2], mean * std::log(2), 3);
  const auto beyond = std::ranges::count_if(units, [](auto each) { return each > mean; });
  EXPECT_NEAR(static_cast<double>(beyond) / lengths, std::exp(-1), 0.002);
}

/// Counts what it hands out, and may corrupt it.
class counting_resource : public std::pmr::memory_resource {
 public:
  void corrupt_all() {
    for (const auto& [place, size] : live_)
      std::fill_n(static_cast<std::byte*>(place), size, std::byte{});
  }
  [[nodiscard]] std::size_t live() const { return live_.size(); }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }

 private:
  struct block {
    void* place;
    std::size_t size;
  };

  void* do_allocate(std::size_t size, std::size_t alignment) override {
    ++calls_;
    live_.push_back({all_.allocate(size, alignment), size});
    return live_.back().place;
  }
  void do_deallocate(void* place, std::size_t size, std::size_t alignment) override {
    ++calls_;
    const auto found = std::ranges::find(live_, place, &block::place);
    ASSERT_NE(found, live_.end());
    ASSERT_EQ(found->size, size);
    live_.erase(found);
    all_.deallocate(place, size, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::pmr::unsynchronized_pool_resource all_;
  std::vector<block> live_;
  std::uint64_t calls_ = 0;
};

TEST(Allocating, asks_or_gives_back_once_a_unit_and_keeps_half_of_its_places_filled) {
  counting_resource memory;
  allocating mine{7};
  constexpr std::uint32_t units = 20'000;
  mine.work(units, memory);
  EXPECT_EQ(memory.calls(), units);
  EXPECT_GT(memory.live(), 512 / 4);
  EXPECT_LT(memory.live(), 512 * 3 / 4);
  EXPECT_EQ(mine.broken(), 0);
}

TEST(Allocating, finds_blocks_that_somebody_else_wrote_to) {
  counting_resource memory;
  allocating mine{7};
  mine.work(1000, memory);
  const std::size_t discarded = memory.live();
  memory.corrupt_all();
  mine.work(20'000, memory);
  EXPECT_GT(mine.broken(), discarded / 2);
  EXPECT_LE(mine.broken(), discarded);
}

TEST(Allocating, the_seed_determines_what_is_asked_for) {
  counting_resource memory;
  counting_resource same;
  counting_resource other;
  allocating{1}.work(999, memory);
  allocating{1}.work(999, same);
  allocating{2}.work(999, other);
  EXPECT_EQ(memory.live(), same.live());
  EXPECT_NE(memory.live(), other.live());
}

}  // namespace
}  // namespace lockyard::harness
