// SPDX-License-Identifier: Apache-2.0

// The amount of low-priority work that gets done next to threads that want a lock, in the gaps that
// they leave, and its cost to them. docs/studies/background.md gives definition and reading.

#include "../companion.hpp"
#include "../phased_contenders.hpp"
#include "../rate.hpp"
#include "../study.hpp"
#include "../whole_numbers.hpp"

#include <peers/all.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>

namespace lockyard::harness {

namespace {

/// The threads that work in a phase.
enum shift : unsigned { foreground, both, background, shifts };

/// Stands in place of a nice value for the policy idle, which ranks below all of them.
constexpr std::uint64_t idle_policy = 20;
constexpr std::uint32_t steps_of_unit = 5000;
constexpr std::chrono::milliseconds look_every{2};

using shift_books = books_of_kinds<shifts>;

schedule schedule_of_background(const job& of) {
  const std::uint64_t nice = whole_parameter(of, "background_nice");
  if (nice == idle_policy) return {.of = policy::idle};
  return {.of = policy::other, .nice = static_cast<int>(nice)};
}

/// A thread on each processor that this process may use, which computes and touches no memory.
class background_threads {
 public:
  /// Returns when all threads are in place. Throws condition_error.
  background_threads(const job& of, phases& stage, std::uint64_t loops)
      : stage_{stage}, loops_{loops} {
    const schedule under = schedule_of_background(of);
    for (const int cpu : usable_cpus()) {
      shift_books& books = books_.emplace_back();
      threads_.emplace_back(cpu, under, [this, &books] { take_part(books); });
    }
    for (companion& each : threads_) each.begin();
  }
  background_threads(const background_threads&) = delete;
  background_threads& operator=(const background_threads&) = delete;
  ~background_threads() { dismiss(); }

  /// Called when the phases are over or called off. If others want the processor, it may take a
  /// low-priority thread seconds to notice.
  void dismiss() noexcept {
    stage_.call_off();
    for (companion& each : threads_) each.hurry();
    for (companion& each : threads_) each.dismiss();
  }
  /// Returns the books of all threads, once they are dismissed.
  [[nodiscard]] shift_books books() const {
    shift_books sum;
    for (const shift_books& each : books_) sum.merge(each);
    return sum;
  }

 private:
  void take_part(shift_books& books) {
    for (unsigned next = 0; const auto in = stage_.follow(next); next = in->number + 1) {
      if (in->kind == foreground) continue;
      const bool is_alone = in->kind == background;
      books.keep(in->kind, [&] { return work_through(*in, is_alone); });
    }
  }

  /// Returns the units done while the phase lasted. Next to the foreground, it ends the phase.
  std::uint64_t work_through(const phases::phase& in, bool ends_it) {
    for (std::uint64_t done = 0;; ++done) {
      if (ends_it && done >= loops_) stage_.end(in);
      keep_busy(steps_of_unit);
      if (!stage_.lasts(in)) return done;
    }
  }

  phases& stage_;
  std::uint64_t loops_;
  std::deque<shift_books> books_;
  std::deque<companion> threads_;
};

/// What the threads of the foreground share.
struct background_scene : phased_contenders<shifts> {
  using phased_contenders::phased_contenders;

  thread_span take_part(unsigned thread, loop_limit limit, locking_phase& lock_phase) {
    const contended_state on = scene(limit.operations);
    thread_span span = go_through(thread, [&](const phases::phase& in, worker& own) {
      if (in.kind == background) {
        if (thread == 0) leave_alone(in);
        return;
      }
      books[thread].keep(in.kind, [&] { return lock_phase(on, own, thread, in, in.end); });
    });
    span.operations = books[thread].of[foreground].operations + books[thread].of[both].operations;
    return span;
  }

  /// The background keeps no time: a low-priority thread may lack the processor at the end.
  void leave_alone(const phases::phase& in) {
    while (stage.lasts(in) && clock::now() < in.end) std::this_thread::sleep_for(look_every);
    stage.end(in);
  }
};

nlohmann::ordered_json values_of(const job& of, const team_run& run, const phases& stage,
                                 const shift_books& front, const shift_books& back,
                                 unsigned processors) {
  const auto length_s = [&](shift kind) { return stage.length_ns_of(kind) * 1e-9; };
  const auto done = [](const shift_books& by, shift kind) {
    return static_cast<double>(by.of[kind].operations);
  };
  const auto cpu_share = [&](const shift_books& by, shift kind) {
    return quotient(by.of[kind].cpu_ns * 1e-9, processors * length_s(kind));
  };
  const double alone_per_s = done(front, foreground) / std::max(length_s(foreground), 1e-9);
  const double beside_per_s = done(front, both) / std::max(length_s(both), 1e-9);
  const double units_alone_per_s = done(back, background) / std::max(length_s(background), 1e-9);
  const double units_beside_per_s = done(back, both) / std::max(length_s(both), 1e-9);
  const std::uint64_t wanted = phases::rounds * of.bound.loops.value_or(0);
  return {{"run_ns", run.run_ns()},
          {"complete",
           front.of[foreground].operations >= wanted && front.of[both].operations >= wanted},
          {"operations", run.operations()},
          {"operations_per_s", alone_per_s},
          {"beside_operations_per_s", beside_per_s},
          {"foreground_kept", quotient(beside_per_s, alone_per_s)},
          {"units_per_s", units_alone_per_s},
          {"beside_units_per_s", units_beside_per_s},
          {"background_share", quotient(units_beside_per_s, units_alone_per_s)},
          {"processors", processors},
          {"cpu_share", cpu_share(front, foreground)},
          {"beside_cpu_share", cpu_share(front, both)},
          {"background_cpu_share", cpu_share(back, both)},
          {"voluntary_switches", run.used.voluntary_switches},
          {"involuntary_switches", run.used.involuntary_switches}};
}

outcome measure_background(const job& of, const subject& lock, locking_phase& lock_phase) {
  const work_request lengths{.hold_ns = of.parameter("hold_ns"),
                             .gap_ns = of.parameter("gap_ns"),
                             .kind = lengths::constant};
  const auto processors = static_cast<unsigned>(usable_cpus().size());
  background_scene scene{of, lock, lengths};
  background_threads helpers{of, scene.stage, of.bound.loops.value_or(UINT64_MAX)};
  refusal_check refusal{lock, scene.place.lock()};
  const team_run run = run_team_on(of, refusal, [&](unsigned thread, loop_limit limit) {
    return scene.take_part(thread, limit, lock_phase);
  });
  helpers.dismiss();
  outcome result{.values = values_of(of, run, scene.stage, scene.books_of(0, of.threads),
                                     helpers.books(), processors)};
  result.values["work_step_ns"] = to_json(scene.work.step_ns());
  result.checks = checks_of(lock, refusal, scene.place.data().counter == run.operations());
  return result;
}

struct background_work {
  template <class Lock>
  static outcome run(const job& of, const lock_traits& traits) {
    return measure_background(of, {traits, operations_on<Lock>}, lock_through<Lock>);
  }
};

}  // namespace

study background_study() {
  return {.name = "background",
          .summary =
              "how much low-priority work gets done next to threads that want a lock, and what it "
              "costs these threads",
          .place = 100,
          .default_run_s = 1.2,
          .default_budget_s = 12,
          .parameters = {{.name = "background_nice",
                          .unit = "",
                          .summary = "nice of the low-priority threads; 20: policy idle",
                          .least = 0,
                          .most = idle_policy,
                          .defaults = {19, idle_policy}},
                         {.name = "hold_ns",
                          .unit = "ns",
                          .summary = "time that a thread of the foreground holds the lock",
                          .least = 0,
                          .most = max_work_ns,
                          .defaults = {50'000}},
                         {.name = "gap_ns",
                          .unit = "ns",
                          .summary = "time without the lock before each call",
                          .least = 0,
                          .most = max_work_ns,
                          .defaults = {50'000}}},
          .cells = cells_of<background_work>()};
}

}  // namespace lockyard::harness
