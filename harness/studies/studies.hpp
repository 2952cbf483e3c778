// SPDX-License-Identifier: Apache-2.0
#pragma once

// The type of a study, and the list of them. To add one: a .cpp next to this file, its line in
// studies.cpp, its page in docs/studies.

#include "../job.hpp"
#include "../own/measured.hpp"

#include <lockyard/lock_traits.hpp>
#include <lockyard/resilience.hpp>

#include <nlohmann/json.hpp>

#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockyard::harness {

/// The result of a run; the record adds the rest.
struct outcome {
  nlohmann::ordered_json values = nlohmann::ordered_json::object();
  nlohmann::ordered_json histograms = nlohmann::ordered_json::object();
  nlohmann::ordered_json stalls = nlohmann::ordered_json::array();
  nlohmann::ordered_json checks = nlohmann::ordered_json::object();
};

/// A study applied to one lock, to one way to wait, to a worker pool, or to the machine.
struct cell {
  std::string_view lock;                           ///< or way, or pool; empty: the machine
  outcome (*run)(const job&, const lock_traits&);  ///< null: its library is missing
  lock_traits traits;
};

/// A workload's default values of one of its study's parameters.
struct preset {
  std::string_view parameter;
  std::span<const double> values;
};

/// One kind of work that the threads of a study can do; each is a cell.
struct listed_workload {
  std::string_view name;
  /// The name of a group of similar workloads; empty if there is none.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::string_view group{};
  unsigned threads = 0;         ///< 0: the requested number
  double default_run_s = 0;     ///< 0: the study's
  double default_budget_s = 0;  ///< 0: the study's
  /// Replace the study's default values.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::span<const preset> presets{};
};

/// A number that a study is given; each combination of the values of all of them is a cell.
struct listed_parameter {
  std::string_view name;  ///< with its unit, as in share_percent
  std::string_view unit;  ///< as printed
  std::string_view summary;
  double least;
  double most;
  std::vector<double> usual;  ///< the default values
};

struct study {
  std::string_view name;
  std::string_view summary;
  double default_run_s;               ///< length of one run bounded by time
  double default_budget_s;            ///< default time of a cell
  bool of_machine = false;            ///< measures no lock
  bool of_ways = false;               ///< measures ways to wait: a publisher, one worker or more
  bool of_readers = false;            ///< only locks that can be shared have cells
  bool single_threaded = false;       ///< runs on one thread whatever is requested
  std::uint64_t published_loops = 0;  ///< per thread and run, in the text; 0 if not from a text
  std::uint64_t published_runs = 0;
  double default_gap_ns = 0;   ///< default time between bursts
  unsigned default_burst = 0;  ///< tasks in a burst; 0: the study has no tasks
  /// Empty unless its threads can do several kinds of work.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<listed_workload> workloads{};
  /// Empty unless it takes numbers.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<listed_parameter> parameters{};
  unsigned clock_reads = 0;  ///< per operation; an interval must be longer than they take
  bool own_lengths = false;  ///< the study sets hold and gap times itself
  bool scheduled = false;    ///< its threads call at scheduled times and have no gaps
  /// The locks that are measured by default; empty: the seed locks.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<std::string_view> usual_locks{};
  /// By default, the first of these that is permitted; empty: the inherited policy.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<policy> usual_policies{};
  /// The policies that it can be measured under; empty: all.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<policy> only_policies{};
  bool of_some_locks = false;             ///< only some locks of the catalogue have cells
  bool keeps_traces = false;              ///< its runs write traces to the files that jobs name
  void (*prepare)(const job&) = nullptr;  ///< called before each run in the process that starts it
  std::vector<cell> cells;

  /// Tells whether the cells are worker pools instead of the catalogue's locks.
  [[nodiscard]] bool has_pools() const noexcept { return default_burst != 0; }
  /// Tells whether several threads want one lock, or run tasks.
  [[nodiscard]] bool has_team() const noexcept {
    return !of_machine && !single_threaded && !of_ways;
  }
  /// Tells whether its threads' hold and gap times can be requested.
  [[nodiscard]] bool takes_lengths() const noexcept {
    return has_team() && workloads.empty() && !own_lengths;
  }
};

/// A run that may hold locks for any time: a recovering lock does not give up.
template <class Study, class Lock>
outcome run_patiently(const job& of, const lock_traits& traits) {
  if constexpr (requires(Lock& lock) { lock.get().current_stall_limits(); }) {
    using recovering = std::remove_cvref_t<decltype(std::declval<Lock&>().get())>;
    recovering::set_stall_limits({stall_limits::never, stall_limits::never});
  }
  return Study::template run<Lock>(of, traits);
}

/// The cells of a study over the whole catalogue, or over its locks that can be shared.
/// Study has a static member template `run<Lock>(job, traits)`. Compiled for user locks, the cells
/// are the user's locks.
template <class Study, bool OfReaders = false>
std::vector<cell> cells_of() {
  std::vector<cell> cells;
  measured::for_each_lock([&]<class Lock>(const catalog_entry<Lock>& entry) {
    if constexpr (!OfReaders || measured::is_shared<Lock>) {
      cells.push_back({.lock = entry.traits.name, .run = nullptr, .traits = entry.traits});
      if constexpr (measured::is_built<Lock>) cells.back().run = &run_patiently<Study, Lock>;
    }
  });
  return cells;
}

/// The single cell of a study of the machine.
template <class Study>
std::vector<cell> machine_cell() {
  return {{.lock = {},
           .run = [](const job& of, const lock_traits&) { return Study::run(of); },
           .traits = {}}};
}

study costs_study();
study noise_study();
study wait_study();
study idle_study();
study throughput_study();
study response_study();
study contention_study();
study frequency_study();
study readers_study();
study torture_study();
study scale_study();
study uncontended_study();
study wakeup_study();
study workers_study();
study recovery_study();
study bystander_study();
study background_study();
study priority_study();
study stalls_study();

/// Every study, in the order of the list.
const std::vector<study>& all_studies();

/// Returns null if there is no study of that name.
const study* find_study(std::string_view name);
const cell* find_cell(const study& in, std::string_view lock);
const listed_workload* find_workload(const study& in, std::string_view name);

}  // namespace lockyard::harness
