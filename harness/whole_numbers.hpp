// SPDX-License-Identifier: Apache-2.0
#pragma once

// Parameters of studies that are counts.

#include "job.hpp"
#include "topology.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockyard::harness {

/// Throws condition_error if the parameter is not a whole number.
inline std::uint64_t whole_parameter(const job& of, std::string_view name) {
  const double value = of.parameter(name);
  if (value != std::floor(value) || value < 0) {
    throw condition_error{"--set " + std::string{name} + "=" + std::to_string(value) +
                          ": must be a whole number, so nothing was measured; give one"};
  }
  return static_cast<std::uint64_t>(value);
}

}  // namespace lockyard::harness
