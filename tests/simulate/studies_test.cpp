// SPDX-License-Identifier: Apache-2.0

// The clock reads of the loops, and the studies bystander, priority and workers on machines on
// which their results are known.

#include "machines.hpp"

#include "simulate/world.hpp"

#include <lockyard/park/pi_mutex.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace lockyard::simulation {

namespace {

cell priority_cell(std::string_view lock, std::string_view scheduler) {
  cell some = cell_of("priority", lock_named(lock), scheduler, 2);
  some.settings.duration = 300 * ms, some.settings.warm_up = 0;
  some.settings.hold = some.settings.gap = 20 * us;
  return some;
}

TEST(SimulatedPriority, plain_mutex_is_inverted_for_a_turn_of_the_hog_and_inheritance_is_not) {
  for (const char* strict : {"fifo", "rr"}) {
    const outcome plain = simulate(priority_cell("mutex", strict));
    EXPECT_GT(value_of(plain, "inverted_share"), 0.02);
    EXPECT_NEAR(value_of(plain, "inversion_max_ns"), 4e6, 1.1e6);
    const outcome inherited = simulate(priority_cell("pi_mutex", strict));
    EXPECT_EQ(value_of(inherited, "inverted_share"), 0);
    EXPECT_LT(value_of(inherited, "wait_max_ns"), 50'000);
    EXPECT_NEAR(value_of(inherited, "hog_cpu_share"), 0.5, 0.05);
  }
}

TEST(SimulatedPriority, thread_that_spins_above_the_owner_waits_until_it_is_rescued) {
  const outcome spinning = simulate(priority_cell("ticket_spinlock", "fifo"));
  EXPECT_GT(value_of(spinning, "rescues"), 0);
  EXPECT_NEAR(value_of(spinning, "wait_max_ns"), 53e6, 3e6);
  EXPECT_EQ(value_of(simulate(priority_cell("ticket_spinlock", "cfs")), "rescues"), 0);
}

TEST(SimulatedPriority, without_a_hog_nothing_is_inverted) {
  cell some = priority_cell("mutex", "fifo");
  some.settings.hog_share = 0;
  const outcome found = simulate(some);
  EXPECT_EQ(value_of(found, "inverted_share"), 0);
  EXPECT_LT(value_of(found, "wait_max_ns"), 50'000);
}

TEST(PriorityInheritance, passes_along_a_chain_of_owners_and_ends_with_the_unlock) {
  using pi_mutex = basic_pi_mutex<simulated>;
  engine on{machine{flat(1), plausible()}, gaps{},
            declared(scheduler_declarations(), "fifo")->make({}, 1), 1};
  auto& first = on.memory().make<pi_mutex>();
  auto& second = on.memory().make<pi_mutex>();
  const char bed = 0;
  std::string order;
  thread& low = on.spawn(
      [&] {
        first.lock();
        on.compute(10 * ms);
        order += "low ";
        first.unlock();
        on.compute(1 * ms);
        order += "later ";
      },
      0, 0, {.priority = 1});
  on.spawn(
      [&] {
        on.sleep(&bed, 1 * ms);
        second.lock();
        first.lock();
        order += "middle ";
        first.unlock();
        second.unlock();
      },
      0, 0, {.priority = 2});
  on.spawn(
      [&] {
        on.sleep(&bed, 3 * ms);
        on.compute(50 * ms);
        order += "hog ";
      },
      0, 0, {.priority = 3});
  on.spawn(
      [&] {
        on.sleep(&bed, 4 * ms);
        second.lock();
        order += "high ";
        second.unlock();
      },
      0, 0, {.priority = 4});
  on.run(200 * ms);
  EXPECT_EQ(order, "low middle high hog later ");
  EXPECT_EQ(low.lent_priority, 0);
}

/// Returns the time of a turn of a thread that is alone and does no work.
double turn_ns(std::string_view study) {
  cell alone = cell_of(study, lock_named("ticket_spinlock"), "fifo", 1);
  alone.cost.tick_ns = 0;
  alone.settings.duration = 1 * ms, alone.settings.warm_up = 0;
  return 1e9 / value_of(simulate(alone), "operations_per_s");
}

TEST(SimulatedLoops, read_the_clock_as_often_as_the_native_ones) {
  const double without_clock = turn_ns("throughput");
  const double reads_ns = 2 * plausible().clock_read_ns;
  EXPECT_NEAR(turn_ns("contention") - without_clock, reads_ns, 0.1);
  EXPECT_NEAR(turn_ns("wait") - without_clock, reads_ns, 0.1);
}

cell bystander_cell(std::string_view lock, const topology& shape, int threads) {
  cell some = cell_of("bystander", lock_named(lock), "cfs", shape.processors);
  some.shape = shape;
  some.cost.smt_slowdown = 2, some.cost.smt_pausing_slowdown = 1.25;
  some.settings.threads = threads, some.settings.duration = 24 * ms;
  return some;
}

TEST(SimulatedBystander, is_slowed_by_the_other_thread_of_its_core_and_by_no_other_core) {
  topology pair = flat(2);
  const outcome apart = simulate(bystander_cell("ticket_spinlock", pair, 2));
  EXPECT_NEAR(value_of(apart, "slowdown"), 1, 0.01);
  EXPECT_NEAR(value_of(apart, "slowdown_busy"), 1, 0.01);
  EXPECT_GT(value_of(apart, "operations_per_s"), 1e6);
  pair.threads_per_core = 2, pair.cores_per_cache = pair.cores_per_socket = 1;
  const outcome together = simulate(bystander_cell("ticket_spinlock", pair, 2));
  EXPECT_NEAR(value_of(together, "slowdown_busy"), 2, 0.2);
  EXPECT_NEAR(value_of(together, "slowdown_cpu"), 2, 0.2);
}

TEST(SimulatedBystander, loses_its_processor_to_more_threads_than_processors) {
  const outcome found = simulate(bystander_cell("ticket_spinlock", flat(1), 2));
  EXPECT_GT(value_of(found, "slowdown"), 1.4);
  EXPECT_NEAR(value_of(found, "slowdown_cpu"), 1, 0.02);
  EXPECT_NEAR(value_of(found, "cpu_share"), 0.5, 0.2);
}

outcome workers_with(std::string_view pool) {
  const auto all = pool_subjects();
  const auto named =
      std::ranges::find_if(all, [&](const subject& each) { return each.traits.name == pool; });
  cell some = cell_of("workers", *named, "eevdf", 4);
  some.settings.threads = 2, some.settings.burst = 2;
  some.settings.duration = 40 * ms, some.settings.gap = 1 * ms;
  return simulate(some);
}

TEST(SimulatedWorkers, start_late_where_they_sleep_and_use_the_pauses_where_they_spin) {
  const outcome spinning = workers_with("worker_pool[spin]");
  EXPECT_LT(value_of(spinning, "start_median_ns"), 1000);
  EXPECT_NEAR(value_of(spinning, "gap_cpu_share"), 1, 0.01);
  const outcome sleeping = workers_with("worker_pool[event]");
  EXPECT_GT(value_of(sleeping, "start_median_ns"), 2000);  // a wake-up and a switch
  EXPECT_LT(value_of(sleeping, "gap_cpu_share"), 0.01);
  EXPECT_LT(value_of(sleeping, "workers_cpu_per_task_ns"),
            value_of(spinning, "workers_cpu_per_task_ns") / 50);
  const outcome napping = workers_with("worker_pool[sleep]");
  EXPECT_GT(value_of(napping, "start_max_ns"), 300'000);  // a nap is 1 ms
}

TEST(SimulatedWorkers, every_pool_runs_the_tasks_of_every_burst) {
  for (const subject& pool : pool_subjects()) {
    EXPECT_GT(value_of(workers_with(pool.traits.name), "operations_per_s"), 2 * 400.0)
        << pool.traits.name;
  }
}

}  // namespace

}  // namespace lockyard::simulation
