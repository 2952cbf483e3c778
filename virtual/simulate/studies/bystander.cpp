// SPDX-License-Identifier: Apache-2.0

// The slowdown of a thread that works while others contend for a lock that it does not use.
// docs/studies/bystander.md defines the phases.

#include "contenders.hpp"

#include <loops/bystander.hpp>
#include <phase_order.hpp>

#include <array>

namespace lockyard::simulation {

namespace {

namespace loops = harness::loops;
using enum loops::meanwhile;

constexpr ps multiplication = 250 * us;  ///< without any company
constexpr ps step = 1 * us;              ///< of a busy thread, between two looks at the phase

/// Sums over the phases of a kind.
struct sums {
  ps spent = 0, used = 0, lasted = 0, others_used = 0;
  std::uint64_t multiplications = 0;

  [[nodiscard]] double mean_ns() const { return quotient(spent, multiplications) / ns; }
};

struct scene {
  scene(engine& on, const subject& type, const study_settings& of)
      : lock{on, type},
        data{on.memory().make<protected_word>()},
        gathering{on},
        members{of.threads},
        length{of.duration / (harness::phase_rounds * meanwhiles)},
        first_kind{static_cast<unsigned>(on.chance().next() % meanwhiles)} {}

  [[nodiscard]] unsigned kind() const {
    return harness::kind_of_phase(static_cast<unsigned>(number), meanwhiles, first_kind);
  }
  [[nodiscard]] bool lasts(int phase) const { return over <= phase; }

  lock_object lock;
  exclusion_check excludes;
  protected_word& data;
  bed gathering;
  int members, missing = 0, number = -1, over = 0;  ///< numbers of phases
  ps length, began = 0;
  unsigned first_kind;
  std::array<sums, meanwhiles> of_kind{};
  std::uint64_t operations = 0;
};

void end(engine& on, scene& in, int phase) {
  if (!in.lasts(phase)) return;
  in.over = phase + 1;
  in.of_kind[in.kind()].lasted += on.now() - in.began;
}

/// The bystander in a phase. A multiplication that others cut off counts only if it is the first of
/// its kind.
struct bystander_in_phase {
  [[nodiscard]] ps now() const { return on.now(); }
  [[nodiscard]] ps phase_length() const { return in.length; }
  void multiply() {
    used_before = on.processor_time(*on.self());
    on.compute(multiplication);
  }
  [[nodiscard]] bool counts() const { return lasts() || to.multiplications == 0; }
  void record(ps before, ps after) const {
    to.spent += after - before, to.used += on.processor_time(*on.self()) - used_before;
    ++to.multiplications;
  }
  static bool has_turns_left() { return true; }
  void end_phase() const { end(on, in, phase); }
  [[nodiscard]] bool lasts() const { return in.lasts(phase); }

  engine& on;
  scene& in;
  int phase;
  sums& to = in.of_kind[in.kind()];
  ps used_before = 0;
};

/// Another thread in a phase, and the lock as it finds it. It ends a phase that is overdue by its
/// own length, because the others may keep the bystander off its processor.
struct companion_in_phase {
  void lock() const {
    in.lock.lock();
    in.excludes.enter(on);
  }
  void unlock() const {
    in.excludes.leave(on);
    in.lock.unlock();
  }

  [[nodiscard]] bool lasts() const { return in.lasts(phase); }
  [[nodiscard]] bool is_overdue() const { return on.now() >= latest; }
  void end_phase() const { end(on, in, phase); }
  void keep_busy() const { on.compute(step); }
  void stay_away() const { mine.work(of.gap); }
  void enter() const { in.data.add_one(); }
  void hold() const { mine.work(of.hold); }
  void complete() const { ++in.operations; }
  void complete_step() const {}

  engine& on;
  scene& in;
  int phase;
  worker& mine;
  const study_settings& of;
  ps latest = in.began + 2 * in.length;
};

void accompany(engine& on, scene& in, int phase, worker& mine, const study_settings& of) {
  const unsigned kind = in.kind();
  if (kind == alone) return;
  const ps used_before = on.processor_time(*on.self());
  companion_in_phase self{on, in, phase, mine, of};
  if (kind == busy) {
    loops::keep_busy_through(self);
  } else {
    loops::contend_through(self, self);
  }
  in.of_kind[kind].others_used += on.processor_time(*on.self()) - used_before;
}

void take_part(engine& on, scene& in, int number, const study_settings& of, std::uint64_t seed) {
  worker mine{on, of, seed};
  const int phases = static_cast<int>(harness::phase_rounds * meanwhiles);
  for (int phase = 0; phase < phases; ++phase) {
    if (++in.missing == in.members) {
      in.missing = 0, in.number = phase, in.began = on.now();
      in.gathering.wake(in.members);
    } else {
      in.gathering.sleep_until([&] { return in.number >= phase; });
    }
    if (number == 0) {
      bystander_in_phase self{on, in, phase};
      loops::multiply_through(self);
    } else {
      accompany(on, in, phase, mine, of);
    }
  }
  if (number == 0) on.stop();
}

}  // namespace

named_values run_bystander(engine& on, const subject& lock, const study_settings& of) {
  scene in{on, lock, of};
  const std::uint64_t seed = on.chance().next();
  start_threads(on, of, [&](int number) {
    take_part(on, in, number, of, seed + static_cast<std::uint64_t>(number));
  });
  on.run(10 * of.duration);
  const auto& [by_itself, with_busy, with_lock] = in.of_kind;
  if (with_lock.multiplications == 0 || with_busy.multiplications == 0 ||
      by_itself.multiplications == 0) {
    throw simulation_error{"the bystander never had a processor; give it one: fewer threads"};
  }
  const double alone_cpu = quotient(by_itself.used, by_itself.multiplications);
  return {{"slowdown", with_lock.mean_ns() / by_itself.mean_ns()},
          {"slowdown_busy", with_busy.mean_ns() / by_itself.mean_ns()},
          {"slowdown_cpu", quotient(with_lock.used, with_lock.multiplications) / alone_cpu},
          {"alone_ns", by_itself.mean_ns()},
          {"operations_per_s", quotient(in.operations, with_lock.lasted) * ns * ns_per_s},
          {"cpu_share", quotient(with_lock.others_used, with_lock.lasted * (of.threads - 1))}};
}

}  // namespace lockyard::simulation
