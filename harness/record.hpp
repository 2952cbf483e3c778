// SPDX-License-Identifier: Apache-2.0
#pragma once

// The harness's output: records of runs, the catalogue, and its part of the environment.

#include "job.hpp"
#include "study.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace lockyard::harness {

/// Returns the record of a measured run.
nlohmann::ordered_json record_of(const job& of, const outcome& found);

/// Returns the record of a run that is unavailable on this machine.
nlohmann::ordered_json unavailable_record(const job& of, const std::string& reason);

/// Returns locks and studies, for every program that lists or completes names.
nlohmann::ordered_json describe_catalog();

/// Returns compiler, clock and topology; the rest of the environment needs no harness.
nlohmann::ordered_json describe_environment();

}  // namespace lockyard::harness
