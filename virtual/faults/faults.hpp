// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <checker/registry.hpp>

#include <vector>

namespace lockyard::checker {

/// Faults, each with the verdict that finds it and the smallest shape that shows it.
std::vector<subject> lock_faults();
std::vector<subject> idle_faults();
std::vector<subject> resilient_faults();
std::vector<subject> semaphore_faults();

}  // namespace lockyard::checker
