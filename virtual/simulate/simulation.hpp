// SPDX-License-Identifier: Apache-2.0
#pragma once

// One simulated cell: a study of a lock on a machine, under a scheduler.

#include "background.hpp"
#include "machine.hpp"
#include "schedulers/registry.hpp"
#include "studies/study.hpp"

#include <cstdint>
#include <string>

namespace lockyard::simulation {

struct cell {
  const study_declaration* study = nullptr;
  const subject* lock = nullptr;
  topology shape;
  costs cost;
  gaps stops;
  background others;
  const scheduler_declaration* scheduler = nullptr;
  parameter_values parameters;  ///< each parameter of the scheduler has a value
  study_settings settings;
  std::uint64_t seed = 1;
  std::string trace_file;  ///< where to write a trace; empty: none is written
};

struct outcome {
  named_values values;
  counters counted;
  ps virtual_time = 0;
};

/// Throws simulation_error.
outcome simulate(const cell& of);

}  // namespace lockyard::simulation
