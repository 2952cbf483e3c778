// SPDX-License-Identifier: Apache-2.0
#pragma once

// The type of a study, and the list of them. To add one: STUDY.cpp in the folder studies, with a
// function STUDY_study, and what CONTRIBUTING.md names next to it.

#include "job.hpp"
#include "user_locks/measured.hpp"

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

/// What the cells of a study measure. Ways to wait and pools have names of their own; of the locks
/// of the catalogue, a study measures all, those that can be shared, or some.
enum class subjects : std::uint8_t { locks, shared_locks, some_locks, ways, pools, machine };

/// Which times of its threads can be requested of a study.
enum class times : std::uint8_t { none, gap, hold, hold_and_gap };

enum class parameter_type : std::uint8_t { number, count, choice };

/// A default value of another parameter of the study, where a choice replaces it.
struct preset {
  std::string_view parameter;
  std::span<const double> values;
};

/// A value of a parameter whose values have names, such as a workload.
struct listed_choice {
  std::string_view name;
  /// The name of a group of similar values; empty if there is none.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::string_view group{};
  unsigned threads = 0;         ///< 0: the requested number
  double default_run_s = 0;     ///< 0: the study's
  double default_budget_s = 0;  ///< 0: the study's
  /// Replace the study's default values.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::span<const preset> presets{};
};

/// A parameter of a study; each combination of the values of all of them is a cell. The command
/// derives from it an option, a key of scenarios, completion, help and checks.
struct listed_parameter {
  std::string_view name;  ///< with its unit, as in share_percent
  parameter_type type = parameter_type::number;
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::string_view unit{};  ///< as printed
  std::string_view summary;
  double least = 0;
  double most = 0;
  /// The default values. Of a choice: the place of the default one among the choices, which jobs
  /// and records leave out; empty: all choices are the default.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<double> defaults{};
  /// The values of a choice; empty for numbers.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<listed_choice> choices{};
  bool below_threads = false;  ///< a count of some of the threads, of which others must remain
};

/// A study under another name, with its own parameters and default values. `job::study` is the name
/// under which the study was requested, and so is `study` in the record.
struct study_preset {
  std::string_view name;
  std::string_view summary;
  unsigned place;
  double default_run_s;
  double default_budget_s;
  std::vector<listed_parameter> parameters;
  unsigned clock_reads = 0;
};

struct study {
  std::string_view name;
  std::string_view summary;
  unsigned place;           ///< in the list of studies
  double default_run_s;     ///< length of one run bounded by time
  double default_budget_s;  ///< default time of a cell
  subjects measures = subjects::locks;
  times takes = times::none;
  unsigned threads = 0;  ///< on which it runs whatever is requested; 0: the requested number
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<listed_parameter> parameters{};
  double default_gap_ns = 0;          ///< default time between bursts
  std::uint64_t published_loops = 0;  ///< per thread and run, in the text; 0 if not from a text
  std::uint64_t published_runs = 0;
  unsigned clock_reads = 0;  ///< per operation; an interval must be longer than they take
  bool scheduled = false;    ///< its threads call at scheduled times
  /// The locks that are measured by default; empty: the seed locks.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<std::string_view> default_locks{};
  /// By default, the first of these that is permitted; empty: the inherited policy.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<policy> default_policies{};
  /// The policies that it can be measured under; empty: all.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<policy> only_policies{};
  bool keeps_traces = false;              ///< its runs write traces to the files that jobs name
  void (*prepare)(const job&) = nullptr;  ///< called before each run in the process that starts it
  std::vector<cell> cells;
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::vector<study_preset> presets{};
  /// The study of which this one is a preset, and so the name of the files; empty: none.
  // NOLINTNEXTLINE(readability-redundant-member-init): GCC warns where studies leave it out
  std::string_view preset_of{};

  [[nodiscard]] std::string_view stem() const noexcept {
    return preset_of.empty() ? name : preset_of;
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

/// Tells whether a study measures a lock. Studies that do not say `measures_variants` leave the
/// variants out, which saves the time to compile them for each study.
template <class Study, class Lock>
inline constexpr bool offers =
    !measured::is_variant<Lock> || requires { requires Study::measures_variants; };

/// Throws a condition_error that names the studies that measure variants.
outcome refuse_variant(const job& of, const lock_traits& traits);

/// The cells of a study over the whole catalogue, or over its locks that can be shared.
/// Study has a static member template `run<Lock>(job, traits)`. Compiled for user locks, the cells
/// are the user's locks.
template <class Study, bool OfReaders = false>
std::vector<cell> cells_of() {
  std::vector<cell> cells;
  measured::for_each_lock([&]<class Lock>(const catalog_entry<Lock>& entry) {
    if constexpr (!OfReaders || measured::is_shared<Lock>) {
      cells.push_back({.lock = entry.traits.name, .run = nullptr, .traits = entry.traits});
      if constexpr (!offers<Study, Lock>) {
        cells.back().run = &refuse_variant;
      } else if constexpr (measured::is_built<Lock>) {
        cells.back().run = &run_patiently<Study, Lock>;
      }
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

/// Every study and every preset, by its place.
const std::vector<study>& all_studies();

/// Returns null if there is no study of that name.
const study* find_study(std::string_view name);
const cell* find_cell(const study& in, std::string_view lock);

}  // namespace lockyard::harness
