// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <checker/registry.hpp>

#include <vector>

namespace lockyard::checker {

/// Returns the faults of all tables (README.md), each with the verdict that finds it and a small
/// size that shows it.
std::vector<checked_client> seeded_faults();

}  // namespace lockyard::checker
