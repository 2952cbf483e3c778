// SPDX-License-Identifier: Apache-2.0

// How long scheduled operations take: from the call, and from when they were due.
// docs/studies/response.md gives definition and reading.

#include "../arrivals.hpp"
#include "../histogram.hpp"
#include "../rate.hpp"
#include "../study.hpp"
#include "../subject.hpp"
#include "../team.hpp"
#include "../work.hpp"

#include <lockyard/detail/arch.hpp>

#include <sched.h>
#include <time.h>
#include <peers/all.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace lockyard::harness {

namespace {

constexpr std::string_view load = "load_percent";
constexpr std::string_view rate = "rate_per_s";

/// The lock's capacity is measured first, for this part of the run.
constexpr double capacity_part = 0.2;
constexpr double capacity_most_s = 0.2;
/// A thread that is late when the schedule ends may catch up for this part of the run.
constexpr double catching_up_part = 0.1;
constexpr double catching_up_most_s = 5;

/// A thread sleeps until this long before an operation is due, and is then awake for it.
constexpr double awake_before_ns = 100'000;
constexpr double worth_sleeping_ns = 150'000;

struct scheduled_counter {
  std::uint64_t value = 0;
};

/// One thread's own measurements, separated from every other thread's.
struct alignas(detail::arch::interference_size) response_log {
  histogram waits;         ///< from the call
  histogram responses;     ///< from when it was due
  histogram completions;   ///< from when it was due until it was done
  histogram lateness;      ///< of threads without overdue operations
  longest_stalls longest;  ///< the longest responses
  ticks longest_wait = 0;
  ticks longest_completion = 0;
  ticks most_late = 0;
  std::uint64_t unserved = 0;
};

/// How a thread spends the time until its next operation is due.
class patience {
 public:
  /// With more threads than processors, a waiting thread lets others run; under deadline a yield
  /// would give up the rest of the period.
  explicit patience(const job& of)
      : yields_{of.threads > processors_of(place(of.pin, of.threads)) &&
                of.under.of != policy::deadline} {}

  void wait_until(ticks due) const noexcept {
    sleep_until_near(due);
    while (clock::now() < due) {
      if (yields_) {
        sched_yield();
      } else {
        detail::arch::pause();
      }
    }
  }

 private:
  static void sleep_until_near(ticks due) noexcept {
    const double left_ns = clock::ns(elapsed(clock::now(), due));
    if (left_ns < worth_sleeping_ns) return;
    const auto sleep_ns = static_cast<std::int64_t>(left_ns - awake_before_ns);
    const timespec length{.tv_sec = sleep_ns / 1'000'000'000, .tv_nsec = sleep_ns % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &length, nullptr);
  }

  bool yields_;
};

/// What the threads of a run share besides the lock.
struct setting {
  void* lock;
  std::uint64_t& counter;
  const patience& waiting;
  ticks catching_up;  ///< the time allowed after the end of the schedule
};

using response_loop = thread_span(const setting& on, worker work, arrivals due, unsigned thread,
                                  loop_limit limit, response_log& log);

/// The schedule ends at the end of the limit. With an endless schedule, whose operations are all
/// due at once, so does the loop, which then measures the lock's capacity.
template <class Lock>
[[gnu::noinline]] thread_span loop_of(const setting& on, worker work, arrivals due, unsigned thread,
                                      loop_limit limit, response_log& log) {
  Lock& lock = *static_cast<Lock*>(on.lock);
  const ticks give_up = limit.end + on.catching_up;
  thread_span span{.first = clock::now()};
  due.begin(span.first);
  for (ticks ended = span.first; span.operations < limit.operations; ++span.operations) {
    const ticks intended = due.next();
    if (intended >= limit.end) break;
    if (ended >= give_up) {
      log.unserved = due.count_until(limit.end, intended);
      break;
    }
    const bool is_free = ended <= intended;
    if (is_free) on.waiting.wait_until(intended);
    const ticks called = clock::now_early();
    lock.lock();
    const ticks acquired = clock::now();
    on.counter = on.counter + 1;
    work.hold();
    lock.unlock();
    ended = clock::now();
    const ticks waited = elapsed(called, acquired);
    const ticks response = elapsed(intended, acquired);
    const ticks completion = elapsed(intended, ended);
    log.waits.add(waited);
    log.responses.add(response);
    log.completions.add(completion);
    log.longest_wait = std::max(log.longest_wait, waited);
    log.longest_completion = std::max(log.longest_completion, completion);
    log.longest.offer(thread, acquired, response);
    if (is_free) {
      log.lateness.add(elapsed(intended, called));
      log.most_late = std::max(log.most_late, elapsed(intended, called));
    }
  }
  span.last = clock::now();
  return span;
}

/// The logs of all threads.
struct responses {
  merged_histogram waits;
  merged_histogram responses;
  merged_histogram completions;
  merged_histogram lateness;
  longest_stalls longest;
  ticks longest_wait = 0;
  ticks longest_completion = 0;
  ticks most_late = 0;
  std::uint64_t unserved = 0;

  void add(const response_log& log) {
    waits.merge(log.waits);
    responses.merge(log.responses);
    completions.merge(log.completions);
    lateness.merge(log.lateness);
    longest.merge(log.longest);
    longest_wait = std::max(longest_wait, log.longest_wait);
    longest_completion = std::max(longest_completion, log.longest_completion);
    most_late = std::max(most_late, log.most_late);
    unserved += log.unserved;
  }
};

/// A part of the run.
struct part {
  double duration_s;
  std::optional<std::uint64_t> loops;
  double rate_per_s;  ///< all threads together; 0: as much as they can
  double catching_up_s;
};

struct measured_part {
  team_run run;
  std::unique_ptr<responses> found;
};

/// With `refusal`, first tries whether the lock refuses while it is held.
measured_part run_part(const job& of, const part& wanted, void* lock, std::uint64_t& counter,
                       response_loop loop, const workload& work, refusal_check* refusal) {
  job limited = of;
  limited.bound = {.loops = wanted.loops, .duration_s = wanted.duration_s};
  const patience waiting{of};
  const setting on{.lock = lock,
                   .counter = counter,
                   .waiting = waiting,
                   .catching_up = clock::from_ns(wanted.catching_up_s * 1e9)};
  const double gap_ns = wanted.rate_per_s > 0 ? of.threads * 1e9 / wanted.rate_per_s : 0;
  const auto logs = std::make_unique<response_log[]>(of.threads);
  const auto take_part = [&](unsigned thread, loop_limit limit) {
    const arrivals due{gap_ns, mixed(of.seed) + thread};
    return loop(on, work.of(thread), due, thread, limit, logs[thread]);
  };
  team_run run =
      refusal != nullptr
          ? run_team_on(limited, *refusal, take_part)
          : run_team(limited, {.before = [](unsigned) {}, .gathered = [] {}, .loop = take_part});
  measured_part result{.run = std::move(run), .found = std::make_unique<responses>()};
  for (unsigned thread = 0; thread < of.threads; ++thread) result.found->add(logs[thread]);
  return result;
}

void report(outcome& to, const responses& found, std::uint64_t served) {
  const double scale = clock::ns_per_tick();
  const auto arrived = served + found.unserved;
  to.values["arrivals"] = arrived;
  to.values["unserved"] = found.unserved;
  to.values["unserved_share"] = static_cast<double>(found.unserved) /
                                static_cast<double>(std::max<std::uint64_t>(arrived, 1));
  to.values["wait_max_ns"] = clock::ns(found.longest_wait);
  to.values["response_max_ns"] = clock::ns(found.longest.longest_first()[0].length);
  to.values["completion_max_ns"] = clock::ns(found.longest_completion);
  to.values["lateness_max_ns"] = clock::ns(found.most_late);
  to.histograms["wait"] = found.waits.to_json(scale);
  to.histograms["response"] = found.responses.to_json(scale);
  to.histograms["completion"] = found.completions.to_json(scale);
  to.histograms["lateness"] = found.lateness.to_json(scale);
}

outcome measure_responses(const job& of, const subject& lock, response_loop loop) {
  const arena<scheduled_counter> place{lock, of.seed};
  std::uint64_t& counter = place.data().value;
  const workload work{of.work, of.threads, of.seed};
  const double duration_s = of.bound.duration_s;
  const double load_share = of.parameter(load) / 100;
  const double catching_up_s = std::min(duration_s * catching_up_part, catching_up_most_s);

  std::optional<double> capacity_per_s;
  std::optional<double> capacity_run_ns;
  std::uint64_t operations = 0;
  double left_s = duration_s - catching_up_s;
  if (load_share > 0) {
    const double part_s = std::min(duration_s * capacity_part, capacity_most_s);
    const part closed{
        .duration_s = part_s, .loops = std::nullopt, .rate_per_s = 0, .catching_up_s = 0};
    const team_run full = run_part(of, closed, place.lock(), counter, loop, work, nullptr).run;
    operations = full.operations();
    capacity_run_ns = full.run_ns();
    capacity_per_s =
        static_cast<double>(std::max<std::uint64_t>(operations, 1)) / (full.run_ns() * 1e-9);
    left_s -= part_s;
  }
  const double rate_per_s = of.parameter(rate) + load_share * capacity_per_s.value_or(0);

  refusal_check refusal{lock, place.lock()};
  const part open{.duration_s = left_s,
                  .loops = of.bound.loops,
                  .rate_per_s = rate_per_s,
                  .catching_up_s = catching_up_s};
  const measured_part served = run_part(of, open, place.lock(), counter, loop, work, &refusal);
  operations += served.run.operations();

  outcome result{.values = served.run.values(of)};
  result.values["capacity_per_s"] = to_json(capacity_per_s);
  result.values["capacity_run_ns"] = to_json(capacity_run_ns);
  result.values["scheduled_per_s"] = rate_per_s;
  report(result, *served.found, served.run.operations());
  result.values["cpu_share"] = served.run.cpu_share();
  result.values["work_step_ns"] = to_json(work.step_ns());
  result.stalls = stalls_to_json(served.found->longest, served.run.start());
  result.checks = checks_of(lock, refusal, counter == operations);
  return result;
}

/// A schedule without arrivals would never end a run bounded by loops.
void check_rate(const job& of) {
  if (of.parameter(load) == 0 && of.parameter(rate) == 0) {
    throw job_error{"/conditions/parameters", "load_percent and rate_per_s must not both be 0"};
  }
}

struct response {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure_responses(of, {traits, operations_on<Lock>}, loop_of<Lock>);
  }
};

}  // namespace

study response_study() {
  return {
      .name = "response",
      .summary = "how long scheduled operations take: from the call, and from when they were due",
      .place = 60,
      .default_run_s = 0.5,
      .default_budget_s = 5,
      .takes = times::hold,
      .parameters = {{.name = load,
                      .unit = "%",
                      .summary = "arrivals, as a share of the lock's capacity",
                      .least = 0,
                      .most = 200,
                      .defaults = {50}},
                     {.name = rate,
                      .unit = "/s",
                      .summary = "additional arrivals, of all threads together",
                      .least = 0,
                      .most = 1e7,
                      .defaults = {0}}},
      .scheduled = true,
      .prepare = check_rate,
      .cells = cells_of<response>()};
}

}  // namespace lockyard::harness
