// SPDX-License-Identifier: Apache-2.0
#pragma once

// The energy that the processors' packages have used, where the machine counts it and lets this
// process read it (powercap).

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace lockyard::harness {

inline constexpr const char* powercap = "/sys/class/powercap";

class energy_meter {
 public:
  /// Begins to count.
  explicit energy_meter(const std::filesystem::path& folder = powercap);

  /// What all packages together have used since; nothing if that is not told here. A counter that
  /// has wrapped around more than once counts as if it had done so once.
  [[nodiscard]] std::optional<double> used_j() const;

 private:
  struct package {
    std::filesystem::path counter;
    std::uint64_t range_uj;  ///< where it wraps around
    std::uint64_t before_uj;
  };

  std::vector<package> packages_;
  bool is_told_ = true;
};

}  // namespace lockyard::harness
