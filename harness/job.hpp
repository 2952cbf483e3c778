// SPDX-License-Identifier: Apache-2.0
#pragma once

// A job is one line of JSON: one run of one cell.

#include "clock.hpp"
#include "schedule.hpp"
#include "surroundings.hpp"
#include "topology.hpp"
#include "work.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lockyard::harness {

inline constexpr int schema_version = 1;
inline constexpr unsigned max_threads = 4096;
inline constexpr unsigned max_burst = 4096;
/// No bucket of a thread's histogram overflows in this time unless an operation with its two clock
/// reads takes less than 14 ns.
inline constexpr double max_run_s = 60;

/// What ends a run. A run bounded by loops ends by time too, so that no lock can hold it for ever;
/// it is then incomplete.
struct run_bound {
  std::optional<std::uint64_t> loops;  ///< lock operations per thread
  double duration_s;                   ///< of the run, or the limit of one bounded by loops
};

struct job {
  std::string study;
  std::string lock;                   ///< empty in a study of the machine
  nlohmann::ordered_json conditions;  ///< as the record repeats them
  unsigned threads;
  pin_request pin;
  schedule under;
  surroundings_request around;
  work_request work;
  unsigned sleepers;     ///< on other locks, where the study has them
  unsigned writers;      ///< of the threads, where the others read; else 0
  std::string workload;  ///< empty where the study has none
  unsigned burst;        ///< tasks that are submitted together, where the study has tasks; else 0
  std::map<std::string, double> parameters;  ///< each of the study's, and no others
  run_bound bound;
  bool as_published;
  std::optional<std::string> trace;  ///< file to write one into, in a study that keeps them
  bool rehearse;                     ///< only whether the conditions can be had
  std::uint64_t block;
  std::uint64_t run;
  std::uint64_t seed;
  clock_source clock;
  double ns_per_tick;  ///< of that clock, as it was measured for the environment record
  std::string environment;

  /// Throws std::out_of_range where the study has none of that name.
  [[nodiscard]] double parameter(std::string_view of_name) const;
};

/// A fault in a job; what() names its place as a JSON pointer, the cause, and what is expected.
class job_error : public std::runtime_error {
 public:
  job_error(std::string_view pointer, std::string_view message);
};

/// Throws job_error. Study and lock are checked against the lists of this harness.
job parse_job(std::string_view text);

}  // namespace lockyard::harness
