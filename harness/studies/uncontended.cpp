// SPDX-License-Identifier: Apache-2.0

// What lock and unlock cost when nobody else wants the lock, in a process that has never had a
// second thread and in one that has. docs/studies/uncontended.md gives definition and reading.

#include "../histogram.hpp"
#include "../team.hpp"
#include "studies.hpp"

#include <peers/all.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace lockyard::harness {

namespace {

constexpr std::uint64_t pairs_per_batch = 1000;

struct protected_counter {
  std::uint64_t value = 0;
};

template <class Lock>
[[gnu::noinline, gnu::aligned(64)]] ticks time_batch(Lock& lock, std::uint64_t& counter) {
  const ticks before = clock::now();
  for (std::uint64_t i = 0; i < pairs_per_batch; ++i) {
    lock.lock();
    counter = counter + 1;
    lock.unlock();
  }
  return clock::now() - before;
}

/// The cost of a pair over many batches: the median, because interrupts only ever add.
struct pair_cost {
  double median_ns;
  double least_ns;
  std::uint64_t pairs;
  histogram batches;
};

template <class Lock>
pair_cost measure(Lock& lock, std::uint64_t& counter, loop_limit limit) {
  time_batch(lock, counter);  // warms up caches and predictors
  pair_cost cost{};
  std::vector<ticks> batches;
  batches.reserve(1U << 16U);
  do {
    batches.push_back(time_batch(lock, counter));
    cost.batches.add(batches.back());
  } while (clock::now() < limit.end && batches.size() * pairs_per_batch < limit.operations &&
           batches.size() < batches.capacity());
  const auto middle = batches.begin() + static_cast<std::ptrdiff_t>(batches.size() / 2);
  std::ranges::nth_element(batches, middle);
  cost.median_ns = clock::ns(*middle) / pairs_per_batch;
  cost.least_ns = clock::ns(*std::ranges::min_element(batches)) / pairs_per_batch;
  cost.pairs = (batches.size() + 1) * pairs_per_batch;
  return cost;
}

loop_limit half_of(const run_bound& bound) {
  return {.operations = bound.loops.value_or(UINT64_MAX),
          .end = clock::now() + clock::from_ns(bound.duration_s * 1e9 / 2)};
}

void report(outcome& to, const std::string& when, const pair_cost& cost) {
  to.values["pair_" + when + "_ns"] = cost.median_ns;
  to.values["pair_" + when + "_least_ns"] = cost.least_ns;
  to.histograms["pair_" + when] = cost.batches.to_json(clock::ns_per_tick() / pairs_per_batch);
}

struct uncontended {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    if (const auto cpus = place(of.pin, 1); !cpus.empty()) pin_this_thread(cpus[0]);
    arena<Lock, protected_counter> place{of.seed};
    const pair_cost before = measure(place.lock(), place.data().value, half_of(of.bound));

    refusal_check refusal{place.lock()};
    std::thread{[&] { refusal.probe(); }}.join();
    refusal.finish();

    const pair_cost after = measure(place.lock(), place.data().value, half_of(of.bound));
    outcome result;
    result.values["operations"] = before.pairs + after.pairs;
    result.values["complete"] = true;
    report(result, "before_threads", before);
    report(result, "after_threads", after);
    result.checks =
        checks_of(traits, refusal.passed(), place.data().value == before.pairs + after.pairs);
    return result;
  }
};

}  // namespace

study uncontended_study() {
  return {.name = "uncontended",
          .summary =
              "what lock and unlock cost when nobody else wants the lock, before and after "
              "a second thread has existed",
          .default_run_s = 0.02,
          .single_threaded = true,
          .published_loops = 0,
          .published_runs = 0,
          .cells = cells_of<uncontended>()};
}

}  // namespace lockyard::harness
