// SPDX-License-Identifier: Apache-2.0

// How many reads a lock permits that readers share, and how long its writers wait for them.
// docs/studies/readers.md gives definition and reading.

#include "../closing_time.hpp"
#include "../histogram.hpp"
#include "../pairs.hpp"
#include "../study.hpp"
#include "../subject.hpp"
#include "../team.hpp"
#include "../work.hpp"

#include <peers/all.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace lockyard::harness {

namespace {

/// The time for measuring the pair of one reader alone, after the run.
constexpr double pairs_last_ns = 2e6;

/// The data that the lock protects: all parts are equal unless a writer is at work.
struct text {
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;
};

/// One thread's own measurements, separated from every other thread's.
struct alignas(detail::arch::interference_size) access_log {
  histogram waits;
  longest_stalls longest;    ///< a writer's
  ticks waited = 0;          ///< the sum of a writer's waits
  std::uint64_t halves = 0;  ///< reads that found a half-done write
};

/// What the threads of a run share besides the lock.
struct scene {
  void* lock;
  text& data;
  closing_time& closing;
};

using access_loop = thread_span(const scene& on, worker work, unsigned thread, loop_limit limit,
                                access_log& log);

/// Measures the wait only where the thread reads the clock anyway, so that the rate is the lock's.
template <class Lock>
[[gnu::noinline]] thread_span read_loop(const scene& on, worker work, unsigned /*thread*/,
                                        loop_limit limit, access_log& log) {
  Lock& lock = *static_cast<Lock*>(on.lock);
  thread_span span{.first = clock::now()};
  for (; span.operations < limit.operations && !on.closing.has_come(span.operations, limit.end);
       ++span.operations) {
    work.stay_away();
    const bool is_timed = on.closing.looks_before(span.operations);
    const ticks called = is_timed ? clock::now_early() : 0;
    lock.lock_shared();
    const ticks acquired = is_timed ? clock::now() : 0;
    if (on.data.begun != on.data.ended) ++log.halves;
    work.hold();
    lock.unlock_shared();
    if (is_timed) log.waits.add(elapsed(called, acquired));
  }
  span.last = clock::now();
  return span;
}

template <class Lock>
[[gnu::noinline]] thread_span write_loop(const scene& on, worker work, unsigned thread,
                                         loop_limit limit, access_log& log) {
  Lock& lock = *static_cast<Lock*>(on.lock);
  thread_span span{.first = clock::now()};
  for (ticks acquired = span.first; span.operations < limit.operations && acquired < limit.end;
       ++span.operations) {
    work.stay_away();
    const ticks called = clock::now_early();
    lock.lock();
    acquired = clock::now();
    on.data.begun = on.data.begun + 1;
    work.hold();
    on.data.ended = on.data.ended + 1;
    lock.unlock();
    const ticks waited = elapsed(called, acquired);
    log.waits.add(waited);
    log.waited += waited;
    log.longest.offer(thread, acquired, waited);
  }
  span.last = clock::now();
  return span;
}

template <class Lock>
[[gnu::noinline, gnu::aligned(64)]] ticks reading_batch_of(void* place, std::uint64_t& counter) {
  Lock& lock = *static_cast<Lock*>(place);
  const ticks before = clock::now();
  for (std::uint64_t i = 0; i < pairs_per_batch; ++i) {
    lock.lock_shared();
    counter = counter + 1;
    lock.unlock_shared();
  }
  return clock::now() - before;
}

/// Tries to read while a writer holds the lock.
template <class Lock>
inline constexpr lock_operations read_against_writer = [] {
  lock_operations changed = operations_on<Lock>;
  changed.try_lock = [](void* lock) { return static_cast<Lock*>(lock)->try_lock_shared(); };
  return changed;
}();

/// Tries to write while a reader holds the lock.
template <class Lock>
inline constexpr lock_operations write_against_reader = [] {
  lock_operations changed = operations_on<Lock>;
  changed.lock = [](void* lock) { static_cast<Lock*>(lock)->lock_shared(); };
  changed.unlock = [](void* lock) { static_cast<Lock*>(lock)->unlock_shared(); };
  return changed;
}();

/// A lock that can be shared, and the operations on it.
struct shared_subject {
  subject held_by_writer;
  subject held_by_reader;
  access_loop* read;
  access_loop* write;
  batch* pair;
};

/// All logs of threads of one kind.
struct accesses {
  merged_histogram waits;
  longest_stalls longest;
  ticks waited = 0;
  std::uint64_t operations = 0;
  std::uint64_t halves = 0;

  void add(const access_log& log, const thread_span& span) {
    waits.merge(log.waits);
    longest.merge(log.longest);
    waited += log.waited;
    operations += span.operations;
    halves += log.halves;
  }
};

void report(outcome& to, const std::string& what, const accesses& found, double run_ns) {
  to.values[what + "s"] = found.operations;
  to.values[what + "s_per_s"] = static_cast<double>(found.operations) / (run_ns * 1e-9);
  to.histograms[what + "_wait"] = found.waits.to_json(clock::ns_per_tick());
}

outcome measure(const job& of, const shared_subject& lock) {
  const arena<text> place{lock.held_by_writer, of.seed};
  const arena<text> other{lock.held_by_reader, of.seed};
  const workload work{of.work, of.threads, of.seed};
  closing_time closing{of.work};
  const scene on{.lock = place.lock(), .data = place.data(), .closing = closing};
  const auto logs = std::make_unique<access_log[]>(of.threads);
  refusal_check readers_refused{lock.held_by_writer, place.lock()};
  refusal_check writers_refused{lock.held_by_reader, other.lock()};
  const unsigned writers = of.count("writers");
  const auto writes = [writers](unsigned thread) { return thread < writers; };
  const team_run run =
      run_team(of, {.before =
                        [&](unsigned) {
                          readers_refused.probe();
                          writers_refused.probe();
                        },
                    .gathered =
                        [&] {
                          readers_refused.finish();
                          writers_refused.finish();
                        },
                    .loop =
                        [&](unsigned thread, loop_limit limit) {
                          const auto loop = writes(thread) ? lock.write : lock.read;
                          return loop(on, work.of(thread), thread, limit, logs[thread]);
                        }});
  const auto reading = std::make_unique<accesses>();
  const auto writing = std::make_unique<accesses>();
  for (unsigned thread = 0; thread < of.threads; ++thread) {
    (writes(thread) ? *writing : *reading).add(logs[thread], run.spans[thread]);
  }
  std::uint64_t counter = 0;
  const pair_cost pair =
      time_pairs(lock.pair, place.lock(), counter,
                 {.operations = UINT64_MAX, .end = clock::now() + clock::from_ns(pairs_last_ns)});

  outcome result{.values = run.values(of)};
  report(result, "read", *reading, run.run_ns());
  report(result, "write", *writing, run.run_ns());
  result.values["write_wait_mean_ns"] = nullptr;
  result.values["write_wait_max_ns"] = nullptr;
  if (writing->operations > 0) {
    result.values["write_wait_mean_ns"] =
        clock::ns(writing->waited) / static_cast<double>(writing->operations);
    result.values["write_wait_max_ns"] = clock::ns(writing->longest.longest_first()[0].length);
    result.stalls = stalls_to_json(writing->longest, run.start());
  }
  result.values["pair_ns"] = pair.batches.median() * clock::ns_per_tick() / pairs_per_batch;
  result.values["cpu_share"] = run.cpu_share();
  result.values["work_step_ns"] = to_json(work.step_ns());
  const text& after = place.data();
  const bool is_exact = after.begun == writing->operations && after.ended == writing->operations;
  result.checks = checks_of(lock.held_by_writer, readers_refused, is_exact);
  result.checks["refused_while_read"] = nullptr;
  result.checks["reads_are_whole"] = nullptr;
  if (lock.held_by_writer.traits.excludes) {
    result.checks["refused_while_read"] = writers_refused.passed();
    result.checks["reads_are_whole"] = reading->halves == 0;
  }
  return result;
}

struct readers {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure(of, {.held_by_writer = {traits, read_against_writer<Lock>},
                        .held_by_reader = {traits, write_against_reader<Lock>},
                        .read = read_loop<Lock>,
                        .write = write_loop<Lock>,
                        .pair = reading_batch_of<Lock>});
  }
};

}  // namespace

study readers_study() {
  return {
      .name = "readers",
      .summary =
          "throughput of reads under a lock that readers share, how long writers wait, and what a "
          "read costs a thread alone",
      .place = 130,
      .default_run_s = 0.2,
      .default_budget_s = 2,
      .measures = subjects::shared_locks,
      .takes = times::hold_and_gap,
      .parameters = {{.name = "writers",
                      .type = parameter_type::count,
                      .summary = "number of threads that write; the others read",
                      .least = 0,
                      .most = max_threads - 1,
                      .defaults = {0, 1},
                      .below_threads = true}},
      .cells = cells_of<readers, true>()};
}

}  // namespace lockyard::harness
