// SPDX-License-Identifier: Apache-2.0

// What lock and unlock cost when nobody else wants the lock, in a process that has never had a
// second thread and in one that has. docs/studies/uncontended.md gives definition and reading.

#include "../histogram.hpp"
#include "../subject.hpp"
#include "../team.hpp"
#include "studies.hpp"

#include <peers/all.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <system_error>
#include <thread>

namespace lockyard::harness {

namespace {

constexpr std::uint64_t pairs_per_batch = 1000;

struct protected_counter {
  std::uint64_t value = 0;
};

using batch = ticks(void* place, std::uint64_t& counter);

template <class Lock>
[[gnu::noinline, gnu::aligned(64)]] ticks batch_of(void* place, std::uint64_t& counter) {
  Lock& lock = *static_cast<Lock*>(place);
  const ticks before = clock::now();
  for (std::uint64_t i = 0; i < pairs_per_batch; ++i) {
    lock.lock();
    counter = counter + 1;
    lock.unlock();
  }
  return clock::now() - before;
}

/// The cost of a pair over many batches. The figure is the median, because interrupts only ever
/// add.
struct pair_cost {
  merged_histogram batches;
  ticks least = UINT64_MAX;
  std::uint64_t pairs = 0;

  void add(ticks timing) {
    batches.add(timing);
    least = std::min(least, timing);
  }
};

pair_cost time_pairs(batch time_batch, const arena<protected_counter>& place, loop_limit limit) {
  pair_cost cost;
  time_batch(place.lock(), place.data().value);  // warms up caches and predictors
  cost.pairs = pairs_per_batch;
  do {
    cost.add(time_batch(place.lock(), place.data().value));
    cost.pairs += pairs_per_batch;
  } while (clock::now() < limit.end && cost.pairs < limit.operations);
  return cost;
}

/// Before and after a second thread has existed: half the time, and as many pairs, for each.
loop_limit limit_of_half(const run_bound& bound) {
  return {.operations = bound.loops.value_or(UINT64_MAX),
          .end = clock::now() + clock::from_ns(bound.duration_s * 1e9 / 2)};
}

void report(outcome& to, const std::string& when, const pair_cost& cost) {
  const double scale = clock::ns_per_tick() / pairs_per_batch;
  to.values["pair_" + when + "_ns"] = cost.batches.median() * scale;
  to.values["pair_" + when + "_least_ns"] = static_cast<double>(cost.least) * scale;
  to.histograms["pair_" + when] = cost.batches.to_json(scale);
}

void have_a_second_thread(const std::function<void()>& function) {
  try {
    std::thread{function}.join();
  } catch (const std::system_error& error) {
    throw condition_error{std::string{"cannot have a second thread: "} + error.what() +
                          "; raise the limit of processes"};
  }
}

outcome measure(const job& of, const subject& lock, batch time_batch) {
  take_place(of, harness::place(of.pin, 1));
  const arena<protected_counter> place{lock, of.seed};
  const auto before = time_pairs(time_batch, place, limit_of_half(of.bound));

  refusal_check refusal{lock, place.lock()};
  have_a_second_thread([&] { refusal.probe(); });
  refusal.finish();

  const auto after = time_pairs(time_batch, place, limit_of_half(of.bound));
  const std::uint64_t wanted = of.bound.loops.value_or(0);
  outcome result;
  result.values["operations"] = before.pairs + after.pairs;
  result.values["complete"] = before.pairs >= wanted && after.pairs >= wanted;
  report(result, "before_threads", before);
  report(result, "after_threads", after);
  result.checks = checks_of(lock, refusal, place.data().value == before.pairs + after.pairs);
  return result;
}

struct uncontended {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure(of, {traits, operations_on<Lock>}, batch_of<Lock>);
  }
};

}  // namespace

study uncontended_study() {
  return {.name = "uncontended",
          .summary =
              "what lock and unlock cost when nobody else wants the lock, before and after "
              "a second thread has existed",
          .default_run_s = 0.02,
          .default_budget_s = 2,
          .of_machine = false,
          .single_threaded = true,
          .published_loops = 0,
          .published_runs = 0,
          .cells = cells_of<uncontended>()};
}

}  // namespace lockyard::harness
