// SPDX-License-Identifier: Apache-2.0

// How a worker should wait: bursts of tasks with pauses in between, for pools whose workers do
// different things while there are no tasks. docs/studies/workers.md gives definition and reading.

#include "../pools/ours.hpp"
#include "../pools/standard.hpp"

#include "../histogram.hpp"
#include "../loops/workers.hpp"
#include "../study.hpp"
#include "../team.hpp"
#include "../work.hpp"

#include <lockyard/detail/arch.hpp>

#include <peers/libraries.hpp>

#ifdef LOCKYARD_HAS_ONETBB
#include "../pools/onetbb.hpp"
#endif

#include <time.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

namespace lockyard::harness {

namespace {

constexpr unsigned max_burst = 4096;

/// A burst in progress. A task writes only to its own entry.
struct burst {
  struct alignas(detail::arch::interference_size) entry {
    ticks submitted = 0;
    ticks started = 0;
    ticks ended = 0;
    std::uint32_t steps = 0;
    std::atomic<unsigned> runs{0};

    static ticks read_clock() { return clock::now(); }
    void begin(ticks now) { started = now; }
    void work() const { keep_busy(steps); }
    void end(ticks now) { ended = now; }
  };

  explicit burst(unsigned size) : entries(size) {}

  void run(unsigned index) {
    entry& mine = entries[index];
    loops::run_task(mine);
    // relaxed(hint): a check of the pool, read when all have ended.
    mine.runs.fetch_add(1, std::memory_order_relaxed);
    // order[ended]: acq_rel; pairs [ended]; the last task sees what all have written.
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) is_over.release();
  }

  std::vector<entry> entries;
  std::atomic<unsigned> left{0};
  std::binary_semaphore is_over{0};
};

/// Returns the processor time of all threads but the caller.
double cpu_of_others_ns() {
  return cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(CLOCK_THREAD_CPUTIME_ID);
}

/// The first error in the start of a worker.
class first_failure {
 public:
  void note(const char* what) {
    const std::lock_guard held{mutex_};
    if (!failure_) failure_ = what;
  }
  void rethrow() {
    const std::lock_guard held{mutex_};
    if (failure_) throw condition_error{*failure_};
  }

 private:
  std::mutex mutex_;
  std::optional<std::string> failure_;
};

/// The sums over a run.
struct tally {
  merged_histogram start;
  merged_histogram submit;
  merged_histogram length;
  ticks longest_start = 0;
  double in_bursts_ns = 0;
  double in_gaps_ns = 0;
  double gap_cpu_ns = 0;
  std::uint64_t bursts = 0;
  bool each_ran_once = true;
};

/// The thread that submits the tasks of a burst.
struct burst_submitter {
  [[nodiscard]] unsigned tasks() const { return static_cast<unsigned>(of.entries.size()); }
  static ticks read_clock() { return clock::now(); }
  void submit(unsigned task, ticks now) {
    of.entries[task].submitted = now;
    const auto run = [](void* to, unsigned index) { static_cast<burst*>(to)->run(index); };
    workers.submit({.run = run, .burst = &of, .index = task});
  }
  void record_submission(ticks before, ticks after) { books.submit.add(elapsed(before, after)); }
  void sleep_until_all_have_ended() {
    of.is_over.acquire();
    workers.burst_is_over();
  }

  pool& workers;
  burst& of;
  tally& books;
};

/// Runs a burst and keeps the books.
void run_burst(pool& workers, burst& of, worker& lengths, tally& books) {
  for (burst::entry& each : of.entries) {
    each.steps = lengths.take().hold_steps;
    // relaxed(unpublished): the pool publishes it.
    each.runs.store(0, std::memory_order_relaxed);
  }
  // relaxed(unpublished): as above.
  of.left.store(static_cast<unsigned>(of.entries.size()), std::memory_order_relaxed);
  burst_submitter submitter{workers, of, books};
  loops::submit_burst(submitter);
  ticks end = 0;
  for (const burst::entry& each : of.entries) {
    const ticks start = elapsed(each.submitted, each.started);
    books.start.add(start);
    books.longest_start = std::max(books.longest_start, start);
    end = std::max(end, each.ended);
    // relaxed(hint): as above.
    if (each.runs.load(std::memory_order_relaxed) != 1) books.each_ran_once = false;
  }
  const ticks length = elapsed(of.entries.front().submitted, end);
  books.length.add(length);
  books.in_bursts_ns += clock::ns(length);
  ++books.bursts;
}

/// Sleeps, and measures the processor time that the workers use meanwhile.
void pass_gap(double length_ns, tally& books) {
  if (length_ns < 1) return;
  const ticks before = clock::now();
  const double cpu_before_ns = cpu_of_others_ns();
  const auto whole_ns = static_cast<std::int64_t>(length_ns);
  timespec left{.tv_sec = whole_ns / 1'000'000'000, .tv_nsec = whole_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) != 0) {
  }
  books.gap_cpu_ns += cpu_of_others_ns() - cpu_before_ns;
  books.in_gaps_ns += clock::ns(elapsed(before, clock::now()));
}

/// The thread that alternates gaps and bursts.
struct run_submitter {
  void pass_gap() { harness::pass_gap(lengths.take().gap_steps * step_ns, books); }
  void run_burst() { harness::run_burst(workers, current, lengths, books); }
  [[nodiscard]] bool goes_on() const { return books.bursts < most && clock::now() < end; }

  pool& workers;
  burst& current;
  double step_ns;
  worker& lengths;
  tally& books;
  std::uint64_t most;
  ticks end;
};

/// The length of a run, the processor time of all threads but the caller, and the switches of all
/// threads.
struct usage {
  double run_ns;
  double cpu_ns;
  long voluntary_switches;
  long involuntary_switches;
};

/// Runs bursts until the run is over.
usage run_bursts(const job& of, pool& workers, burst& current, double step_ns, worker& lengths,
                 tally& books) {
  const process_usage before = process_usage::now();
  const double cpu_before_ns = cpu_of_others_ns();
  const ticks start = clock::now();
  const ticks end = start + clock::from_ns(of.bound.duration_s * 1e9);
  const std::uint64_t most = of.bound.loops.value_or(std::numeric_limits<std::uint64_t>::max());
  run_submitter submitter{workers, current, step_ns, lengths, books, most, end};
  loops::alternate(submitter);
  const process_usage after = process_usage::now();
  return {.run_ns = clock::ns(elapsed(start, clock::now())),
          .cpu_ns = cpu_of_others_ns() - cpu_before_ns,
          .voluntary_switches = after.voluntary_switches - before.voluntary_switches,
          .involuntary_switches = after.involuntary_switches - before.involuntary_switches};
}

outcome outcome_of(const job& of, const workload& work, const tally& books, const usage& used) {
  const auto bursts = static_cast<double>(books.bursts);
  const double tasks = bursts * of.count("burst");
  const double idle_ns = books.in_gaps_ns * of.threads;
  std::optional<double> gap_cpu_share;
  // The two clocks are read one after the other, so the difference may come out below zero.
  if (idle_ns > 0) gap_cpu_share = std::max(books.gap_cpu_ns, 0.0) / idle_ns;
  outcome result;
  result.values = {{"run_ns", used.run_ns},
                   {"complete", books.bursts >= of.bound.loops.value_or(0)},
                   {"operations", books.bursts * of.count("burst")},
                   {"bursts", books.bursts},
                   {"operations_per_s", tasks / (used.run_ns * 1e-9)},
                   {"tasks_per_s_in_bursts", tasks / (std::max(books.in_bursts_ns, 1.0) * 1e-9)},
                   {"start_max_ns", clock::ns(books.longest_start)},
                   {"workers_cpu_ns", used.cpu_ns},
                   {"workers_cpu_per_task_ns", used.cpu_ns / tasks},
                   {"gap_ns", books.in_gaps_ns / bursts},
                   {"gap_cpu_share", to_json(gap_cpu_share)},
                   {"voluntary_switches", used.voluntary_switches},
                   {"involuntary_switches", used.involuntary_switches},
                   {"work_step_ns", to_json(work.step_ns())}};
  result.histograms["start"] = books.start.to_json(clock::ns_per_tick());
  result.histograms["submit"] = books.submit.to_json(clock::ns_per_tick());
  result.histograms["burst"] = books.length.to_json(clock::ns_per_tick());
  result.checks["each_task_ran_once"] = books.each_ran_once;
  return result;
}

outcome measure(const job& of, pool_maker make) {
  job team = of;
  ++team.threads;  // the thread that submits
  const std::vector<int> cpus = place(of.pin, team.threads);
  first_failure failure;
  const auto take_place_of = [&](unsigned worker) noexcept {
    try {
      take_place(team, cpus, worker);
    } catch (const condition_error& error) {
      failure.note(error.what());
    }
  };
  const workload work{of.work, 1, of.seed};
  worker lengths = work.of(0);
  const unsigned tasks = of.count("burst");
  burst current{tasks};  // outlives the pool, whose last task reports the end to it
  const auto workers =
      make({.of = of, .workers = of.threads, .most_waiting = tasks, .take_place = take_place_of});
  take_place(team, cpus, of.threads);
  const auto first = std::make_unique<tally>();  // runs while threads are still starting
  run_burst(*workers, current, lengths, *first);
  failure.rethrow();
  const auto books = std::make_unique<tally>();
  const usage used = run_bursts(of, *workers, current, work.step_ns().value_or(0), lengths, *books);
  failure.rethrow();
  return outcome_of(of, work, *books, used);
}

template <class Pool>
outcome measure_pool(const job& of, const lock_traits& /*traits*/) {
  return measure(of, [](const pool_request& request) -> std::unique_ptr<pool> {
    return std::make_unique<Pool>(request);
  });
}

template <class Idle>
cell ours(std::string_view name, std::string_view seed_name, waiting how) {
  return {.lock = name,
          .run = measure_pool<pool_of_ours<Idle>>,
          .traits = {.name = name,
                     .seed_name = seed_name,
                     .kind = lock_kind::ours,
                     .family = lock_family::none,
                     .waiting = how,
                     .fairness = fairness::none,
                     .origin = "a fixed team of threads at one queue"}};
}

cell other(std::string_view name, lock_kind kind, std::string_view origin,
           outcome (*run)(const job&, const lock_traits&)) {
  return {.lock = name,
          .run = run,
          .traits = {.name = name,
                     .seed_name = "",
                     .kind = kind,
                     .family = lock_family::none,
                     .waiting = waiting::park,
                     .fairness = fairness::none,
                     .origin = origin}};
}

std::vector<cell> pools() {
#ifdef LOCKYARD_HAS_ONETBB
  constexpr auto run_tbb = measure_pool<tbb_pool>;
#else
  constexpr decltype(cell::run) run_tbb = nullptr;
#endif
  return {
      ours<idle::spin>("worker_pool[spin]", "spin", waiting::spin),
      ours<idle::pause>("worker_pool[pause]", "pause", waiting::spin),
      ours<idle::yield>("worker_pool[yield]", "yield", waiting::yield),
      ours<idle::sleep>("worker_pool[sleep]", "sleep 1 ms", waiting::park),
      ours<idle::event>("worker_pool[event]", "waitable object", waiting::park),
      ours<idle::spin_then_event>("worker_pool[spin_then_event]", "", waiting::park),
      other("std::async", lock_kind::peer, "the C++ standard library", measure_pool<async_pool>),
      other("tbb::task_arena", lock_kind::peer, "oneTBB", run_tbb),
      other("no_pool", lock_kind::control,
            "runs tasks where they are submitted: what remains is the cost of the harness",
            measure_pool<no_pool>),
  };
}

}  // namespace

study workers_study() {
  return {
      .name = "workers",
      .summary =
          "how soon an idle worker starts a task, and what its wait costs: bursts of tasks with "
          "pauses, for each idle policy",
      .place = 180,
      .default_run_s = 0.2,
      .default_budget_s = 2,
      .measures = subjects::pools,
      .takes = times::hold_and_gap,
      .parameters = {{.name = "burst",
                      .type = parameter_type::count,
                      .summary = "tasks that are submitted together",
                      .least = 1,
                      .most = max_burst,
                      .defaults = {8}}},
      .default_gap_ns = 1e6,
      .cells = pools()};
}

}  // namespace lockyard::harness
