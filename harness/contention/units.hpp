// SPDX-License-Identifier: Apache-2.0
#pragma once

// Work that is counted in units: draws of a Mersenne Twister, and steps of a program that
// allocates. docs/studies/contention.md says what they stand for.

#include "../draws.hpp"

#include <lockyard/detail/arch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <random>
#include <vector>

namespace lockyard::harness {

/// A unit is one draw. Each thread has a generator of its own, with and without the lock.
class drawing {
 public:
  explicit drawing(std::uint64_t seed) noexcept
      : twister_{static_cast<std::uint32_t>(mixed(seed))} {}

  /// The same code for every lock.
  void work(std::uint32_t units) noexcept;

 private:
  std::mt19937 twister_;
};

/// A unit asks the allocator for a block, or gives one back. What one thread has of an allocator
/// that several use in turn: it is not made for several threads at once.
class alignas(detail::arch::interference_size) allocating {
 public:
  explicit allocating(std::uint64_t seed) noexcept : draws_{seed} {}

  /// The same code for every lock. Ends the process where there is no memory.
  void work(std::uint32_t units, std::pmr::memory_resource& from) noexcept;

  /// Blocks that had changed when they were given back.
  [[nodiscard]] std::uint64_t broken() const noexcept { return broken_; }

 private:
  struct block {
    std::uint64_t* words = nullptr;
    std::size_t count = 0;
  };
  /// A power of two: so many blocks are there at most, and half of them on average.
  static constexpr std::size_t places = 512;

  void take(block& place, std::pmr::memory_resource& from) noexcept;
  void give_back(block& place, std::pmr::memory_resource& to) noexcept;

  xorshift draws_;
  std::array<block, places> blocks_{};
  std::uint64_t broken_ = 0;
};

/// What a unit takes a thread that nobody disturbs: of many batches the first decile, for what
/// disturbs one only adds. Some milliseconds.
double draw_ns() noexcept;
double allocation_ns();

/// So many lengths in the order of their size: exponentially distributed, and of that mean, also
/// where it is a unit or less.
std::vector<std::uint32_t> units_of(double mean_units, std::size_t lengths);

}  // namespace lockyard::harness
