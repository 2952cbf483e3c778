// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a study is, and the list of them. Adding one: a .cpp beside this file, its line in
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

/// What a run leaves behind; the record adds the rest.
struct outcome {
  nlohmann::ordered_json values = nlohmann::ordered_json::object();
  nlohmann::ordered_json histograms = nlohmann::ordered_json::object();
  nlohmann::ordered_json stalls = nlohmann::ordered_json::array();
  nlohmann::ordered_json checks = nlohmann::ordered_json::object();
};

/// A study applied to one lock, to one way to wait, to a pool of workers, or to the machine.
struct cell {
  std::string_view lock;                           ///< or way, or pool; empty: the machine
  outcome (*run)(const job&, const lock_traits&);  ///< null: its library is missing
  lock_traits traits;
};

/// What a workload takes for a parameter of its study where nobody gives a value.
struct preset {
  std::string_view parameter;
  std::span<const double> values;
};

/// One of the things that the threads of a study can do; each is a cell.
struct listed_workload {
  std::string_view name;
  /// Of those that differ in little; none if it is alone.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::string_view group{};
  unsigned threads = 0;         ///< 0: as asked
  double default_run_s = 0;     ///< 0: the study's
  double default_budget_s = 0;  ///< 0: the study's
  /// In place of the study's usual values.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::span<const preset> presets{};
};

/// A number that a study is given; each combination of the values of all of them is a cell.
struct listed_parameter {
  std::string_view name;  ///< with its unit, as in share_percent
  std::string_view unit;  ///< as a person writes it
  std::string_view summary;
  double least;
  double most;
  std::vector<double> usual;  ///< where nobody gives one
};

struct study {
  std::string_view name;
  std::string_view summary;
  double default_run_s;               ///< length of one run bounded by time
  double default_budget_s;            ///< of a cell whose time nobody gave
  bool of_machine = false;            ///< of no lock
  bool of_ways = false;               ///< of ways to wait: one publisher, one worker or more
  bool of_readers = false;            ///< of locks that can be shared: those alone have cells
  bool single_threaded = false;       ///< runs on one thread whatever is asked
  std::uint64_t published_loops = 0;  ///< per thread and run, in the text; 0 if not from a text
  std::uint64_t published_runs = 0;
  double default_gap_ns = 0;   ///< between bursts, where nobody gave one
  unsigned default_burst = 0;  ///< tasks in a burst; 0: the study has no tasks
  /// Where its threads can do several things.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<listed_workload> workloads{};
  /// Where it takes numbers of its own.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<listed_parameter> parameters{};
  unsigned clock_reads = 0;  ///< for each operation; intervals are not shorter than they take
  bool own_lengths = false;  ///< its threads hold and stay away as it says, whatever is asked
  bool scheduled = false;    ///< its threads call at times of a schedule, and have no gaps
  /// The locks that are measured where nobody names any; none: the texts'.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<std::string_view> usual_locks{};
  /// The first of these that is permitted, where nobody gives a policy; none: as it was started.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<policy> usual_policies{};
  /// Those under which it means something; none: all.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<policy> only_policies{};
  bool of_some_locks = false;  ///< it can measure some of the catalogue: those alone have cells
  bool keeps_traces = false;   ///< its runs write traces where their jobs say
  void (*prepare)(const job&) = nullptr;  ///< in the process that starts the runs, before each
  std::vector<cell> cells;

  /// Whether the cells are pools of workers, and not the catalogue's locks.
  [[nodiscard]] bool has_pools() const noexcept { return default_burst != 0; }
  /// Whether several threads want one lock, or run tasks.
  [[nodiscard]] bool has_team() const noexcept {
    return !of_machine && !single_threaded && !of_ways;
  }
  /// Whether its threads hold and stay away for as long as they are asked to.
  [[nodiscard]] bool takes_lengths() const noexcept {
    return has_team() && workloads.empty() && !own_lengths;
  }
};

/// A run that may hold locks for as long as it likes: a lock that recovers does not give up.
template <class Study, class Lock>
outcome run_patiently(const job& of, const lock_traits& traits) {
  if constexpr (requires(Lock& lock) { lock.get().current_stall_limits(); }) {
    using recovering = std::remove_cvref_t<decltype(std::declval<Lock&>().get())>;
    recovering::set_stall_limits({stall_limits::never, stall_limits::never});
  }
  return Study::template run<Lock>(of, traits);
}

/// The cells of a study over the whole catalogue, or over those locks of it that can be shared.
/// Study has a static member template `run<Lock>(job, traits)`. Compiled for a user's own locks,
/// the cells are of those.
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

/// The one cell of a study of the machine.
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

/// Every study, in the order in which they are listed.
const std::vector<study>& all_studies();

/// Null if there is none of that name.
const study* find_study(std::string_view name);
const cell* find_cell(const study& in, std::string_view lock);
const listed_workload* find_workload(const study& in, std::string_view name);

}  // namespace lockyard::harness
