// SPDX-License-Identifier: Apache-2.0

// How long a thread waits for the lock: call to acquisition, for every operation.
// docs/studies/wait.md gives definition and reading.

#include "../histogram.hpp"
#include "../team.hpp"
#include "studies.hpp"

#include <peers/all.hpp>

#include <cstdint>
#include <memory>

namespace lockyard::harness {

namespace {

struct protected_counter {
  std::uint64_t value = 0;
};

/// One thread's own measurements, apart from every other thread's.
struct alignas(detail::arch::interference_size) wait_log {
  histogram waits;
  longest_stalls longest;
};

template <class Lock>
[[gnu::noinline]] thread_span wait_loop(Lock& lock, std::uint64_t& counter, unsigned thread,
                                        loop_limit limit, wait_log& log) {
  thread_span span{.first = clock::now()};
  for (std::uint64_t i = 0; i < limit.operations; ++i) {
    const ticks called = clock::now();
    lock.lock();
    const ticks acquired = clock::now();
    counter = counter + 1;
    lock.unlock();
    log.waits.add(acquired - called);
    log.longest.offer(thread, acquired, acquired - called);
    ++span.operations;
    if (acquired >= limit.end) break;
  }
  span.last = clock::now();
  return span;
}

struct wait {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    arena<Lock, protected_counter> place{of.seed};
    const auto logs = std::make_unique<wait_log[]>(of.threads);
    refusal_check refusal{place.lock()};
    const team_run run = run_team(of, {.before = [&](unsigned) { refusal.probe(); },
                                       .loop =
                                           [&](unsigned thread, loop_limit limit) {
                                             return wait_loop(place.lock(), place.data().value,
                                                              thread, limit, logs[thread]);
                                           },
                                       .gathered = [&] { refusal.finish(); }});
    wait_log all;
    for (unsigned thread = 0; thread < of.threads; ++thread) {
      all.waits.merge(logs[thread].waits);
      all.longest.merge(logs[thread].longest);
    }
    outcome result{.values = run.values(of)};
    result.values["wait_max_ns"] = clock::ns(all.longest.longest_first()[0].length);
    result.histograms["wait"] = all.waits.to_json(clock::ns_per_tick());
    result.stalls = stalls_to_json(all.longest, run.start());
    result.checks = checks_of(traits, refusal.passed(), place.data().value == run.operations());
    return result;
  }
};

}  // namespace

study wait_study() {
  return {.name = "wait",
          .summary = "how long a thread waits for the lock: call to acquisition, every operation",
          .default_run_s = 0.2,
          .single_threaded = false,
          .published_loops = 16384,
          .published_runs = 100,
          .cells = cells_of<wait>()};
}

}  // namespace lockyard::harness
