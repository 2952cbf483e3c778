// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <checker/registry.hpp>

#include <vector>

namespace lockyard::checker {

/// Faults, each with the verdict that finds it and the smallest shape that shows it.
std::vector<subject> mutants();
std::vector<subject> idle_mutants();
std::vector<subject> resilient_mutants();
std::vector<subject> semaphore_mutants();

}  // namespace lockyard::checker
