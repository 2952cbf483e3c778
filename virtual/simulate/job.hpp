// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation.hpp"

#include <nlohmann/json.hpp>

namespace lockyard::simulation {

using json = nlohmann::ordered_json;

/// Reads a cell from a job. Throws std::invalid_argument with what is wrong.
cell cell_of(const json& job);
json to_json(const outcome& of);
/// Lists the studies, locks, schedulers and costs, with their meanings.
json list_all();

}  // namespace lockyard::simulation
