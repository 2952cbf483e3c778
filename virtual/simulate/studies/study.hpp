// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of the laboratory's studies, in virtual time.

#include "../engine.hpp"
#include "../subjects.hpp"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockyard::simulation {

struct study_settings {
  int threads = 0;  ///< as a study's default, 0: one for each processor
  bool pinned = false;
  ps hold = 0, gap = 0;      ///< work with the lock, and without it
  bool exponential = false;  ///< these are means; otherwise they are constant
  ps duration = 20 * ms, warm_up = 3 * ms;
  int loops = 0;  ///< for each thread in a run; 0: the run ends with its time
  int runs = 1;   ///< with `loops`
  std::string workload = "lock1";
  double hog_share = 0.5;  ///< share of the time in which the thread in between runs
  ps interval = 2 * ms;    ///< mean time between the high thread's calls
  int burst = 8;           ///< tasks that are submitted together
};

using named_values = std::vector<std::pair<std::string_view, double>>;

struct study_declaration {
  std::string_view name;
  std::string_view summary;
  named_values (*run)(engine& on, const subject& lock, const study_settings& of);
  study_settings usual{};       ///< the study's defaults
  bool measures_pools = false;  ///< pool_subjects() instead of locks
};

named_values run_wait(engine& on, const subject& lock, const study_settings& of);
named_values run_idle(engine& on, const subject& lock, const study_settings& of);
named_values run_throughput(engine& on, const subject& lock, const study_settings& of);
named_values run_contention(engine& on, const subject& lock, const study_settings& of);
named_values run_scale(engine& on, const subject& lock, const study_settings& of);
named_values run_bystander(engine& on, const subject& lock, const study_settings& of);
named_values run_priority(engine& on, const subject& lock, const study_settings& of);
named_values run_workers(engine& on, const subject& pool, const study_settings& of);

/// Pools of workers: they have names, and nothing that a lock has.
std::span<const subject> pool_subjects() noexcept;

std::span<const study_declaration> study_declarations() noexcept;
std::span<const std::string_view> workload_names() noexcept;

}  // namespace lockyard::simulation
