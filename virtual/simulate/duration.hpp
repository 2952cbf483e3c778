// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lockyard::simulation {

/// Virtual time in whole picoseconds, so that costs below a nanosecond add up exactly.
using ps = std::int64_t;
inline constexpr ps ns = 1000;
inline constexpr ps us = 1000 * ns;
inline constexpr ps ms = 1000 * us;
inline constexpr ps never = INT64_MAX / 4;

constexpr ps to_ps(double length_ns) noexcept {
  return static_cast<ps>(length_ns * static_cast<double>(ns) + 0.5);
}
constexpr double in_ns(ps length) noexcept {
  return static_cast<double>(length) / ns;
}

/// Returns `share` of a length of time.
constexpr ps scaled_by(ps length, double share) noexcept {
  return static_cast<ps>(static_cast<double>(length) * share);
}

}  // namespace lockyard::simulation
