// SPDX-License-Identifier: Apache-2.0

// The loops of the published stalls: all threads start together and acquire the lock so many times;
// the longest wait, or the longest time for which the lock was free, of each run. harness/loops has
// the loops.

#include "contenders.hpp"

#include <loops/idle.hpp>
#include <loops/wait.hpp>

namespace lockyard::simulation {

named_values run_timed_wait(engine& on, const subject& lock, const study_settings& of);

namespace {

namespace loops = harness::loops;

enum class stall : bool { wait, idle };

struct scene {
  scene(engine& on, const subject& type, const study_settings& of)
      : lock{on, type},
        released_at{on.memory().make<stamp>()},
        longest(static_cast<std::size_t>(of.runs)),
        lengths(longest.size()) {}

  struct alignas(64) stamp {
    simulated::var<ps> at{never};
  };
  lock_object lock;
  exclusion_check excludes;
  stamp& released_at;
  std::vector<ps> longest, lengths;
  int run = -1;  ///< the number of the run in progress
  int finished = 0;
  char start_bed = 0, end_bed = 0;
};

/// A thread in one run, and the lock as it finds it.
class contender {
 public:
  contender(engine& on, scene& in, const study_settings& of, worker& mine)
      : on_{on}, in_{in}, of_{of}, mine_{mine} {}

  // The lock
  void lock() {
    in_.lock.lock();
    in_.excludes.enter(on_);
  }
  void unlock() {
    in_.excludes.leave(on_);
    in_.lock.unlock();
  }

  // The contender
  [[nodiscard]] ps began() const { return on_.now(); }
  [[nodiscard]] bool has_turns_left() const { return turns_ < of_.loops; }
  static bool is_before_end(ps /*acquired*/) { return true; }
  void stay_away() { mine_.work(of_.gap); }
  static ps read_clock() { return simulation::read_clock(); }
  static ps read_clock_early() { return simulation::read_clock(); }
  void enter() {}  // the published loops count nothing
  void hold() { mine_.work(of_.hold); }
  void record(ps called, ps acquired) { complete(acquired - called); }
  void call() {}
  void look_back(ps acquired) {
    const ps released = in_.released_at.at.read();
    gap_ = released == never ? 0 : std::max<ps>(0, acquired - released);
  }
  void begin_release(ps now) { in_.released_at.at.write(now); }
  void end_release() { complete(gap_); }

  [[nodiscard]] ps worst() const { return worst_; }

 private:
  void complete(ps length) {
    worst_ = std::max(worst_, length);
    ++turns_;
  }

  engine& on_;
  scene& in_;
  const study_settings& of_;
  worker& mine_;
  ps gap_ = 0, worst_ = 0;
  int turns_ = 0;
};

void contend(engine& on, scene& in, stall which, const study_settings& of, std::uint64_t seed) {
  worker mine{on, of, seed};
  for (int run = 0; run < of.runs; ++run) {
    while (in.run < run) on.sleep(&in.start_bed, never);
    contender self{on, in, of, mine};
    if (which == stall::wait) {
      loops::measure_waits(self, self);
    } else {
      loops::measure_gaps(self, self);
    }
    ps& longest = in.longest[static_cast<std::size_t>(run)];
    longest = std::max(longest, self.worst());
    if (++in.finished == of.threads) on.wake(&in.end_bed, 1);
  }
}

/// Starts each run together, as a main thread does that then waits for the others.
void conduct(engine& on, scene& in, const study_settings& of) {
  constexpr ps pause = 300 * us;
  for (int run = 0; run < of.runs; ++run) {
    on.sleep(&in, on.now() + pause);
    in.finished = 0;
    in.released_at.at.write(never);
    const ps began = on.now();
    in.run = run;
    on.wake(&in.start_bed, of.threads);
    while (in.finished < of.threads) on.sleep(&in.end_bed, never);
    in.lengths[static_cast<std::size_t>(run)] = on.now() - began;
  }
  on.stop();
}

named_values run(engine& on, const subject& lock, const study_settings& of, stall which) {
  constexpr ps limit = 1'000'000 * ms;
  scene in{on, lock, of};
  const std::uint64_t seed = on.chance().next();
  start_threads(on, of, [&](int number) {
    contend(on, in, which, of, seed + static_cast<std::uint64_t>(number));
  });
  on.spawn([&] { conduct(on, in, of); }, 0, 0);
  on.run(limit);
  if (on.now() >= limit || in.finished < of.threads) {
    throw simulation_error{
        "the runs did not end: the threads that are left all sleep, or wait for "
        "a lock that is never released"};
  }
  double sum = 0;
  for (const ps each : in.lengths) sum += static_cast<double>(each);
  const double mean_ns = sum / of.runs / ns;
  std::ranges::sort(in.longest, std::greater<>{});
  const auto nth = [&](std::size_t rank) {
    return rank < in.longest.size() ? in_ns(in.longest[rank]) : 0;
  };
  return {{"run_mean_ns", mean_ns},
          {"operations_per_s", of.loops * static_cast<double>(of.threads) / mean_ns * ns_per_s},
          {which == stall::wait ? "wait_max_ns" : "idle_max_ns", nth(0)},
          {"longest2_ns", nth(1)},
          {"longest3_ns", nth(2)},
          {"longest4_ns", nth(3)}};
}

}  // namespace

named_values run_wait(engine& on, const subject& lock, const study_settings& of) {
  return of.loops > 0 ? run(on, lock, of, stall::wait) : run_timed_wait(on, lock, of);
}

named_values run_idle(engine& on, const subject& lock, const study_settings& of) {
  if (of.loops > 0) return run(on, lock, of, stall::idle);
  throw simulation_error{"the study idle needs a number of loops"};
}

}  // namespace lockyard::simulation
