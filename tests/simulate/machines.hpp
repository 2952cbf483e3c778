// SPDX-License-Identifier: Apache-2.0
#pragma once

// Simulated machines and cells for tests.

#include "simulate/simulation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace lockyard::simulation {

/// A machine on which only hits and pauses take time, so that little but the work itself counts.
inline costs almost_free() {
  costs free;
  free.hit_ns = free.pause_ns = 1;
  free.hop_core_ns = free.hop_cache_ns = free.hop_socket_ns = free.hop_remote_ns = 1;
  free.spin_limit_ns = 20'000;
  return free;
}

/// The costs of an imaginary server.
inline costs plausible() {
  costs some = almost_free();
  some.hop_core_ns = 10, some.hop_cache_ns = 30, some.hop_socket_ns = 50, some.hop_remote_ns = 100;
  some.locked_ns = 5, some.occupancy_ns = 4, some.invalidate_ns = 2, some.arbitration_share = 0.3;
  some.pause_ns = 10, some.clock_read_ns = 20, some.yield_ns = 150, some.context_switch_ns = 1000;
  some.futex_wait_ns = 500, some.futex_wake_ns = 1000, some.futex_wake_none_ns = 100;
  some.interrupt_ns = 1000, some.idle_exit_ns = 1000, some.deep_idle_exit_ns = 40'000;
  some.deep_idle_after_ns = 200'000, some.tick_ns = 4'000'000, some.tick_cost_ns = 1500;
  return some;
}

inline topology flat(int processors) {
  return {.processors = processors,
          .threads_per_core = 1,
          .cores_per_cache = processors,
          .cores_per_socket = processors};
}

inline const subject& lock_named(std::string_view name) {
  const auto all = catalogue_subjects();
  return *std::ranges::find_if(all, [&](const subject& each) { return each.traits.name == name; });
}

template <class List>
const auto* declared(const List& list, std::string_view name) {
  return &*std::ranges::find_if(list, [&](const auto& each) { return each.name == name; });
}

inline cell cell_of(std::string_view study, const subject& lock, std::string_view scheduler,
                    int processors) {
  cell made{};
  made.study = declared(study_declarations(), study);
  made.lock = &lock;
  made.shape = flat(processors);
  made.cost = plausible();
  made.scheduler = declared(scheduler_declarations(), scheduler);
  for (const auto& each : made.scheduler->parameters) {
    made.parameters[std::string{each.name}] = each.usual;
  }
  made.settings.threads = processors;
  return made;
}

inline double value_of(const outcome& of, std::string_view name) {
  const auto found = std::ranges::find(of.values, name, &named_values::value_type::first);
  EXPECT_NE(found, of.values.end()) << name;
  return found == of.values.end() ? 0 : found->second;
}

}  // namespace lockyard::simulation
