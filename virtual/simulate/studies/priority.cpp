// SPDX-License-Identifier: Apache-2.0

// How long an urgent thread waits for a lock held by less urgent threads, while a thread in between
// keeps these off the processor. docs/studies/priority.md defines the ranks and the loops.

#include "contenders.hpp"

#include <loops/priority.hpp>
#include <priority/rules.hpp>

#include <memory>
#include <utility>

namespace lockyard::simulation {

namespace {

namespace loops = harness::loops;
namespace rules = harness::priority_rules;

constexpr int stage = 0;  ///< the processor on which all of it happens
constexpr ps busy_step = 10 * us;

/// The ranks of docs/studies/priority.md.
struct ranks {
  rank high, hog, low, rescuer;
};
constexpr ranks strict{{.priority = 2}, {.priority = 1}, {.priority = 0}, {.priority = 3}};
constexpr ranks by_nice{{.nice = 0}, {.nice = 9}, {.nice = 19}, {}};

struct scene {
  scene(engine& on, const subject& type)
      : lock{on, type}, data{on.memory().make<protected_word>()}, aside{on}, naps{on}, looks{on} {}

  lock_object lock;
  exclusion_check excludes;
  protected_word& data;
  bed aside, naps, looks;
  thread* high = nullptr;
  thread* hog = nullptr;
  ps waits_since = never;
  bool is_being_rescued = false;

  harness::merged_histogram waits;
  ps waited = 0, longest = 0, longest_inversion = 0;
  std::uint64_t calls = 0, inverted = 0, rescues = 0, low_operations = 0;
};

void make_way(scene& in) {
  while (in.is_being_rescued) in.aside.sleep_for(to_ps(rules::look_from_aside_every_ns));
}

/// A high or a low thread, and the lock as it finds it.
struct contender {
  void lock() const {
    in.lock.lock();
    in.excludes.enter(on);
  }
  void unlock() const {
    in.excludes.leave(on);
    in.lock.unlock();
  }
  void enter() const { in.data.add_one(); }

  engine& on;
  scene& in;
  const study_settings& of;
};

struct high_thread : contender {
  [[nodiscard]] bool goes_on() const { return on.now() < of.duration; }
  void sleep_for_an_interval() {
    in.naps.sleep_for(scaled_by(of.interval, rules::interval_part(chance.uniform())));
  }
  [[nodiscard]] ps hog_used() const { return in.hog != nullptr ? on.processor_time(*in.hog) : 0; }
  static ps read_clock() { return simulation::read_clock(); }
  static ps read_clock_early() { return simulation::read_clock(); }
  void begin_wait(ps called) const { in.waits_since = called; }
  void end_wait() const {
    in.waits_since = never;
    if (std::exchange(in.is_being_rescued, false)) on.change_priority(*on.self(), priority);
  }
  void record(ps called, ps acquired, ps hog_ran) const {
    const ps waited = acquired - called;
    ++in.calls, in.waited += waited, in.longest = std::max(in.longest, waited);
    in.waits.add(static_cast<std::uint64_t>(waited / ns));
    if (hog_ran > 0) ++in.inverted, in.longest_inversion = std::max(in.longest_inversion, hog_ran);
  }

  random_source chance;
  int priority = on.self()->own.priority;
};

struct low_thread : contender {
  static bool goes_on() { return true; }
  void stay_away() const {
    if (of.gap > 0) on.compute(of.gap);
  }
  void make_way() const { simulation::make_way(in); }
  void hold() const {
    if (of.hold > 0) on.compute(of.hold);
  }
  void complete() const { ++in.low_operations; }
};

struct hog_thread {
  [[nodiscard]] ps now() const { return on.now(); }
  static bool goes_on(ps /*begin*/) { return true; }
  void sleep_until(ps end) const { in.naps.sleep_for(std::max<ps>(end - on.now(), 0)); }
  [[nodiscard]] bool may_work() const { return !in.is_being_rescued; }
  void work() const { on.compute(busy_step); }
  void make_way() const { simulation::make_way(in); }

  engine& on;
  scene& in;
};

void be_high(engine& on, scene& in, const study_settings& of, random_source chance) {
  high_thread self{{on, in, of}, chance};
  loops::measure_urgent_waits(self, self);
}

void be_low(engine& on, scene& in, const study_settings& of) {
  low_thread self{{on, in, of}};
  loops::keep_holding(self, self);
}

void be_hog(engine& on, scene& in, const study_settings& of) {
  const ps period = to_ps(rules::hog_period_ns);
  hog_thread self{on, in};
  loops::sleep_and_work(self, period, scaled_by(period, 1 - of.hog_share));
}

void be_rescuer(engine& on, scene& in, ps after) {
  for (;;) {
    in.looks.sleep_for(to_ps(rules::look_every_ns));
    if (in.is_being_rescued || on.now() - after < in.waits_since) continue;
    in.is_being_rescued = true;
    ++in.rescues;
    on.change_priority(*in.high, 0);
  }
}

}  // namespace

named_values run_priority(engine& on, const subject& lock, const study_settings& of) {
  const auto in_place = std::make_unique<scene>(on, lock);  // histograms are large
  scene& in = *in_place;
  const bool is_strict = on.has_strict_priorities();
  const ranks& of_threads = is_strict ? strict : by_nice;
  const auto start = [&](const rank& own, auto body) -> thread& {
    thread& made = on.spawn(body, stage, 0, own);
    made.pinned_to = stage;
    return made;
  };
  const random_source chance{on.chance().next()};
  for (int i = 1; i < of.threads; ++i) start(of_threads.low, [&] { be_low(on, in, of); });
  if (of.hog_share > 0) in.hog = &start(of_threads.hog, [&] { be_hog(on, in, of); });
  in.high = &start(of_threads.high, [&] { be_high(on, in, of, chance); });
  if (is_strict) {
    const ps after =
        to_ps(rules::rescued_after_ns(in_ns(of.hold), static_cast<unsigned>(of.threads)));
    const int elsewhere = (stage + 1) % on.shape().processors;
    on.spawn([&, after] { be_rescuer(on, in, after); }, elsewhere, 0, of_threads.rescuer);
  }
  on.run(of.duration);
  if (in.waits_since < on.now()) in.longest = std::max(in.longest, on.now() - in.waits_since);
  const double seconds = in_ns(of.duration) / ns_per_s;
  return {{"wait_mean_ns", quotient(in.waited, in.calls) / ns},
          {"wait_median_ns", quantile(in.waits, 0.5)},
          {"wait_p99_ns", quantile(in.waits, 0.99)},
          {"wait_max_ns", in_ns(in.longest)},
          {"inverted_share", quotient(in.inverted, in.calls)},
          {"inversion_max_ns", in_ns(in.longest_inversion)},
          {"rescues", static_cast<double>(in.rescues)},
          {"low_operations_per_s", static_cast<double>(in.low_operations) / seconds},
          {"hog_cpu_share", in.hog != nullptr ? quotient(in.hog->used, of.duration) : 0}};
}

}  // namespace lockyard::simulation
