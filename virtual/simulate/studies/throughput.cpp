// SPDX-License-Identifier: Apache-2.0

// Rates for a given time: threads alternate between work without the lock and work with it. The
// studies throughput and wait, and contention, which draws both from exponential distributions and
// counts the work that the threads do together.

#include "contenders.hpp"

#include <memory>

namespace lockyard::simulation {

namespace {

/// What the threads of a run share and record.
struct scene {
  scene(engine& on, const subject& type, const study_settings& of, bool with_clock)
      : lock{on, type},
        data{on.memory().make<protected_word>()},
        operations(static_cast<std::size_t>(of.threads)),
        called_at(operations.size(), never),
        reads_clock{with_clock},
        waits{std::make_unique<harness::merged_histogram>()} {}

  lock_object lock;
  exclusion_check excludes;
  protected_word& data;
  std::vector<std::uint64_t> operations;
  ps worked = 0;              ///< by all threads, with the lock and without it
  std::vector<ps> called_at;  ///< the thread waits since then
  bool reads_clock;
  std::unique_ptr<harness::merged_histogram> waits;
  ps longest = 0, waiting = 0, elapsed = 0;
  std::uint64_t acquisitions = 0, owner_switches = 0;
  int last_owner = -1;
};

void record(scene& in, std::size_t index, ps began, ps called, ps acquired, ps now) {
  ++in.operations[index];
  in.longest = std::max(in.longest, acquired - called);
  in.waiting += acquired - called, in.elapsed += now - began;
  in.waits->add(static_cast<std::uint64_t>((acquired - called) / ns));
}

void contend(engine& on, scene& in, const study_settings& of, int number, std::uint64_t seed) {
  const auto index = static_cast<std::size_t>(number);
  worker mine{on, of, seed};
  while (on.now() < of.duration) {
    const ps began = on.now();
    ps worked = mine.work(of.gap);
    if (in.reads_clock) simulated::now();
    const ps called = in.called_at[index] = on.now();
    in.lock.lock();
    in.called_at[index] = never;
    in.excludes.enter(on);
    if (in.reads_clock) simulated::now();
    const ps acquired = on.now();
    ++in.acquisitions;
    if (in.last_owner != number) ++in.owner_switches;
    in.last_owner = number;
    in.data.add_one();
    worked += mine.work(of.hold);
    in.excludes.leave(on);
    in.lock.unlock();
    if (began < of.warm_up) continue;
    record(in, index, began, called, acquired, on.now());
    in.worked += worked;
  }
}

named_values run(engine& on, const subject& lock, const study_settings& of, bool reads_clock) {
  scene in{on, lock, of, reads_clock};
  const std::uint64_t seed = on.chance().next();
  start_threads(on, of, [&](int number) {
    contend(on, in, of, number, seed + static_cast<std::uint64_t>(number) * 0x9E37'79B9U);
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
  return run(on, lock, of, false);
}

named_values run_contention(engine& on, const subject& lock, const study_settings& of) {
  study_settings random = of;
  random.exponential = true;
  return run(on, lock, random, false);
}

/// For a number of loops, see stalls.cpp.
named_values run_timed_wait(engine& on, const subject& lock, const study_settings& of);
named_values run_timed_wait(engine& on, const subject& lock, const study_settings& of) {
  return run(on, lock, of, true);
}

}  // namespace lockyard::simulation
