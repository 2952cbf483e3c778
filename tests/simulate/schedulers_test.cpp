// SPDX-License-Identifier: Apache-2.0

// The rules of the schedulers, each on one or two processors.

#include "machines.hpp"

#include "simulate/schedulers/eevdf.hpp"
#include "simulate/schedulers/muqss.hpp"
#include "simulate/world.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

namespace lockyard::simulation {

namespace {

std::unique_ptr<scheduler> made(std::string_view name, int processors,
                                const parameter_values& changed = {}) {
  const scheduler_declaration& of = *declared(scheduler_declarations(), name);
  parameter_values values;
  for (const auto& each : of.parameters) values[std::string{each.name}] = each.usual;
  for (const auto& [parameter, value] : changed) values[parameter] = value;
  return of.make(values, processors);
}

/// The shares of one processor that threads get that only work.
std::vector<double> shares_under(std::string_view name, const std::vector<int>& nice) {
  engine on{machine{flat(1), plausible()}, gaps{}, made(name, 1), 1};
  std::vector<double> turns(nice.size());
  for (std::size_t i = 0; i < turns.size(); ++i) {
    on.spawn(
        [&on, &turns, i] {
          for (;;) {
            on.compute(10 * us);
            turns[i] += 1;
          }
        },
        0, 0, {.nice = nice[i]});
  }
  on.run(2000 * ms);
  double sum = 0;
  for (const double each : turns) sum += each;
  for (double& each : turns) each /= sum;
  return turns;
}

TEST(SchedulerRules, fair_ones_share_a_processor_equally_and_fifo_does_not) {
  for (const char* fair : {"cfs", "eevdf", "rr", "muqss", "bmq", "pds", "windows"}) {
    for (const double share : shares_under(fair, {0, 0, 0})) {
      EXPECT_NEAR(share, 1 / 3.0, 0.06) << fair;
    }
  }
  EXPECT_EQ(shares_under("fifo", {0, 0, 0})[0], 1);
}

TEST(SchedulerRules, nicer_thread_gets_less) {
  for (const char* weighted : {"cfs", "eevdf"}) {
    const std::vector<double> shares = shares_under(weighted, {5, 0});
    EXPECT_NEAR(shares[1] / shares[0], 3.05, 0.15) << weighted;  // 1.25 to the power 5
  }
  for (const char* ordered : {"bmq", "windows"}) {
    EXPECT_GT(shares_under(ordered, {9, 0})[1], 0.95) << ordered;
  }
  for (const char* by_deadline : {"muqss", "pds"}) {
    const double share = shares_under(by_deadline, {9, 0})[1];
    EXPECT_GT(share, 0.55) << by_deadline;
    EXPECT_LT(share, 0.95) << by_deadline;
  }
}

/// Two cores with two hardware threads each, which slow each other down by half.
machine two_cores_of_two() {
  topology shape = flat(4);
  shape.threads_per_core = 2;
  shape.cores_per_cache = shape.cores_per_socket = 2;
  costs slow = plausible();
  slow.smt_slowdown = 2;
  return {shape, slow};
}

TEST(SchedulerRules, threads_start_on_cores_of_their_own) {
  const topology shape = two_cores_of_two().shape;
  EXPECT_NE(shape.core_of(shape.nth_to_fill(0)), shape.core_of(shape.nth_to_fill(1)));
  EXPECT_EQ(shape.nth_to_fill(3), shape.sibling_of(shape.nth_to_fill(1)));
}

/// The work of two threads that start on one core, in units of what one thread does alone.
double work_of_two_on_one_core(std::string_view name, int pinned_to) {
  constexpr ps length = 200 * ms;
  engine on{two_cores_of_two(), gaps{}, made(name, 4), 1};
  double done = 0;
  for (const int processor : {0, 1}) {
    thread& each = on.spawn(
        [&] {
          for (;;) {
            on.compute(10 * us);
            done += 10.0 * us;
          }
        },
        processor, 0);
    if (pinned_to >= 0) each.pinned_to = processor;
  }
  on.run(length);
  return done / length;
}

TEST(SchedulerRules, idle_core_relieves_a_core_that_runs_two_threads) {
  for (const char* fair : {"cfs", "eevdf", "muqss", "bmq", "pds", "windows"}) {
    EXPECT_GT(work_of_two_on_one_core(fair, -1), 1.8) << fair;
    EXPECT_LT(work_of_two_on_one_core(fair, 0), 1.1) << fair;
  }
  EXPECT_LT(work_of_two_on_one_core("fifo", -1), 1.1);
}

/// When a thread that wakes after a long sleep runs, while another one works on its processor.
ps delay_of_sleeper(std::string_view name) {
  engine on{machine{flat(1), plausible()}, gaps{}, made(name, 1), 1};
  ps due = 0, ran = 0;
  const char bed = 0;
  on.spawn(
      [&] {
        on.sleep(&bed, due = 500 * ms);
        ran = on.now();
        on.stop();
      },
      0, 0);
  on.spawn(
      [&] {
        for (;;) on.compute(100 * us);
      },
      0, 0);
  on.run(2000 * ms);
  return ran - due;
}

TEST(SchedulerRules, sleeper_preempts_a_thread_past_its_slice_and_waits_for_ever_under_fifo) {
  EXPECT_LT(delay_of_sleeper("cfs"), 10 * us);
  EXPECT_LT(delay_of_sleeper("eevdf"), 10 * us);
  EXPECT_LT(delay_of_sleeper("fifo"), -400 * ms);  // it never ran
}

/// A running thread and a woken one on a processor under EEVDF, with slices of 1 ms.
class Parity : public testing::Test {
 protected:
  Parity() {
    policy.attach(on);
    on.at(0).current = &running, on.at(0).queue = {&woken};
    running.scheduling.deadline = 2 * ms, running.scheduling.protected_until = 2 * ms;
    woken.scheduling.deadline = 1 * ms;
  }
  ~Parity() override { on.at(0).current = nullptr; }
  [[nodiscard]] bool preempts() { return policy.preempts(woken, running, 0); }

  engine on{machine{flat(1), plausible()}, gaps{}, made("fifo", 1), 1};
  eevdf policy{{.slice = 1 * ms, .autogroup = false}, 1};
  thread running, woken;
};

TEST_F(Parity, protects_a_thread_inside_of_its_slice_that_has_had_no_more_than_its_share) {
  EXPECT_FALSE(preempts());
  running.scheduling.vruntime = 100 * us, woken.scheduling.vruntime = 100 * us;
  EXPECT_FALSE(preempts());
}

TEST_F(Parity, ends_with_the_slice_and_with_the_share) {
  running.scheduling.protected_until = 0;
  EXPECT_TRUE(preempts());
  running.scheduling.protected_until = 2 * ms, running.scheduling.vruntime = 10 * us;
  EXPECT_TRUE(preempts());
  woken.scheduling.vruntime = 20 * us;  // it has had more than its share
  EXPECT_FALSE(preempts());
}

TEST_F(Parity, begins_anew_only_when_another_thread_ran_in_between) {
  const auto choose = [&] {
    on.at(0).queue = {&running};
    return policy.choose(0);
  };
  running.scheduling.deadline = 3 * ms;
  EXPECT_EQ(choose(), &running);
  EXPECT_EQ(running.scheduling.protected_until, 3 * ms);
  running.scheduling.deadline = 4 * ms;
  choose();
  EXPECT_EQ(running.scheduling.protected_until, 3 * ms);
  on.at(0).queue = {&woken};
  policy.choose(0);
  choose();
  EXPECT_EQ(running.scheduling.protected_until, 4 * ms);
}

/// Two threads on one processor hand a lock to each other by the kernel. A wake-up that preempts
/// the waker ends that: the new owner then meets no waiter.
TEST(SchedulerRules, eevdf_ends_a_convoy_of_two_threads) {
  cell convoy = cell_of("throughput", lock_named("pi_mutex"), "eevdf", 2);
  convoy.shape = flat(1);
  const outcome found = simulate(convoy);
  EXPECT_LT(value_of(found, "owner_switch_share"), 0.1);
  EXPECT_GT(value_of(found, "operations_per_s"), 5e6);
}

/// Where the processors 1 and 2 of four are halted and 0 wakes a thread that ran last on each.
std::vector<int> places_on(const topology& shape) {
  const auto policy = made("eevdf", shape.processors);
  engine on{machine{shape, plausible()}, gaps{}, made("eevdf", shape.processors), 1};
  policy->attach(on);
  thread running, other;
  on.at(0).current = &running, on.at(3).current = &other;
  std::vector<int> places;
  for (const int last : {0, 1, 2, 3}) {
    thread woken;
    woken.processor = last;
    places.push_back(policy->place(woken, 0));
  }
  on.at(0).current = on.at(3).current = nullptr;
  return places;
}

TEST(SchedulerRules, woken_thread_goes_to_an_idle_processor_unless_halted_ones_look_preempted) {
  topology shape = flat(4);
  EXPECT_EQ(places_on(shape), (std::vector{1, 1, 2, 1}));
  shape.halted_looks_preempted = true;
  EXPECT_EQ(places_on(shape), (std::vector{0, 1, 2, 3}));
}

/// How many turns each of two threads has that yield after each microsecond.
std::vector<int> turns_of_yielders(std::string_view name, std::size_t yielding,
                                   const parameter_values& changed = {}) {
  engine on{machine{flat(1), plausible()}, gaps{}, made(name, 1, changed), 1};
  std::vector<int> turns(2);
  for (std::size_t i = 0; i < 2; ++i) {
    on.spawn(
        [&on, &turns, i, yielding] {
          for (;;) {
            on.compute(1 * us);
            ++turns[i];
            if (i < yielding) simulated::yield();
          }
        },
        0, 0);
  }
  on.run(500 * ms);
  return turns;
}

TEST(SchedulerRules, yield_hands_the_processor_to_the_next_thread) {
  for (const char* name : {"cfs", "rr", "fifo"}) {
    const std::vector<int> turns = turns_of_yielders(name, 2);
    EXPECT_NEAR(turns[0] / static_cast<double>(turns[1]), 1, 0.1) << name;
    EXPECT_GT(turns[0], 50'000) << name;
  }
}

/// How often two threads that both yield change places.
std::uint64_t switches_of_yielders(std::string_view name, double yield_type) {
  engine on{machine{flat(1), plausible()}, gaps{}, made(name, 1, {{"yield_type", yield_type}}), 1};
  for (int i = 0; i < 2; ++i) {
    on.spawn(
        [&on] {
          for (;;) {
            on.compute(1 * us);
            simulated::yield();
          }
        },
        0, 0);
  }
  on.run(500 * ms);
  return on.counted().context_switches;
}

TEST(SchedulerRules, yield_types_of_muqss_and_bmq_differ) {
  EXPECT_LT(switches_of_yielders("muqss", 0), 1000U);
  EXPECT_LT(switches_of_yielders("muqss", 1), 1000U);  // once for each renewed deadline
  EXPECT_GT(switches_of_yielders("muqss", 2), 100'000U);
  EXPECT_LT(switches_of_yielders("bmq", 0), 1000U);
  EXPECT_GT(switches_of_yielders("bmq", 1), 100'000U);
  EXPECT_GT(switches_of_yielders("bmq", 2), 100'000U);
}

TEST(SchedulerRules, yield_of_muqss_takes_longer_the_more_threads_yield) {
  engine on{machine{flat(8), plausible()}, gaps{}, made("muqss", 8), 1};
  ps yield_length = 0;
  on.spawn([&] { yield_length = on.yield_length(); }, 0, 0);
  on.run(1 * ms);
  EXPECT_EQ(yield_length, 150 * ns);
  muqss policy{6 * ms, muqss::yields::to_earlier_deadline};
  policy.attach(on);
  EXPECT_EQ(policy.yield_length(3), 150 * ns + 3 * 7 * 30 * ns);
  muqss without_yields{6 * ms, muqss::yields::none};
  without_yields.attach(on);
  EXPECT_EQ(without_yields.yield_length(3), 150 * ns);
}

/// The turns of 1 ms of the measured program and of another one, on one processor.
std::vector<int> turns_against_another_program(double iso_cpu, ps length) {
  engine on{machine{flat(1), plausible()}, gaps{}, made("muqss", 1, {{"iso_cpu", iso_cpu}}), 1};
  std::vector<int> turns(2);
  for (int group = 0; group < 2; ++group) {
    on.spawn(
        [&on, &turns, group] {
          for (;;) {
            on.compute(1 * ms);
            ++turns[static_cast<std::size_t>(group)];
          }
        },
        0, group);
  }
  on.run(length);
  return turns;
}

TEST(SchedulerRules, isochronous_program_of_muqss_comes_first_until_its_share_is_used) {
  // Alone it reaches 70 % of the latest 5 s after 6 s; then it is refused until they are 63 %.
  EXPECT_LE(turns_against_another_program(70, 5000 * ms)[1], 6);  // one slice at the start
  const std::vector<int> long_run = turns_against_another_program(70, 30'000 * ms);
  EXPECT_GT(long_run[1], 2'000);
  EXPECT_LT(long_run[1], 6'000);
  const std::vector<int> ordinary = turns_against_another_program(0, 5000 * ms);
  EXPECT_NEAR(ordinary[1] / static_cast<double>(ordinary[0]), 1, 0.1);
}

TEST(SchedulerRules, sleeper_of_bmq_preempts_a_thread_that_used_its_slices) {
  EXPECT_LT(delay_of_sleeper("bmq"), 10 * us);
  EXPECT_LT(delay_of_sleeper("windows"), 10 * us);
}

TEST(SchedulerRules, yield_under_fifo_gives_way_to_a_thread_that_never_does) {
  const std::vector<int> turns = turns_of_yielders("fifo", 1);
  EXPECT_EQ(turns[0], 1);
  EXPECT_GT(turns[1], 400'000);
}

TEST(SchedulerRules, idle_processor_takes_a_waiting_thread) {
  for (const auto& each : scheduler_declarations()) {
    engine on{machine{flat(2), plausible()}, gaps{}, made(each.name, 2), 1};
    int finished = 0;
    for (int i = 0; i < 2; ++i) {
      on.spawn(
          [&] {
            on.compute(100 * ms);
            ++finished;
          },
          0, 0);
    }
    on.run(120 * ms);
    EXPECT_EQ(finished, 2) << each.name;
  }
}

TEST(SchedulerRules, pinned_thread_stays) {
  engine on{machine{flat(2), plausible()}, gaps{}, made("cfs", 2), 1};
  int finished = 0;
  for (int i = 0; i < 2; ++i) {
    on.spawn(
          [&] {
            on.compute(100 * ms);
            ++finished;
          },
          0, 0)
        .pinned_to = 0;
  }
  on.run(150 * ms);
  EXPECT_EQ(finished, 0);
}

}  // namespace

}  // namespace lockyard::simulation
