// SPDX-License-Identifier: Apache-2.0
#include "team.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

namespace lockyard::harness {

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// Makes the team start together. Threads that are woken one after the other would start one after
/// the other; so each reports that it runs, and all wait, runnable, until every thread does.
class starting_line {
 public:
  starting_line(unsigned threads, policy under) : missing_{threads}, under_{under} {}

  /// Called by each thread. Returns nullopt if the run is called off.
  std::optional<loop_limit> await_start() {
    woken_.wait();
    // order[ready]: release; pairs [all_ready]; publishes only the arrival itself.
    missing_.fetch_sub(1, std::memory_order_release);
    // order[seen_start]: acquire; pairs [start]; makes the limit readable.
    while (!started_.load(std::memory_order_acquire)) let_others_run();
    return limit_;
  }

  /// Called by the starter.
  void start(const run_bound& bound) {
    woken_.count_down();
    // order[all_ready]: acquire; pairs [ready]; every thread runs.
    while (missing_.load(std::memory_order_acquire) != 0) sched_yield();
    limit_ = {.operations = bound.loops.value_or(std::numeric_limits<std::uint64_t>::max()),
              .end = clock::now() + clock::from_ns(bound.duration_s * 1e9)};
    // order[start]: release; pairs [seen_start]; publishes the limit.
    started_.store(true, std::memory_order_release);
  }

  /// Called by the starter instead: the threads that exist return with nullopt.
  void call_off() {
    // relaxed(unpublished): the latch below publishes it.
    started_.store(true, std::memory_order_relaxed);
    woken_.count_down();
  }

 private:
  /// Under deadline a yield gives the rest of the period away.
  void let_others_run() const {
    constexpr timespec briefly{.tv_sec = 0, .tv_nsec = 20'000};
    if (under_ == policy::deadline) {
      clock_nanosleep(CLOCK_MONOTONIC, 0, &briefly, nullptr);
    } else {
      sched_yield();
    }
  }

  std::latch woken_{1};
  std::atomic<unsigned> missing_;
  policy under_;
  std::atomic<bool> started_{false};
  std::optional<loop_limit> limit_;
};

process_usage since(const process_usage& before) {
  const process_usage now = process_usage::now();
  return {.cpu_s = now.cpu_s - before.cpu_s,
          .voluntary_switches = now.voluntary_switches - before.voluntary_switches,
          .involuntary_switches = now.involuntary_switches - before.involuntary_switches};
}

std::string too_many_threads(unsigned wanted, std::size_t had, const char* cause) {
  return "only " + std::to_string(had) + " of " + std::to_string(wanted) +
         " threads could be started (" + cause +
         "), so nothing was measured; ask for fewer, or raise the limit of processes";
}

}  // namespace

double cpu_ns(clockid_t of) noexcept {
  timespec used{};
  clock_gettime(of, &used);
  return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}

process_usage process_usage::now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .voluntary_switches = usage.ru_nvcsw,
          .involuntary_switches = usage.ru_nivcsw};
}

double team_run::share_of(ticks part) const {
  const ticks whole = std::max<ticks>(elapsed(start_of(spans), end_of(spans)), 1);
  return static_cast<double>(part) / static_cast<double>(whole);
}

double team_run::run_ns() const {
  return std::max(clock::ns(elapsed(start_of(spans), end_of(spans))), 1.0);
}

double team_run::cpu_share() const {
  return used.cpu_s * 1e9 / run_ns() / static_cast<double>(spans.size());
}

nlohmann::ordered_json team_run::values(const job& of) const {
  auto per_thread = nlohmann::ordered_json::array();
  bool complete = true;
  unsigned took_part = 0;
  for (const auto& span : spans) {
    per_thread.push_back(span.operations);
    complete = complete && span.operations >= of.bound.loops.value_or(0);
    if (span.operations > 0) ++took_part;
  }
  return {{"run_ns", run_ns()},
          {"complete", complete},
          {"operations", operations()},
          {"operations_per_thread", std::move(per_thread)},
          {"threads_that_took_part", took_part},
          {"operations_per_s", static_cast<double>(operations()) / (run_ns() * 1e-9)},
          {"overlap", overlap_of(spans)},
          {"fairness_jain", jain_index(spans, of.bound.loops.has_value())},
          {"cpu_ns", used.cpu_s * 1e9},
          {"voluntary_switches", used.voluntary_switches},
          {"involuntary_switches", used.involuntary_switches}};
}

void take_place(const job& of, const std::vector<int>& cpus, unsigned thread) {
  leave_room(of.under, of.threads, processors_of(cpus));
  if (!cpus.empty()) pin_this_thread(cpus[thread]);
  run_under(of.under);
  if (of.around.timer_slack_ns) set_timer_slack(*of.around.timer_slack_ns);
}

team_run run_team(const job& of, const team_work& work) {
  const std::vector<int> cpus = place(of.pin, of.threads);
  team_run run{.spans = std::vector<thread_span>(of.threads), .used = {}};
  std::vector<std::optional<std::string>> failures(of.threads);
  std::latch gathered{static_cast<std::ptrdiff_t>(of.threads)};
  starting_line line{of.threads, of.under.of};

  const auto member = [&](unsigned thread) {
    try {
      take_place(of, cpus, thread);
    } catch (const condition_error& error) {
      failures[thread] = error.what();
    }
    work.before(thread);
    gathered.count_down();
    if (const auto limit = line.await_start()) run.spans[thread] = work.loop(thread, *limit);
  };
  std::vector<std::jthread> team;
  team.reserve(of.threads);
  std::optional<std::string> failure;
  try {
    for (unsigned thread = 0; thread < of.threads; ++thread) team.emplace_back(member, thread);
  } catch (const std::system_error& error) {
    failure = too_many_threads(of.threads, team.size(), error.what());
    gathered.count_down(static_cast<std::ptrdiff_t>(of.threads - team.size()));
  }
  gathered.wait();
  for (const auto& each : failures) {
    if (each && !failure) failure = each;
  }
  work.gathered();
  // Real-time threads that wait at the line would keep a lower-ranked starter from releasing them.
  if (!failure && of.under.is_real_time()) run_under(of.under);
  if (failure) {
    line.call_off();
  } else {
    line.start(of.bound);
  }
  const process_usage before = process_usage::now();
  team.clear();
  if (failure) throw condition_error{*failure};
  run.used = since(before);
  return run;
}

nlohmann::ordered_json to_json(std::optional<double> value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json stalls_to_json(const longest_stalls& stalls, ticks start) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& each : stalls.longest_first()) {
    if (each.length == 0) break;
    list.push_back({{"thread", each.thread},
                    {"end_ns", clock::ns(elapsed(start, each.at))},
                    {"length_ns", clock::ns(each.length)}});
  }
  return list;
}

}  // namespace lockyard::harness
