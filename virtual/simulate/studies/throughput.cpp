// SPDX-License-Identifier: Apache-2.0

// Rates for a given time: threads alternate between work without the lock and work with it. The
// studies throughput and wait, and contention, which draws both from exponential distributions and
// counts the work that the threads do together. harness/loops has their loops.

#include "contenders.hpp"

#include <loops/rate.hpp>
#include <loops/wait.hpp>

#include <memory>

namespace lockyard::simulation {

namespace {

namespace loops = harness::loops;

/// What the threads of a run share and record.
struct scene {
  scene(engine& on, const subject& type, const study_settings& of)
      : lock{on, type},
        data{on.memory().make<protected_word>()},
        operations(static_cast<std::size_t>(of.threads)),
        called_at(operations.size(), never),
        waits{std::make_unique<harness::merged_histogram>()} {}

  lock_object lock;
  exclusion_check excludes;
  protected_word& data;
  std::vector<std::uint64_t> operations;
  ps worked = 0;              ///< by all threads, with the lock and without it
  std::vector<ps> called_at;  ///< the thread waits since then
  std::unique_ptr<harness::merged_histogram> waits;
  ps longest = 0, waiting = 0, elapsed = 0;
  std::uint64_t acquisitions = 0, owner_switches = 0;
  int last_owner = -1;
};

/// A thread in the loops, and the lock as it finds it. Observation costs no virtual time, but
/// each clock read does.
class contender {
 public:
  contender(engine& on, scene& in, const study_settings& of, int number, std::uint64_t seed)
      : on_{on}, in_{in}, of_{of}, number_{number}, mine_{on, of, seed} {}

  // The lock
  void lock() {
    const ps called = in_.called_at[index()] = on_.now();
    in_.lock.lock();
    in_.called_at[index()] = never;
    in_.excludes.enter(on_);
    waited_ = on_.now() - called;
    ++in_.acquisitions;
    if (in_.last_owner != number_) ++in_.owner_switches;
    in_.last_owner = number_;
  }
  void unlock() {
    in_.excludes.leave(on_);
    in_.lock.unlock();
  }

  // The contender
  [[nodiscard]] ps began() const { return on_.now(); }
  bool goes_on() {
    began_ = on_.now();
    return began_ < of_.duration;
  }
  static bool has_turns_left() { return true; }
  bool is_before_end(ps /*acquired*/) { return goes_on(); }
  void stay_away() { worked_ = mine_.work(of_.gap); }
  static ps read_clock() { return simulation::read_clock(); }
  static ps read_clock_early() { return simulation::read_clock(); }
  void add_wait(ps called, ps acquired) { waited_ = acquired - called; }
  void enter() { in_.data.add_one(); }
  void hold() { worked_ += mine_.work(of_.hold); }
  void complete() {
    if (began_ < of_.warm_up) return;
    ++in_.operations[index()];
    in_.longest = std::max(in_.longest, waited_);
    in_.waiting += waited_, in_.elapsed += on_.now() - began_;
    in_.waits->add(static_cast<std::uint64_t>(waited_ / ns));
    in_.worked += worked_;
  }
  void record(ps called, ps acquired) {
    add_wait(called, acquired);
    complete();
  }

 private:
  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(number_); }

  engine& on_;
  scene& in_;
  const study_settings& of_;
  int number_;
  worker mine_;
  ps began_ = 0, waited_ = 0, worked_ = 0;  ///< the turn in progress
};

/// Runs `loop` on each thread.
template <class Loop>
named_values run(engine& on, const subject& lock, const study_settings& of, Loop loop) {
  scene in{on, lock, of};
  const std::uint64_t seed = on.chance().next();
  start_threads(on, of, [&](int number) {
    contender self{on, in, of, number, seed + static_cast<std::uint64_t>(number) * 0x9E37'79B9U};
    loop(self);
  });
  on.run(of.duration);
  for (const ps since : in.called_at) {
    if (since < on.now()) in.longest = std::max(in.longest, on.now() - since);
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t each : in.operations) sum += each;
  const double seconds = static_cast<double>(of.duration - of.warm_up) / (ns_per_s * ns);
  return {{"operations_per_s", static_cast<double>(sum) / seconds},
          {"fairness", fairness_of(in.operations)},
          {"wait_median_ns", quantile(*in.waits, 0.5)},
          {"wait_p99_ns", quantile(*in.waits, 0.99)},
          {"wait_max_ns", in_ns(in.longest)},
          {"waiting_share", quotient(in.waiting, in.elapsed)},
          {"parallelism", quotient(in.worked, of.duration - of.warm_up)},
          {"owner_switch_share", quotient(in.owner_switches, in.acquisitions)}};
}

}  // namespace

named_values run_throughput(engine& on, const subject& lock, const study_settings& of) {
  return run(on, lock, of, [](contender& self) { loops::take_turns<false>(self, self); });
}

named_values run_contention(engine& on, const subject& lock, const study_settings& of) {
  study_settings random = of;
  random.exponential = true;
  return run(on, lock, random, [](contender& self) { loops::take_turns<true>(self, self); });
}

/// For a number of loops, see stalls.cpp.
named_values run_timed_wait(engine& on, const subject& lock, const study_settings& of);
named_values run_timed_wait(engine& on, const subject& lock, const study_settings& of) {
  return run(on, lock, of, [](contender& self) { loops::measure_waits(self, self); });
}

}  // namespace lockyard::simulation
