// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a study is, and the list of them. Adding one: a .cpp beside this file, its line in
// studies.cpp, its page in docs/studies.

#include "../job.hpp"

#include <lockyard/catalog.hpp>

#include <nlohmann/json.hpp>
#include <peers/libraries.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace lockyard::harness {

/// What a run leaves behind; the record adds the rest.
struct outcome {
  nlohmann::ordered_json values = nlohmann::ordered_json::object();
  nlohmann::ordered_json histograms = nlohmann::ordered_json::object();
  nlohmann::ordered_json stalls = nlohmann::ordered_json::array();
  nlohmann::ordered_json checks = nlohmann::ordered_json::object();
};

/// A study applied to one lock, or to the machine.
struct cell {
  std::string_view lock;                           ///< empty: the machine
  outcome (*run)(const job&, const lock_traits&);  ///< null: the lock's library is missing
  lock_traits traits;
};

struct study {
  std::string_view name;
  std::string_view summary;
  double default_run_s;           ///< length of one run bounded by time
  double default_budget_s;        ///< of a cell whose time nobody gave
  bool of_machine;                ///< of no lock
  bool single_threaded;           ///< runs on one thread whatever is asked
  std::uint64_t published_loops;  ///< per thread and run, in the text; 0 if not from a text
  std::uint64_t published_runs;
  std::vector<cell> cells;
};

/// The cells of a study over the whole catalogue. Study has a static member template
/// `run<Lock>(job, traits)`.
template <class Study>
std::vector<cell> cells_of() {
  std::vector<cell> cells;
  for_each_entry([&]<class Lock>(const catalog_entry<Lock>& entry) {
    cells.push_back({.lock = entry.traits.name, .run = nullptr, .traits = entry.traits});
    if constexpr (peers::is_built<Lock>) cells.back().run = &Study::template run<Lock>;
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
study uncontended_study();

/// Every study, in the order in which they are listed.
const std::vector<study>& all_studies();

/// Null if there is none of that name.
const study* find_study(std::string_view name);
const cell* find_cell(const study& in, std::string_view lock);

}  // namespace lockyard::harness
