// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lockyard::model {

/// 128 bits: with 2^32 states in the cache the chance that any two collide is below 2^-64.
struct hash128 {
  std::uint64_t low = 0x9e3779b97f4a7c15;
  std::uint64_t high = 0xc2b2ae3d27d4eb4f;

  friend bool operator==(const hash128&, const hash128&) = default;

  void mix(std::uint64_t value) noexcept {
    low = fold(low ^ value, 0xa0761d6478bd642f);
    high = fold(high ^ value, 0xe7037ed1a0b428db);
  }
  void mix(const hash128& other) noexcept {
    mix(other.low);
    mix(other.high);
  }
  /// For elements without an order among them.
  void add(const hash128& other) noexcept {
    low += other.low;
    high += other.high;
  }

  /// For absl's containers: the value is already a hash.
  template <class State>
  friend State AbslHashValue(State state, const hash128& of) {
    return State::combine(std::move(state), of.low);
  }

 private:
  static std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using wide = unsigned __int128;
    const auto product = static_cast<wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
  }
};

}  // namespace lockyard::model
