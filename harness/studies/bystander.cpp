// SPDX-License-Identifier: Apache-2.0

// The slowdown of a thread that multiplies matrices while others contend for a lock whose cache
// line it never touches. docs/studies/bystander.md gives definition and reading.

#include "../loops/bystander.hpp"
#include "../histogram.hpp"
#include "../matrices.hpp"
#include "../phased_contenders.hpp"
#include "../rate.hpp"
#include "../study.hpp"
#include "../whole_numbers.hpp"

#include <peers/all.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

namespace lockyard::harness {

namespace {

using enum loops::meanwhile;

constexpr std::array<std::string_view, meanwhiles> meanwhile_names{"alone", "busy", "banging"};

/// After this time the others end a phase, because they may keep the bystander off its processor.
constexpr double patience_ns = 5e8;
constexpr std::uint32_t steps_between_looks = 1000;

/// The bystander's own measurements.
struct bystander_log {
  merged_histogram timings;
  ticks spent = 0;
  double cpu_ns = 0;
  std::uint64_t multiplications = 0;

  /// Returns the mean time of a multiplication in each phase.
  [[nodiscard]] nlohmann::ordered_json mean_ns() const {
    return quotient(clock::ns(spent), static_cast<double>(multiplications));
  }
  [[nodiscard]] nlohmann::ordered_json mean_cpu_ns() const {
    return quotient(cpu_ns, static_cast<double>(multiplications));
  }
};

using bystander_logs = std::array<bystander_log, meanwhiles>;

/// The bystander in a phase.
struct bystander_in_phase {
  [[nodiscard]] static ticks now() noexcept { return clock::now(); }
  [[nodiscard]] ticks phase_length() const noexcept { return stage.length(); }
  void multiply() noexcept { on.multiply(); }
  /// A multiplication during which others ended the phase does not count.
  [[nodiscard]] bool counts() noexcept {
    cpu_after_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    return stage.lasts(in);
  }
  void record(ticks before, ticks after) noexcept {
    log.timings.add(elapsed(before, after));
    log.spent += elapsed(before, after);
    log.cpu_ns += cpu_after_ns - cpu_before_ns;
    cpu_before_ns = cpu_after_ns;
    ++log.multiplications;
    ++done;
  }
  [[nodiscard]] bool has_turns_left() const noexcept { return done < most; }
  void end_phase() noexcept { stage.end(in); }
  [[nodiscard]] bool lasts() const noexcept { return stage.lasts(in); }

  matrices& on;
  phases& stage;
  const phases::phase& in;
  std::uint64_t most;
  bystander_log& log;
  std::uint64_t done = 0;
  double cpu_before_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
  double cpu_after_ns = 0;
};

/// Another thread in a phase without a lock.
struct busy_in_phase {
  [[nodiscard]] bool lasts() const noexcept { return stage.lasts(in); }
  [[nodiscard]] bool is_overdue() const noexcept { return clock::now_early() >= end; }
  void end_phase() noexcept { stage.end(in); }
  static void keep_busy() noexcept { harness::keep_busy(steps_between_looks); }
  void complete_step() noexcept { ++done; }

  phases& stage;
  const phases::phase& in;
  ticks end;
  std::uint64_t done = 0;
};

/// What the threads of a run share.
struct bystander_scene : phased_contenders<meanwhiles> {
  bystander_scene(const job& of, const subject& lock)
      : phased_contenders{of, lock, of.work},
        multiplied{whole_parameter(of, "matrix_rows"), of.seed} {}

  /// Run by the first thread.
  thread_span stand_by(loop_limit limit) {
    return go_through(0, [&](const phases::phase& in, worker&) {
      bystander_in_phase self{multiplied, stage, in, limit.operations, logs[in.kind]};
      loops::multiply_through(self);
    });
  }

  /// Run by all other threads.
  thread_span bang(unsigned thread, locking_phase& bang_through) {
    const contended_state on = scene(UINT64_MAX);
    thread_span span = go_through(thread, [&](const phases::phase& in, worker& own) {
      if (in.kind == alone) return;
      const ticks end = in.end + std::max(stage.length(), clock::from_ns(patience_ns));
      books[thread].keep(in.kind, [&] {
        if (in.kind == banging) return bang_through(on, own, thread, in, end);
        busy_in_phase self{stage, in, end};
        loops::keep_busy_through(self);
        return self.done;
      });
    });
    span.operations = books[thread].of[banging].operations;
    return span;
  }

  matrices multiplied;
  bystander_logs logs{};
};

nlohmann::ordered_json ratio_of(const nlohmann::ordered_json& of,
                                const nlohmann::ordered_json& to) {
  if (of.is_null() || to.is_null()) return nullptr;
  return quotient(of.get<double>(), to.get<double>());
}

/// Tells, for a run bounded by loops, whether the bystander completed them in each phase.
bool bystander_is_complete(const job& of, const bystander_logs& logs) {
  return std::ranges::all_of(logs, [&](const bystander_log& log) {
    return log.multiplications >= phases::rounds * of.bound.loops.value_or(0);
  });
}

void report_bystander(outcome& to, const bystander_logs& logs) {
  std::uint64_t multiplications = 0;
  for (const bystander_log& log : logs) multiplications += log.multiplications;
  to.values["multiplications"] = multiplications;
  for (unsigned kind = alone; kind < meanwhiles; ++kind) {
    const std::string name{meanwhile_names[kind]};
    to.values[name + "_ns"] = logs[kind].mean_ns();
    to.values[name + "_cpu_ns"] = logs[kind].mean_cpu_ns();
    to.histograms[name] = logs[kind].timings.to_json(clock::ns_per_tick());
  }
  to.values["slowdown"] = ratio_of(logs[banging].mean_ns(), logs[alone].mean_ns());
  to.values["slowdown_busy"] = ratio_of(logs[busy].mean_ns(), logs[alone].mean_ns());
  to.values["slowdown_cpu"] = ratio_of(logs[banging].mean_cpu_ns(), logs[alone].mean_cpu_ns());
}

outcome measure_bystander(const job& of, const subject& lock, locking_phase& bang_through) {
  const auto scene = std::make_unique<bystander_scene>(of, lock);
  refusal_check refusal{lock, scene->place.lock()};
  const team_run run = run_team_on(of, refusal, [&](unsigned thread, loop_limit limit) {
    return thread == 0 ? scene->stand_by(limit) : scene->bang(thread, bang_through);
  });
  const books_of_kinds<meanwhiles> bangers = scene->books_of(1, of.threads);
  const double banging_s = scene->stage.length_ns_of(banging) * 1e-9;
  outcome result;
  result.values = {
      {"run_ns", run.run_ns()},
      {"complete", bystander_is_complete(of, scene->logs)},
      {"operations", run.operations()},
      {"operations_per_s", quotient(static_cast<double>(run.operations()), banging_s)},
      {"cpu_share", quotient(bangers.of[banging].cpu_ns * 1e-9, banging_s * (of.threads - 1))},
      {"voluntary_switches", run.used.voluntary_switches},
      {"involuntary_switches", run.used.involuntary_switches}};
  report_bystander(result, scene->logs);
  result.checks = checks_of(lock, refusal, scene->place.data().counter == run.operations());
  result.checks["product"] = scene->multiplied.product_is_right();
  return result;
}

struct bystander {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure_bystander(of, {traits, operations_on<Lock>}, lock_through<Lock>);
  }
};

}  // namespace

study bystander_study() {
  return {.name = "bystander",
          .summary =
              "how much slower a thread multiplies matrices while others contend for a lock whose "
              "cache "
              "line it never touches",
          .place = 90,
          .default_run_s = 0.6,
          .default_budget_s = 6,
          .takes = times::hold_and_gap,
          .parameters = {{.name = "matrix_rows",
                          .unit = "rows",
                          .summary = "rows and columns of the matrices that are multiplied",
                          .least = 2,
                          .most = 512,
                          .defaults = {128}}},
          .cells = cells_of<bystander>()};
}

}  // namespace lockyard::harness
