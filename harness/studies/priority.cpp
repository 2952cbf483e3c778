// SPDX-License-Identifier: Apache-2.0

// How long an urgent thread waits for a lock held by less urgent threads, while a thread in between
// keeps these off the processor. docs/studies/priority.md gives definition and reading.

#include "../loops/priority.hpp"
#include "../companion.hpp"
#include "../histogram.hpp"
#include "../loops/native.hpp"
#include "../ownership.hpp"
#include "../priority/companions.hpp"
#include "../priority/rules.hpp"
#include "../random.hpp"
#include "../rate.hpp"
#include "../study.hpp"
#include "../subject.hpp"
#include "../team.hpp"
#include "../work.hpp"

#include <peers/all.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockyard::harness {

namespace {

/// All threads but the high one end by themselves this long after they should have been told to.
constexpr double spare_ns = 2e9;
constexpr std::uint64_t operations_between_looks = 64;

/// The high thread's own measurements.
struct high_log {
  histogram waits;
  histogram inversions;  ///< how long the hog ran, in waits during which it ran
  longest_stalls longest;
  ticks waited = 0;  ///< the sum of all waits
  double inversion_ns = 0;
  double inversion_max_ns = 0;
  double hog_used_ns = 0;
  std::uint64_t inverted = 0;
};

/// What the threads of a run share.
struct priority_scene {
  void* lock;
  ownership& state;
  priority_signals& signals;
  companion* hog;  ///< null if there is none
  const ranks& rank;
  double interval_ns;  ///< mean time between the high thread's calls
};

double used_by(companion* hog) noexcept {
  return hog == nullptr ? 0 : hog->used_cpu_ns();
}

using high_loop = thread_span(const priority_scene& on, xorshift draws, loop_limit limit,
                              high_log& log);
using low_loop = thread_span(const priority_scene& on, worker work, unsigned thread, ticks end);

/// The high thread.
struct high_thread : loops::native_contender {
  [[nodiscard]] bool goes_on() const noexcept {
    return span.operations < limit.operations && clock::now() < limit.end;
  }
  void sleep_for_an_interval() noexcept {
    const double part = priority_rules::interval_part(draws.next_share());
    const double left_ns = clock::ns(elapsed(clock::now(), limit.end));
    sleep_for_ns(std::min(on.interval_ns * part, left_ns));
  }
  [[nodiscard]] double hog_used() const noexcept { return used_by(on.hog); }
  void begin_wait(ticks called) noexcept { on.signals.begin_wait(called); }
  void enter() noexcept { on.state.enter(0); }
  void end_wait() noexcept { on.signals.end_wait(); }
  void record(ticks called, ticks acquired, double hog_ran_ns) {
    const ticks waited = elapsed(called, acquired);
    log.waits.add(waited);
    log.waited += waited;
    log.longest.offer(0, acquired, waited);
    if (hog_ran_ns > 0) {
      ++log.inverted;
      log.inversion_ns += hog_ran_ns;
      log.inversion_max_ns = std::max(log.inversion_max_ns, hog_ran_ns);
      log.inversions.add(clock::from_ns(hog_ran_ns));
    }
    if (on.signals.take_demotion()) run_under(on.rank.high);
    ++span.operations;
  }

  const priority_scene& on;
  xorshift draws;
  loop_limit limit;
  high_log& log;
};

template <class Lock>
thread_span high_loop_of(const priority_scene& on, xorshift draws, loop_limit limit,
                         high_log& log) {
  on.signals.introduce(gettid());
  thread_span span{.first = clock::now()};
  high_thread self{{span}, on, draws, limit, log};
  loops::measure_urgent_waits(*static_cast<Lock*>(on.lock), self);
  span.last = clock::now();
  log.hog_used_ns = used_by(on.hog);
  on.signals.end();
  return span;
}

/// A low thread.
struct low_thread : loops::native_contender {
  [[nodiscard]] bool goes_on() const noexcept {
    if (on.signals.is_over()) return false;
    return span.operations % operations_between_looks != 0 || clock::now_early() < end;
  }
  void stay_away() noexcept { work.stay_away(); }
  void make_way() const noexcept {
    if (on.signals.is_being_rescued()) [[unlikely]]
      harness::make_way(on.signals);
  }
  void enter() noexcept { on.state.enter(thread); }
  void hold() noexcept { work.hold(); }
  void complete() noexcept { ++span.operations; }

  const priority_scene& on;
  worker work;
  unsigned thread;
  ticks end;
};

template <class Lock>
[[gnu::noinline]] thread_span low_loop_of(const priority_scene& on, worker work, unsigned thread,
                                          ticks end) {
  thread_span span{.first = clock::now()};
  low_thread self{{span}, on, work, thread, end};
  loops::keep_holding(*static_cast<Lock*>(on.lock), self);
  span.last = clock::now();
  return span;
}

/// Takes the rank, and runs the loop in it. If it cannot, the run is over.
template <class Loop>
thread_span run_in_rank(const schedule& rank, priority_signals& signals,
                        std::optional<std::string>& failure, Loop loop) {
  const ticks start = clock::now();
  try {
    run_under(rank);
    return loop();
  } catch (const condition_error& error) {
    failure = error.what();
    signals.end();
    return {.first = start, .last = clock::now()};
  }
}

struct priority_loops {
  high_loop* high;
  low_loop* low;
};

/// Returns the processor on which all of it happens.
int stage_of(const job& of) {
  const std::vector<int> placed = place(of.pin, 1);
  return placed.empty() ? usable_cpus().back() : placed.front();
}

/// Puts all threads on one processor and into one rank until they have started, since higher ranks
/// would keep others from starting. Any thread may go from the low rank to a permitted strict one,
/// and from any nice value to a lower rank, but not back.
job team_job(const job& of, const ranks& rank, int cpu) {
  job team = of;
  team.pin = std::vector<int>{cpu};
  team.under = rank.are_strict ? rank.low : rank.high;
  return team;
}

nlohmann::ordered_json values_of(const job& of, const team_run& run, const high_log& log) {
  const std::uint64_t calls = run.spans.front().operations;
  const std::uint64_t others = run.operations() - calls;
  const auto of_each = [&](double sum) {
    return calls > 0 ? nlohmann::ordered_json(sum / static_cast<double>(calls)) : nullptr;
  };
  return {{"run_ns", run.run_ns()},
          {"complete", calls >= of.bound.loops.value_or(0)},
          {"operations", run.operations()},
          {"operations_per_s", static_cast<double>(run.operations()) / (run.run_ns() * 1e-9)},
          {"high_operations", calls},
          {"low_operations", others},
          {"low_operations_per_s", static_cast<double>(others) / (run.run_ns() * 1e-9)},
          {"wait_mean_ns", of_each(clock::ns(log.waited))},
          {"wait_max_ns", clock::ns(log.longest.longest_first()[0].length)},
          {"inverted_waits", log.inverted},
          {"inverted_share", of_each(static_cast<double>(log.inverted))},
          {"inversion_ns", log.inversion_ns},
          {"inversion_max_ns", log.inversion_max_ns},
          {"voluntary_switches", run.used.voluntary_switches},
          {"involuntary_switches", run.used.involuntary_switches}};
}

outcome measure_priority(const job& of, const subject& lock, const priority_loops& loops) {
  const work_request lengths{.hold_ns = of.parameter("hold_ns"),
                             .gap_ns = of.parameter("gap_ns"),
                             .kind = lengths::constant};
  const ranks rank = ranks_under(of.under);
  const int cpu = stage_of(of);
  leave_room(rank.high, 1, 1);
  const arena<ownership> place{lock, of.seed};
  const workload work{lengths, of.threads, of.seed};
  const auto log = std::make_unique<high_log>();
  const ticks deadline = clock::now() + clock::from_ns(of.bound.duration_s * 1e9 + 2 * spare_ns);
  const double rescued_after_ns = priority_rules::rescued_after_ns(lengths.hold_ns, of.threads);
  const double hog_share = of.parameter("hog_percent") / 100;
  priority_signals signals;
  std::vector<std::optional<std::string>> failures(of.threads);
  std::uint64_t rescues = 0;

  // Tries whether the rank is available, before anything depends on it.
  companion{cpu, rank.high, [] {}}.dismiss();
  std::optional<companion> hog;
  std::optional<companion> rescuer;
  if (hog_share > 0) {
    hog.emplace(cpu, rank.hog, [&] { hog_processor(signals, hog_share, deadline); });
  }
  if (rank.are_strict) {
    rescuer.emplace(std::nullopt, rank.rescuer,
                    [&] { rescues = rescue(signals, rescued_after_ns, deadline); });
  }
  const priority_scene on{.lock = place.lock(),
                          .state = place.data(),
                          .signals = signals,
                          .hog = hog ? &*hog : nullptr,
                          .rank = rank,
                          .interval_ns = of.parameter("interval_ns")};
  refusal_check refusal{lock, place.lock()};
  const team_run run =
      run_team_on(team_job(of, rank, cpu), refusal, [&](unsigned thread, loop_limit limit) {
        if (thread != 0) {
          const ticks end = limit.end + clock::from_ns(spare_ns);
          return run_in_rank(rank.low, signals, failures[thread],
                             [&] { return loops.low(on, work.of(thread), thread, end); });
        }
        return run_in_rank(rank.high, signals, failures[thread], [&] {
          if (rescuer) rescuer->begin();
          if (hog) hog->begin();
          return loops.high(on, xorshift{mixed(of.seed)}, limit, *log);
        });
      });
  if (hog) hog->dismiss();
  if (rescuer) rescuer->dismiss();
  for (const auto& failure : failures) {
    if (failure) throw condition_error{*failure};
  }

  outcome result{.values = values_of(of, run, *log)};
  result.values["hog_cpu_share"] = log->hog_used_ns / run.run_ns();
  result.values["rescues"] = rescues;
  result.values["rescued_after_ns"] = rescued_after_ns;
  if (!rank.are_strict) result.values["rescued_after_ns"] = nullptr;
  result.values["processor"] = cpu;
  result.values["work_step_ns"] = to_json(work.step_ns());
  result.histograms["wait"] = log->waits.to_json(clock::ns_per_tick());
  result.histograms["inversion"] = log->inversions.to_json(clock::ns_per_tick());
  result.stalls = stalls_to_json(log->longest, run.start());
  result.checks = checks_of(lock, refusal, place.data().counter == run.operations());
  return result;
}

struct priority_inversion {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure_priority(of, {traits, operations_on<Lock>},
                            {.high = high_loop_of<Lock>, .low = low_loop_of<Lock>});
  }
};

}  // namespace

study priority_study() {
  return {.name = "priority",
          .summary =
              "how long an urgent thread waits for a lock held by less urgent threads, while a "
              "thread of middle priority keeps these off the processor",
          .place = 110,
          .default_run_s = 0.5,
          .default_budget_s = 5,
          .parameters = {{.name = "hog_percent",
                          .unit = "%",
                          .summary = "share of each 10 ms for the thread of middle priority",
                          .least = 0,
                          .most = 90,
                          .defaults = {50}},
                         {.name = "interval_ns",
                          .unit = "ns",
                          .summary = "mean time between the urgent thread's calls",
                          .least = 1e5,
                          .most = 1e9,
                          .defaults = {2e6}},
                         {.name = "hold_ns",
                          .unit = "ns",
                          .summary = "time that a less urgent thread holds the lock",
                          .least = 0,
                          .most = 1e7,
                          .defaults = {20'000}},
                         {.name = "gap_ns",
                          .unit = "ns",
                          .summary = "time without the lock before each call",
                          .least = 0,
                          .most = 1e7,
                          .defaults = {20'000}}},
          .default_locks = {"mutex", "pthread_mutex[normal]", "fair_mutex", "pi_mutex",
                            "pthread_mutex[pi]", "ticket_spinlock"},
          .default_policies = {policy::fifo, policy::other},
          .only_policies = {policy::fifo, policy::rr, policy::other, policy::batch},
          .cells = cells_of<priority_inversion>()};
}

}  // namespace lockyard::harness
