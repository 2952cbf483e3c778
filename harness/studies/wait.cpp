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
  for (ticks acquired = span.first; span.operations < limit.operations && acquired < limit.end;
       ++span.operations) {
    const ticks called = clock::now_early();
    lock.lock();
    acquired = clock::now();
    counter = counter + 1;
    lock.unlock();
    const ticks waited = elapsed(called, acquired);
    log.waits.add(waited);
    log.longest.offer(thread, acquired, waited);
  }
  span.last = clock::now();
  return span;
}

struct wait {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    arena<Lock, protected_counter> place{of.seed};
    const auto logs = std::make_unique<wait_log[]>(of.threads);
    refusal_check refusal{place.lock(), traits};
    const auto loop = [&](unsigned thread, loop_limit limit) {
      return wait_loop(place.lock(), place.data().value, thread, limit, logs[thread]);
    };
    const team_run run = run_team(of, {.before = [&](unsigned) { refusal.probe(); },
                                       .gathered = [&] { refusal.finish(); },
                                       .loop = loop});
    merged_histogram waits;
    longest_stalls longest;
    for (unsigned thread = 0; thread < of.threads; ++thread) {
      waits.merge(logs[thread].waits);
      longest.merge(logs[thread].longest);
    }
    outcome result{.values = run.values(of)};
    result.values["wait_max_ns"] = clock::ns(longest.longest_first()[0].length);
    result.histograms["wait"] = waits.to_json(clock::ns_per_tick());
    result.stalls = stalls_to_json(longest, run.start());
    result.checks = checks_of(traits, refusal.passed(), place.data().value == run.operations());
    return result;
  }
};

}  // namespace

study wait_study() {
  return {.name = "wait",
          .summary = "how long a thread waits for the lock: call to acquisition, every operation",
          .default_run_s = 0.2,
          .default_budget_s = 2,
          .of_machine = false,
          .single_threaded = false,
          .published_loops = 16384,
          .published_runs = 100,
          .cells = cells_of<wait>()};
}

}  // namespace lockyard::harness
