// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../scheduler.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lockyard::simulation {

struct parameter_declaration {
  std::string_view name;
  double usual;
  std::string_view meaning;
};

/// The values of a scheduler's parameters, by name.
using parameter_values = std::map<std::string, double, std::less<>>;

struct scheduler_declaration {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::span<const parameter_declaration> parameters;
  std::unique_ptr<scheduler> (*make)(const parameter_values& values, int processors);
};

std::span<const scheduler_declaration> scheduler_declarations() noexcept;

}  // namespace lockyard::simulation
