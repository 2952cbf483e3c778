// SPDX-License-Identifier: Apache-2.0

// The time that the machine takes without any lock: a thread on each processor reads the clock
// continuously, and every gap that it finds is the machine's. docs/studies/noise.md gives
// definition and reading.

#include "../histogram.hpp"
#include "../study.hpp"
#include "../team.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace lockyard::harness {

namespace {

/// Shorter than an interrupt.
constexpr double shortest_gap_ns = 1000;
/// A gap is longer than this many clock readings.
constexpr double readings_in_gap = 4;

/// The kernel's counts for a thread: how long it waited in the queue, how often it was taken off.
struct thread_books {
  std::optional<double> run_delay_ns;
  long involuntary_switches;
};

thread_books books_of_this_thread() {
  std::ifstream file{"/proc/thread-self/schedstat"};
  double on_processor_ns = 0;
  double waiting_ns = 0;
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  thread_books found{.run_delay_ns = std::nullopt, .involuntary_switches = usage.ru_nivcsw};
  if (file >> on_processor_ns >> waiting_ns) found.run_delay_ns = waiting_ns;
  return found;
}

/// Returns the time that the hypervisor took from each processor since the start, by /proc/stat.
std::map<int, double> stolen_ns() {
  constexpr int steal_column = 8;
  const double tick_ns = 1e9 / static_cast<double>(sysconf(_SC_CLK_TCK));
  std::map<int, double> found;
  std::ifstream file{"/proc/stat"};
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words{line.substr(3)};
    if (line.starts_with("cpu ")) continue;  // the sum over all processors
    int cpu = 0;
    words >> cpu;
    double ticks_of_column = 0;
    for (int column = 0; column < steal_column; ++column) words >> ticks_of_column;
    if (words) found[cpu] = ticks_of_column * tick_ns;
  }
  return found;
}

struct alignas(detail::arch::interference_size) watch {
  histogram gaps;
  longest_stalls longest;
  std::uint64_t count = 0;
  ticks lost = 0;
  thread_books before{};
  thread_books after{};
  ticks books_opened = 0;  ///< just before the first counts were read
  ticks books_closed = 0;  ///< just after the last counts were read
};

[[gnu::noinline]] thread_span watch_clock(unsigned thread, loop_limit limit, ticks threshold,
                                          watch& log) {
  // Between reading its counts and its first or last clock reading the thread may wait in the
  // queue. That wait is in the counts, so shares refer to the counts' own period, not to the time
  // watched.
  log.books_opened = clock::now();
  log.before = books_of_this_thread();
  thread_span span{.first = clock::now()};
  for (ticks last = span.first; last < limit.end; ++span.operations) {
    const ticks now = clock::now();
    if (const ticks gap = elapsed(last, now); gap > threshold) [[unlikely]] {
      log.gaps.add(gap);
      log.longest.offer(thread, now, gap);
      log.lost += gap;
      ++log.count;
    }
    last = now;
  }
  span.last = clock::now();
  log.after = books_of_this_thread();
  log.books_closed = clock::now();
  return span;
}

nlohmann::ordered_json difference(std::optional<double> before, std::optional<double> after) {
  if (!before || !after) return nullptr;
  return *after - *before;
}

std::optional<double> of_cpu(const std::map<int, double>& all, int cpu) {
  const auto found = all.find(cpu);
  return found == all.end() ? std::nullopt : std::optional{found->second};
}

/// Returns null if the watchers ran for less than half of the requested time: the machine then took
/// most of the time in which they did not watch.
nlohmann::ordered_json share_of(ticks lost, ticks watched, double asked_ns) {
  constexpr double least_watched = 0.5;
  if (watched == 0 || clock::ns(watched) < least_watched * asked_ns) return nullptr;
  return static_cast<double>(lost) / static_cast<double>(watched);
}

nlohmann::ordered_json core_to_json(int cpu, const thread_span& span, const watch& log) {
  return {
      {"cpu", cpu},
      {"watched_ns", clock::ns(elapsed(span.first, span.last))},
      {"gaps", log.count},
      {"lost_ns", clock::ns(log.lost)},
      {"longest_ns", clock::ns(log.longest.longest_first()[0].length)},
      {"run_delay_ns", difference(log.before.run_delay_ns, log.after.run_delay_ns)},
      {"run_delay_period_ns", clock::ns(elapsed(log.books_opened, log.books_closed))},
      {"involuntary_switches", log.after.involuntary_switches - log.before.involuntary_switches}};
}

struct noise {
  static outcome run(job of) {
    const std::vector<int> cpus = processors_at(of.pin);
    of.pin = cpus;
    of.threads = static_cast<unsigned>(cpus.size());
    const auto logs = std::make_unique<watch[]>(of.threads);
    const double threshold_ns = std::max(shortest_gap_ns, readings_in_gap * clock::read_ns());
    const ticks threshold = clock::from_ns(threshold_ns);
    std::map<int, double> stolen_before_ns;
    ticks steal_opened = 0;
    const team_run run =
        run_team(of, {.before = [](unsigned) {},
                      .gathered =
                          [&] {
                            steal_opened = clock::now();
                            stolen_before_ns = stolen_ns();
                          },
                      .loop =
                          [&](unsigned thread, loop_limit limit) {
                            return watch_clock(thread, limit, threshold, logs[thread]);
                          }});
    const std::map<int, double> stolen_after_ns = stolen_ns();
    const double steal_period_ns = clock::ns(elapsed(steal_opened, clock::now()));
    merged_histogram gaps;
    longest_stalls longest;
    ticks lost = 0;
    ticks watched = 0;
    auto cores = nlohmann::ordered_json::array();
    for (unsigned thread = 0; thread < of.threads; ++thread) {
      gaps.merge(logs[thread].gaps);
      longest.merge(logs[thread].longest);
      lost += logs[thread].lost;
      watched += elapsed(run.spans[thread].first, run.spans[thread].last);
      const int cpu = cpus[thread];
      cores.push_back(core_to_json(cpu, run.spans[thread], logs[thread]));
      cores.back()["steal_ns"] =
          difference(of_cpu(stolen_before_ns, cpu), of_cpu(stolen_after_ns, cpu));
      cores.back()["steal_period_ns"] = steal_period_ns;
    }
    outcome result{.values = run.values(of)};
    result.values["complete"] = true;
    result.values["gap_threshold_ns"] = threshold_ns;
    result.values["longest_ns"] = clock::ns(longest.longest_first()[0].length);
    result.values["lost_share"] = share_of(lost, watched, of.threads * of.bound.duration_s * 1e9);
    result.values["cores"] = std::move(cores);
    result.histograms["gap"] = gaps.to_json(clock::ns_per_tick());
    result.stalls = stalls_to_json(longest, run.start());
    return result;
  }
};

}  // namespace

study noise_study() {
  return {.name = "noise",
          .summary =
              "what the machine takes away without any lock: interrupts, other programs, "
              "the hypervisor",
          .place = 10,
          .default_run_s = 0.5,
          .default_budget_s = 5,
          .measures = subjects::machine,
          .cells = machine_cell<noise>()};
}

}  // namespace lockyard::harness
