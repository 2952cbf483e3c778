// SPDX-License-Identifier: Apache-2.0

// Why waits are long: the same work on a lock and then on the same lock in the traced world; the
// second part writes a trace. docs/studies/stalls.md gives definition and reading; docs/tracing.md
// describes traces.

#include "../rate.hpp"
#include "../study.hpp"
#include "../subject.hpp"
#include "../team.hpp"
#include "../tracing/recording.hpp"

#include <lockyard/traced.hpp>

#include <peers/all.hpp>

#include <memory>
#include <string>

namespace lockyard::harness {

namespace {

/// The stamps of each thread: as many as fit in 2 MiB.
constexpr std::uint32_t stamps_each = std::uint32_t{1} << 16U;

struct half {
  outcome values;
  team_run run;

  [[nodiscard]] double operations_per_s() const {
    return static_cast<double>(run.operations()) / (run.run_ns() * 1e-9);
  }
  [[nodiscard]] double switches_per_s() const {
    return static_cast<double>(run.used.voluntary_switches + run.used.involuntary_switches) /
           (run.run_ns() * 1e-9);
  }
};

/// Runs one half, and records it if a recording is given.
half measure_half(const job& of, const subject& lock, rate_loop loop, const workload& work,
                  recording* into) {
  const arena<ownership> place{lock, of.seed};
  ownership& state = place.data();
  closing_time closing{of.work};
  refusal_check refusal{lock, place.lock()};
  team_run run =
      run_team(of, {.before =
                        [&](unsigned) {
                          refusal.probe();
                          if (into != nullptr) into->take_part();
                        },
                    .gathered =
                        [&] {
                          refusal.finish();
                          if (into != nullptr) into->start();
                        },
                    .loop =
                        [&](unsigned thread, loop_limit limit) {
                          if (into != nullptr) recording::record_switches();
                          return loop(place.lock(), state, closing, work.of(thread), thread, limit);
                        }});
  if (into != nullptr) {
    trace::name(place.lock(), lock.traits.name);
    into->stop();
  }
  outcome found = rate_outcome(of, run, &state);
  found.checks = checks_of(lock, refusal, state.counter == run.operations());
  return {.values = std::move(found), .run = std::move(run)};
}

nlohmann::ordered_json saved(const job& of, const recording& from) {
  if (!of.trace) return nullptr;
  from.save(*of.trace);
  return of.trace->substr(of.trace->rfind('/') + 1);
}

outcome measure(job of, const subject& plain, rate_loop plain_loop, const subject& traced_one,
                rate_loop traced_loop) {
  of.bound.duration_s /= 2;
  const workload work{of.work, of.threads, of.seed};
  const auto measure_plain = [&] { return measure_half(of, plain, plain_loop, work, nullptr); };
  std::optional<half> first;
  if (of.block % 2 == 0) first = measure_plain();
  recording into{of.threads, stamps_each, std::string{plain.traits.name}};
  half recorded = measure_half(of, traced_one, traced_loop, work, &into);
  const half other = first ? *std::move(first) : measure_plain();
  outcome result = std::move(recorded.values);
  result.values["work_step_ns"] = to_json(work.step_ns());
  result.values["plain_run_ns"] = other.run.run_ns();
  result.values["plain_operations_per_s"] = other.operations_per_s();
  result.values["traced_operations_per_s"] = recorded.operations_per_s();
  result.values["plain_switches_per_s"] = other.switches_per_s();
  result.values["switches_per_s"] = recorded.switches_per_s();
  result.values["trace"] = saved(of, into);
  result.values["trace_stamps"] = into.events_made();
  result.values["trace_lost_stamps"] = into.lost_events();
  result.values["trace_lost_switches"] = into.lost_switches();
  for (const auto& [name, passed] : other.values.checks.items()) {
    result.checks["plain_" + name] = passed;
  }
  return result;
}

struct stalls {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    using traced_lock = traced<Lock>;
    return measure(of, {traits, operations_on<Lock>}, rate_loop_of<Lock>,
                   {traits, operations_on<traced_lock>}, rate_loop_of<traced_lock>);
  }
};

/// Only our own locks can be used in another world.
std::vector<cell> cells() {
  std::vector<cell> found;
  catalogued::for_each_lock([&]<class Lock>(const catalog_entry<Lock>& entry) {
    if constexpr (requires { typename in_world_t<Lock, tracing>; }) {
      found.push_back(
          {.lock = entry.traits.name, .run = &run_patiently<stalls, Lock>, .traits = entry.traits});
    }
  });
  return found;
}

}  // namespace

study stalls_study() {
  return {.name = "stalls",
          .summary =
              "why waits are long: a trace of what each thread did, and the cost of writing it; "
              "lockyard explain reads it",
          .place = 120,
          .default_run_s = 0.4,
          .default_budget_s = 6,
          .measures = subjects::some_locks,
          .takes = times::hold_and_gap,
          .keeps_traces = true,
          .cells = cells()};
}

}  // namespace lockyard::harness
