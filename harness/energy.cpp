// SPDX-License-Identifier: Apache-2.0
#include "energy.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>

namespace lockyard::harness {

namespace {

std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  std::ifstream from{file};
  std::uint64_t value = 0;
  if (from >> value) return value;
  return std::nullopt;
}

/// Packages are `intel-rapl:0`, on AMD too; their parts, `intel-rapl:0:0`, are included in them.
bool is_package(const std::string& name) {
  return name.starts_with("intel-rapl:") && std::ranges::count(name, ':') == 1;
}

}  // namespace

energy_meter::energy_meter(const std::filesystem::path& folder) {
  std::error_code none_there;
  for (const auto& entry : std::filesystem::directory_iterator{folder, none_there}) {
    if (!is_package(entry.path().filename().string())) continue;
    const auto counter = entry.path() / "energy_uj";
    const auto range_uj = number_in(entry.path() / "max_energy_range_uj");
    const auto before_uj = number_in(counter);
    if (range_uj && before_uj) {
      packages_.push_back({.counter = counter, .range_uj = *range_uj, .before_uj = *before_uj});
    } else {
      is_known_ = false;  // a part of the sum would be misleading
    }
  }
}

std::optional<double> energy_meter::used_j() const {
  if (!is_known_ || packages_.empty()) return std::nullopt;
  double used_j = 0;
  for (const package& each : packages_) {
    const auto now_uj = number_in(each.counter);
    if (!now_uj) return std::nullopt;
    const std::uint64_t wrapped_uj = *now_uj < each.before_uj ? each.range_uj : 0;
    used_j += static_cast<double>(*now_uj + wrapped_uj - each.before_uj) * 1e-6;
  }
  return used_j;
}

}  // namespace lockyard::harness
