// SPDX-License-Identifier: Apache-2.0
#pragma once

// Work that is counted in units: draws of a Mersenne Twister, and steps of a program that
// allocates. docs/studies/contention.md says what they stand for.

#include "../random.hpp"

#include <lockyard/detail/arch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <random>
#include <vector>

namespace lockyard::harness {

/// A unit is one draw. Each thread has its own generators, with and without the lock.
class drawing {
 public:
  explicit drawing(std::uint64_t seed) noexcept
      : twister_{static_cast<std::uint32_t>(mixed(seed))} {}

  /// Runs the same code for every lock.
  void work(std::uint32_t units) noexcept;

 private:
  std::mt19937 twister_;
};

/// A unit allocates or frees a block. The object is one thread's part of an allocator that several
/// threads use in turn, and that is not made for concurrent use.
class alignas(detail::arch::interference_size) allocating {
 public:
  explicit allocating(std::uint64_t seed) noexcept : draws_{seed} {}

  /// Runs the same code for every lock. Ends the process if there is no memory.
  void work(std::uint32_t units, std::pmr::memory_resource& from) noexcept;

  /// Returns the number of blocks that had changed when they were freed.
  [[nodiscard]] std::uint64_t broken() const noexcept { return broken_; }

 private:
  struct block {
    std::uint64_t* words = nullptr;
    std::size_t count = 0;
  };
  /// A power of two: the most blocks at a time; half of them exist on average.
  static constexpr std::size_t places = 512;

  void take(block& place, std::pmr::memory_resource& from) noexcept;
  void give_back(block& place, std::pmr::memory_resource& to) noexcept;

  xorshift draws_;
  std::array<block, places> blocks_{};
  std::uint64_t broken_ = 0;
};

/// Returns the time of a unit for an undisturbed thread: the first decile of many batches, because
/// disturbances only add time. Takes some milliseconds.
double draw_ns() noexcept;
double allocation_ns();

/// Returns so many lengths in ascending order: exponentially distributed with that mean, even if
/// the mean is at most one unit.
std::vector<std::uint32_t> units_of(double mean_units, std::size_t lengths);

}  // namespace lockyard::harness
