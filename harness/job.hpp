// SPDX-License-Identifier: Apache-2.0
#pragma once

// A job: one line of JSON that describes one run of one cell.

#include "clock.hpp"
#include "conditions.hpp"
#include "schedule.hpp"
#include "topology.hpp"
#include "work.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

namespace lockyard::harness {

inline constexpr int schema_version = 2;
inline constexpr unsigned max_threads = 4096;
/// In a run of this length, no bucket of a thread's histogram overflows unless an operation with
/// its two clock reads takes less than 14 ns.
inline constexpr double max_run_s = 60;

/// The end of a run. A run bounded by loops ends by time too, so that no lock can hold it forever;
/// it is then incomplete.
struct run_bound {
  std::optional<std::uint64_t> loops;  ///< lock operations per thread
  double duration_s;                   ///< of the run, or the limit of a run bounded by loops
};

/// A number, or the name of a choice.
using parameter_value = std::variant<double, std::string>;

struct job {
  std::string study;
  std::string lock;                   ///< empty in a study of the machine
  nlohmann::ordered_json conditions;  ///< as the record repeats them
  unsigned threads;
  pin_request pin;
  schedule under;
  conditions_request around;
  work_request work;
  std::map<std::string, parameter_value> parameters;  ///< every parameter of the study
  run_bound bound;
  bool as_published;
  std::optional<std::string> trace;  ///< the file to write, in studies that write traces
  bool rehearse;                     ///< only tries whether the conditions are available
  std::uint64_t block;
  std::uint64_t run;
  std::uint64_t seed;
  clock_source clock;
  double ns_per_tick;  ///< the rate of that clock, as measured for the environment record
  std::string environment;

  /// The value of a parameter: a number, a count, the name of a choice. Throw std::out_of_range if
  /// the study has no parameter of that name.
  [[nodiscard]] double parameter(std::string_view of_name) const;
  [[nodiscard]] unsigned count(std::string_view of_name) const;
  [[nodiscard]] std::string_view choice(std::string_view of_name) const;
};

/// An error in a job; what() names its place as a JSON pointer, the cause, and what is expected.
class job_error : public std::runtime_error {
 public:
  job_error(std::string_view pointer, std::string_view message);
};

/// Throws job_error. Study and lock are checked against the lists of this harness.
job parse_job(std::string_view text);

}  // namespace lockyard::harness
