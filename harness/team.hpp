// SPDX-License-Identifier: Apache-2.0
#pragma once

// A team of threads that start together, and what a run of them adds up to.

#include "clock.hpp"
#include "job.hpp"
#include "spans.hpp"
#include "stalls.hpp"
#include "studies/studies.hpp"

#include <nlohmann/json.hpp>

#include <time.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace lockyard::harness {

/// How long each thread goes on.
struct loop_limit {
  std::uint64_t operations;  ///< at most
  ticks end;                 ///< at the latest
};

/// What the threads of a team do.
struct team_work {
  std::function<void(unsigned thread)> before;  ///< while the team gathers
  std::function<void()> gathered;  ///< on the starting thread, when all are there and none started
  std::function<thread_span(unsigned thread, loop_limit limit)> loop;  ///< the measured part
};

/// Processor time and context switches of the whole process.
struct process_usage {
  double cpu_s;
  long voluntary_switches;
  long involuntary_switches;

  static process_usage now();
};

/// By CLOCK_THREAD_CPUTIME_ID and CLOCK_PROCESS_CPUTIME_ID.
double cpu_ns(clockid_t of) noexcept;

/// What happened in a team's run.
struct team_run {
  std::vector<thread_span> spans;
  process_usage used;  ///< between start and end

  [[nodiscard]] ticks start() const { return start_of(spans); }
  [[nodiscard]] std::uint64_t operations() const { return operations_of(spans); }
  /// At least 1.
  [[nodiscard]] double run_ns() const;
  /// A part of the run's time, between 0 and 1.
  [[nodiscard]] double share_of(ticks part) const;
  /// The processor time used, of what a processor for each thread would have given.
  [[nodiscard]] double cpu_share() const;
  /// The values that every study over a team reports.
  [[nodiscard]] nlohmann::ordered_json values(const job& of) const;
};

/// Runs the work on `of.threads` threads, pinned and bounded as the job says. Throws
/// condition_error if the threads or their places cannot be had; then nothing was measured.
team_run run_team(const job& of, const team_work& work);

/// Pins the calling thread as the given one of a team that is placed so, and puts it under the
/// job's schedule. Throws condition_error.
void take_place(const job& of, const std::vector<int>& cpus, unsigned thread = 0);

/// Null if there is none.
nlohmann::ordered_json to_json(std::optional<double> value);

/// The longest stalls as a record carries them, with times since `start`.
nlohmann::ordered_json stalls_to_json(const longest_stalls& stalls, ticks start);

}  // namespace lockyard::harness
