// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the harness writes: records of runs, the catalogue, and its part of the environment.

#include "job.hpp"
#include "studies/studies.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace lockyard::harness {

/// The record of a run that was measured.
nlohmann::ordered_json record_of(const job& of, const outcome& found);

/// The record of a run that this machine could not provide.
nlohmann::ordered_json unavailable_record(const job& of, const std::string& reason);

/// Locks and studies, for everybody who lists or completes names.
nlohmann::ordered_json describe_catalog();

/// Compiler, clock and topology; the rest of the environment can be read without the harness.
nlohmann::ordered_json describe_environment();

}  // namespace lockyard::harness
