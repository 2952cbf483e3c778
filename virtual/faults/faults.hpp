// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <checker/registry.hpp>

#include <vector>

namespace lockyard::checker {

/// Faults, each with the verdict that finds it and the smallest size that shows it.
std::vector<checked_client> lock_faults();
std::vector<checked_client> seeded_faults();  ///< the faults of the tables (README.md)

}  // namespace lockyard::checker
