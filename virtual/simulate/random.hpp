// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "duration.hpp"

#include <cmath>
#include <cstdint>

namespace lockyard::simulation {

/// splitmix64: the same numbers from the same seed on every machine.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : state_{seed} {}

  std::uint64_t next() noexcept {
    std::uint64_t bits = state_ += 0x9E37'79B9'7F4A'7C15U;
    bits = (bits ^ bits >> 30U) * 0xBF58'476D'1CE4'E5B9U;
    bits = (bits ^ bits >> 27U) * 0x94D0'49BB'1331'11EBU;
    return bits ^ bits >> 31U;
  }
  /// Returns a number from 0 to below 1.
  double uniform() noexcept { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }
  double exponential(double mean) noexcept { return -mean * std::log1p(-uniform()); }
  ps part_of(ps length) noexcept { return scaled_by(length, uniform()); }

 private:
  std::uint64_t state_;
};

}  // namespace lockyard::simulation
