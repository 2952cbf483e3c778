// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random events of a run: drawn by each thread, or at places that the seed alone determines.

#include <cstdint>
#include <limits>

namespace lockyard::harness {

/// Spreads the bits of a number over the whole word (Steele, Lea and Flood 2014), so that
/// consecutive seeds have nothing in common.
constexpr std::uint64_t mixed(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// A thread's own generator: Marsaglia's xorshift (2003) with 64 bits.
class xorshift {
 public:
  explicit constexpr xorshift(std::uint64_t seed) noexcept : state_{mixed(seed) | 1} {}

  constexpr std::uint64_t next() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  /// Returns a number from 0 to below 1, made of the upper 53 bits.
  constexpr double next_share() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;  ///< never 0, since xorshift never leaves 0
};

/// An event with a given probability.
class odds {
 public:
  explicit constexpr odds(std::uint64_t one_in) noexcept
      : below_{std::numeric_limits<std::uint64_t>::max() / one_in} {}

  constexpr bool come_up(xorshift& draws) const noexcept { return draws.next() <= below_; }

 private:
  std::uint64_t below_;
};

/// Numbers in ascending order, one in each stretch of the given length, at a place in it that the
/// seed draws: their share is the same in every run, and their places are the same for one seed.
class places {
 public:
  constexpr places(std::uint64_t stretch, std::uint64_t seed) noexcept
      : stretch_{stretch}, draws_{seed} {}

  constexpr std::uint64_t next() noexcept {
    const std::uint64_t found = begin_ + draws_.next() % stretch_;
    begin_ += stretch_;
    return found;
  }

 private:
  std::uint64_t stretch_;
  xorshift draws_;
  std::uint64_t begin_ = 0;
};

}  // namespace lockyard::harness
