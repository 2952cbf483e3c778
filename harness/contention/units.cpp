// SPDX-License-Identifier: Apache-2.0
#include "units.hpp"

#include "../clock.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lockyard::harness {

namespace {

constexpr std::uint32_t batch_units = 1248;  // twice the generator's state
constexpr int batches = 301;
constexpr int counted_batch = batches / 10;  // in ascending order of their length
constexpr int warming_batches = 5;
constexpr std::uint64_t calibration_seed = 1;
// Blocks have 16 bytes to 4 KiB, equally many of each magnitude.
constexpr std::size_t least_words = 2;
constexpr std::uint64_t magnitudes = 8;

template <class Batch>
double unit_ns(Batch batch) {
  for (int i = 0; i < warming_batches; ++i) batch();
  std::array<ticks, batches> found{};
  for (ticks& each : found) {
    const ticks before = clock::now();
    batch();
    each = elapsed(before, clock::now());
  }
  const auto counted = found.begin() + counted_batch;
  std::ranges::nth_element(found, counted);
  return std::max(clock::ns(*counted), 1.0) / batch_units;
}

}  // namespace

[[gnu::noinline, gnu::aligned(64)]] void drawing::work(std::uint32_t units) noexcept {
  std::uint_fast32_t found = 0;
  for (; units != 0; --units) found ^= twister_();
  asm volatile("" : : "r"(found));  // makes the compiler keep the result
}

[[gnu::noinline, gnu::aligned(64)]] void allocating::work(
    std::uint32_t units, std::pmr::memory_resource& from) noexcept {
  for (; units != 0; --units) {
    block& place = blocks_[draws_.next() % places];
    if (place.words == nullptr) {
      take(place, from);
    } else {
      give_back(place, from);
    }
  }
}

void allocating::take(block& place, std::pmr::memory_resource& from) noexcept {
  const std::uint64_t draw = draws_.next();
  const std::size_t base = least_words << (draw % magnitudes);
  place.count = base + (draw >> 32) % base;
  place.words = static_cast<std::uint64_t*>(from.allocate(place.count * sizeof(std::uint64_t)));
  place.words[0] = place.words[place.count - 1] = reinterpret_cast<std::uintptr_t>(&place);
}

void allocating::give_back(block& place, std::pmr::memory_resource& to) noexcept {
  const auto mine = reinterpret_cast<std::uintptr_t>(&place);
  if (place.words[0] != mine || place.words[place.count - 1] != mine) ++broken_;
  to.deallocate(place.words, place.count * sizeof(std::uint64_t));
  place = {};
}

std::vector<std::uint32_t> units_of(double mean_units, std::size_t lengths) {
  // The distribution's mean below a rank: quantiles are -log(1 - rank).
  const auto below = [lengths](std::size_t place) {
    const double rank = static_cast<double>(place) / static_cast<double>(lengths);
    return rank < 1 ? (1 - rank) * std::log1p(-rank) + rank : 1.0;
  };
  std::vector<std::uint32_t> found(lengths);
  double owed = 0;  // the rounding error of one length is added to the next
  for (std::size_t i = 0; i < lengths; ++i) {
    owed += mean_units * (below(i + 1) - below(i)) * static_cast<double>(lengths);
    found[i] = static_cast<std::uint32_t>(std::max(std::lround(owed), 0L));
    owed -= found[i];
  }
  return found;
}

double draw_ns() noexcept {
  drawing alone{calibration_seed};
  return unit_ns([&alone] { alone.work(batch_units); });
}

double allocation_ns() {
  std::pmr::unsynchronized_pool_resource allocator;
  allocating alone{calibration_seed};
  return unit_ns([&] { alone.work(batch_units, allocator); });
}

}  // namespace lockyard::harness
