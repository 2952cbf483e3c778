// SPDX-License-Identifier: Apache-2.0

// How many operations common uses of locks permit: several locks, data behind one lock, locks that
// are tried. docs/studies/patterns.md gives definition and reading.

#include "../patterns/pattern.hpp"
#include "../rate.hpp"
#include "../study.hpp"
#include "../subject.hpp"
#include "../team.hpp"

#include <peers/all.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace lockyard::harness {

namespace {

constexpr std::string_view working_set = "working_set_kib";
constexpr std::size_t line_bytes = 64;
/// Lines of its working set that a thread reads before each operation.
constexpr unsigned lines_read = 32;
/// An operation takes about this long besides the requested work: it decides how often a thread
/// looks at the clock.
constexpr double step_ns = 500;

const std::vector<listed_pattern>& all_patterns() {
  static const std::vector<listed_pattern> patterns = [] {
    std::vector<listed_pattern> found = lock_patterns();
    std::ranges::copy(structure_patterns(), std::back_inserter(found));
    std::ranges::copy(waiting_patterns(), std::back_inserter(found));
    return found;
  }();
  return patterns;
}

/// A thread's own data, which it reads between operations. After a switch they are no longer in
/// its cache. Each line names the next one to read: a walk through all of them in random order.
class own_data {
 public:
  own_data(unsigned kib, std::uint64_t seed)
      : next_(std::size_t{kib} * 1024 / line_bytes * words_per_line) {
    const std::size_t lines = next_.size() / words_per_line;
    std::vector<std::uint32_t> order(lines);
    std::iota(order.begin(), order.end(), 0U);
    xorshift draws{mixed(seed)};
    for (std::size_t i = lines; i > 1; --i) std::swap(order[i - 1], order[draws.next() % i]);
    for (std::size_t i = 0; i < lines; ++i) {
      next_[order[i] * words_per_line] = order[(i + 1) % lines];
    }
  }

  void read_some() noexcept {
    if (next_.empty()) return;
    for (unsigned i = 0; i < lines_read; ++i) at_ = next_[at_ * words_per_line];
  }

 private:
  static constexpr std::size_t words_per_line = line_bytes / sizeof(std::uint32_t);

  std::vector<std::uint32_t> next_;
  std::size_t at_ = 0;
};

struct pattern_scene {
  pattern& of;
  closing_time closing;
};

thread_span pattern_loop(pattern_scene& on, pattern_thread& by, own_data& data, loop_limit limit) {
  thread_span span{.first = clock::now()};
  for (; span.operations < limit.operations && !on.closing.has_come(span.operations, limit.end);
       ++span.operations) {
    data.read_some();
    by.work.stay_away();
    on.of.step(by);
  }
  span.last = clock::now();
  on.of.end();
  return span;
}

/// The control that stands for the lock-free counterpart of the data.
constexpr std::string_view without_lock = "lock_free";

std::unique_ptr<pattern> pattern_for(const job& of, const subject& lock,
                                     const listed_pattern& chosen) {
  if (lock.traits.name != without_lock) return chosen.make(of, lock);
  if (auto found = lock_free_counterpart(chosen.name, of, lock)) return found;
  throw condition_error{"the workload " + std::string{chosen.name} +
                        " has no lock-free counterpart here; measure lock_free with "
                        "--workload one_apart,list,queue"};
}

outcome measure_pattern(const job& of, const subject& lock) {
  const listed_pattern& chosen =
      *std::ranges::find(all_patterns(), of.choice("workload"), &listed_pattern::name);
  const std::unique_ptr<pattern> used = pattern_for(of, lock, chosen);
  const workload work{of.work, of.threads, of.seed};
  work_request step = of.work;
  step.gap_ns += step_ns;
  pattern_scene scene{.of = *used, .closing = closing_time{step}};
  std::vector<pattern_thread> threads;
  std::vector<own_data> data;
  for (unsigned i = 0; i < of.threads; ++i) {
    threads.push_back({.number = i, .work = work.of(i), .draws = xorshift{mixed(of.seed + i)}});
    data.emplace_back(of.count(working_set), of.seed + i);
  }
  refusal_check refusal{lock, used->main_lock()};
  const team_run run = run_team_on(of, refusal, [&](unsigned thread, loop_limit limit) {
    pattern_thread by = threads[thread];  // on its own stack, apart from the others'
    const thread_span span = pattern_loop(scene, by, data[thread], limit);
    threads[thread].skipped = by.skipped;
    return span;
  });
  std::uint64_t skipped = 0;
  for (const pattern_thread& each : threads) skipped += each.skipped;
  const std::uint64_t done = run.operations() - skipped;

  outcome result = rate_outcome(of, run, nullptr);
  result.values["operations_per_s"] = static_cast<double>(done) / (run.run_ns() * 1e-9);
  result.values["skipped"] = skipped;
  result.values["skipped_share"] =
      static_cast<double>(skipped) /
      static_cast<double>(std::max<std::uint64_t>(run.operations(), 1));
  result.values["acquisitions_per_operation"] = chosen.acquisitions;
  result.values["work_step_ns"] = to_json(work.step_ns());
  result.checks = checks_of(lock, refusal, used->is_whole(done));
  if (lock.traits.name == without_lock) result.checks["counter"] = used->is_whole(done);
  return result;
}

struct patterns {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure_pattern(of, {traits, operations_on<Lock>});
  }
};

std::vector<listed_choice> choices() {
  std::vector<listed_choice> found;
  for (const listed_pattern& each : all_patterns()) {
    found.push_back({.name = each.name, .group = each.group});
  }
  return found;
}

}  // namespace

study patterns_study() {
  return {.name = "patterns",
          .summary =
              "throughput of common uses of locks: several locks, lists, maps, caches, conditions, "
              "try_lock",
          .place = 52,
          .default_run_s = 0.1,
          .default_budget_s = 1,
          .takes = times::hold_and_gap,
          .parameters = {{.name = "workload",
                          .type = parameter_type::choice,
                          .summary = "how locks are used",
                          .choices = choices()},
                         {.name = working_set,
                          .type = parameter_type::count,
                          .unit = "KiB",
                          .summary = "data that each thread reads between its operations",
                          .least = 0,
                          .most = 65'536,
                          .defaults = {0}}},
          .cells = cells_of<patterns>()};
}

}  // namespace lockyard::harness
