// SPDX-License-Identifier: Apache-2.0
#pragma once

// A team of threads that start together, and the sums over its run.

#include "clock.hpp"
#include "job.hpp"
#include "spans.hpp"
#include "stalls.hpp"
#include "study.hpp"

#include <nlohmann/json.hpp>

#include <time.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace lockyard::harness {

/// How long each thread continues.
struct loop_limit {
  std::uint64_t operations;  ///< at most
  ticks end;                 ///< at the latest
};

/// The work of a team's threads.
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

/// Returns the time of CLOCK_THREAD_CPUTIME_ID or CLOCK_PROCESS_CPUTIME_ID.
double cpu_ns(clockid_t of) noexcept;

/// The result of a team's run.
struct team_run {
  std::vector<thread_span> spans;
  process_usage used;  ///< between start and end

  [[nodiscard]] ticks start() const { return start_of(spans); }
  [[nodiscard]] std::uint64_t operations() const { return operations_of(spans); }
  /// Returns the length of the run, at least 1.
  [[nodiscard]] double run_ns() const;
  /// Returns the share of the run's time, between 0 and 1.
  [[nodiscard]] double share_of(ticks part) const;
  /// Returns the processor time used, as a share of one processor for each thread.
  [[nodiscard]] double cpu_share() const;
  /// Returns the values that every study with a team reports.
  [[nodiscard]] nlohmann::ordered_json values(const job& of) const;
};

/// Runs the work on `of.threads` threads, pinned and bounded as the job says. Throws
/// condition_error if the threads or their processors are unavailable; then nothing was measured.
team_run run_team(const job& of, const team_work& work);

/// Pins the calling thread as number `thread` of a team with this placement, and puts it under the
/// job's schedule. Throws condition_error.
void take_place(const job& of, const std::vector<int>& cpus, unsigned thread = 0);

/// Returns null for nullopt.
nlohmann::ordered_json to_json(std::optional<double> value);

/// Returns the longest stalls in the form of records, with times since `start`.
nlohmann::ordered_json stalls_to_json(const longest_stalls& stalls, ticks start);

}  // namespace lockyard::harness
