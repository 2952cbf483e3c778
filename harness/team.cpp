// SPDX-License-Identifier: Apache-2.0
#include "team.hpp"

#include <sys/resource.h>

#include <algorithm>
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

/// Jain's index of the threads' acquisition rates: 1 when all are equal, 1/n when one has it all.
double jain_index(const std::vector<thread_span>& spans) {
  double sum = 0;
  double sum_of_squares = 0;
  for (const auto& span : spans) {
    const double time = clock::ns(std::max<ticks>(span.last - span.first, 1));
    const double rate = static_cast<double>(span.operations) / time;
    sum += rate;
    sum_of_squares += rate * rate;
  }
  if (sum_of_squares == 0) return 1;
  return sum * sum / (static_cast<double>(spans.size()) * sum_of_squares);
}

/// The part of the run in which every thread was between its first and its last operation.
double overlap_of(const team_run& run) {
  ticks last_start = 0;
  ticks first_end = std::numeric_limits<ticks>::max();
  for (const auto& span : run.spans) {
    last_start = std::max(last_start, span.first);
    first_end = std::min(first_end, span.last);
  }
  if (first_end <= last_start) return 0;
  return static_cast<double>(first_end - last_start) /
         static_cast<double>(std::max<ticks>(run.end() - run.start(), 1));
}

loop_limit limit_of(const run_bound& bound) {
  return {.operations = bound.loops.value_or(std::numeric_limits<std::uint64_t>::max()),
          .end = clock::now() + clock::from_ns(bound.duration_s * 1e9)};
}

}  // namespace

process_usage process_usage::now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .voluntary_switches = usage.ru_nvcsw,
          .involuntary_switches = usage.ru_nivcsw};
}

ticks team_run::start() const {
  return std::ranges::min_element(spans, {}, &thread_span::first)->first;
}
ticks team_run::end() const {
  return std::ranges::max_element(spans, {}, &thread_span::last)->last;
}

std::uint64_t team_run::operations() const {
  std::uint64_t total = 0;
  for (const auto& span : spans) total += span.operations;
  return total;
}

nlohmann::ordered_json team_run::values(const job& of) const {
  const double run_ns = clock::ns(end() - start());
  auto per_thread = nlohmann::ordered_json::array();
  bool complete = true;
  for (const auto& span : spans) {
    per_thread.push_back(span.operations);
    if (of.bound.loops) complete = complete && span.operations == *of.bound.loops;
  }
  return {{"run_ns", run_ns},
          {"complete", complete},
          {"operations", operations()},
          {"operations_per_thread", std::move(per_thread)},
          {"operations_per_s", static_cast<double>(operations()) / (run_ns * 1e-9)},
          {"overlap", overlap_of(*this)},
          {"fairness_jain", jain_index(spans)},
          {"cpu_ns", used.cpu_s * 1e9},
          {"voluntary_switches", used.voluntary_switches},
          {"involuntary_switches", used.involuntary_switches}};
}

team_run run_team(const job& of, const team_work& work) {
  const std::vector<int> cpus = place(of.pin, of.threads);
  team_run run{.spans = std::vector<thread_span>(of.threads), .used = {}};
  std::vector<std::optional<std::string>> failures(of.threads);
  std::latch gathered{static_cast<std::ptrdiff_t>(of.threads)};
  std::latch started{1};
  bool cancelled = false;
  loop_limit limit{};

  const auto member = [&](unsigned thread) {
    try {
      if (!cpus.empty()) pin_this_thread(cpus[thread]);
    } catch (const condition_error& error) {
      failures[thread] = error.what();
    }
    work.before(thread);
    gathered.count_down();
    started.wait();
    if (!cancelled) run.spans[thread] = work.loop(thread, limit);
  };
  std::vector<std::jthread> team;
  std::optional<std::string> failure;
  try {
    for (unsigned thread = 0; thread < of.threads; ++thread) team.emplace_back(member, thread);
  } catch (const std::system_error& error) {
    failure = "cannot have " + std::to_string(of.threads) + " threads, only " +
              std::to_string(team.size()) + ": " + error.what() +
              "; ask for fewer or raise the limit of processes";
    gathered.count_down(static_cast<std::ptrdiff_t>(of.threads - team.size()));
  }
  gathered.wait();
  for (const auto& each : failures) {
    if (each && !failure) failure = each;
  }
  work.gathered();
  cancelled = failure.has_value();
  const process_usage before = process_usage::now();
  limit = limit_of(of.bound);
  started.count_down();
  team.clear();
  if (failure) throw condition_error{*failure};
  const process_usage after = process_usage::now();
  run.used = {.cpu_s = after.cpu_s - before.cpu_s,
              .voluntary_switches = after.voluntary_switches - before.voluntary_switches,
              .involuntary_switches = after.involuntary_switches - before.involuntary_switches};
  return run;
}

nlohmann::ordered_json checks_of(const lock_traits& traits, bool refused_while_held,
                                 bool counter_is_exact) {
  if (!traits.excludes) return {{"refused_while_held", nullptr}, {"counter", nullptr}};
  return {{"refused_while_held", refused_while_held}, {"counter", counter_is_exact}};
}

nlohmann::ordered_json stalls_to_json(const longest_stalls& stalls, ticks start) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& each : stalls.longest_first()) {
    if (each.length == 0) break;
    list.push_back({{"thread", each.thread},
                    {"end_ns", clock::ns(each.at - start)},
                    {"length_ns", clock::ns(each.length)}});
  }
  return list;
}

}  // namespace lockyard::harness
