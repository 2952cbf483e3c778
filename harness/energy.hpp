// SPDX-License-Identifier: Apache-2.0
#pragma once

// The energy that the processors' packages have used, if the machine counts it and this process may
// read it (powercap).

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace lockyard::harness {

inline constexpr const char* powercap = "/sys/class/powercap";

class energy_meter {
 public:
  /// Starts counting.
  explicit energy_meter(const std::filesystem::path& folder = powercap);

  /// Returns the energy of all packages together since the construction, or nullopt if it is not
  /// available. A counter that wrapped around several times counts as if it had wrapped once.
  [[nodiscard]] std::optional<double> used_j() const;

 private:
  struct package {
    std::filesystem::path counter;
    std::uint64_t range_uj;  ///< the value at which the counter wraps around
    std::uint64_t before_uj;
  };

  std::vector<package> packages_;
  bool is_known_ = true;
};

}  // namespace lockyard::harness
