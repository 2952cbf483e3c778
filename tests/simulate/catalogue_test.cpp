// SPDX-License-Identifier: Apache-2.0

// Every lock of the catalogue runs in the simulated world, and every run repeats.

#include "machines.hpp"

#include "simulate/world.hpp"

#include <lockyard/catalog.hpp>

#include <gtest/gtest.h>

#include <tuple>

namespace lockyard::simulation {

namespace {

TEST(SimulatedCatalogue, contains_every_lock_of_the_catalogue) {
  EXPECT_EQ(catalogue_subjects().size(), std::tuple_size_v<decltype(catalog)>);
}

TEST(SimulatedCatalogue, runs_with_a_thread_on_each_processor_and_with_more) {
  for (const subject& lock : catalogue_subjects()) {
    for (const int threads : {1, 4, 9}) {
      for (const char* scheduler : {"cfs", "eevdf", "rr", "muqss", "bmq", "windows"}) {
        cell some = cell_of("throughput", lock, scheduler, 4);
        some.settings.threads = threads;
        some.settings.hold = some.settings.gap = 500 * ns;
        some.settings.duration = 5 * ms, some.settings.warm_up = 1 * ms;
        some.settings.exponential = true;
        EXPECT_GT(value_of(simulate(some), "operations_per_s"), 1000)
            << lock.traits.name << ", " << threads << " threads, " << scheduler;
      }
    }
  }
}

TEST(SimulatedCatalogue, repeats_every_event_for_a_seed_and_not_for_another_one) {
  for (const char* lock : {"ttas_spinlock", "mutex", "queued_spinlock", "futex_mutex"}) {
    cell some = cell_of("wait", lock_named(lock), "cfs", 4);
    some.settings.threads = 9, some.settings.hold = 300 * ns;
    some.others = {.threads = 3, .groups = 2, .bursts_per_s = 3000};
    some.stops = {.every_ns = 1e6, .least_ns = 2000, .most_ns = 50'000};
    const outcome first = simulate(some), second = simulate(some);
    EXPECT_EQ(first.values, second.values) << lock;
    EXPECT_EQ(first.counted.events, second.counted.events) << lock;
    some.seed = 2;
    EXPECT_NE(simulate(some).counted.events, first.counted.events) << lock;
  }
}

struct raw_spinlock {
  void lock() noexcept {
    // order[test]: acquire; a test's lock, whose loop lacks an await.
    while (held.exchange(true, std::memory_order_acquire)) simulated::pause();
  }
  void unlock() noexcept {
    // order[test]: release; as above.
    held.store(false, std::memory_order_release);
  }
  simulated::atomic<bool> held{false};
};

struct no_lock {
  static void lock() noexcept {}
  static void unlock() noexcept {}
};

std::string failure_of(const cell& of) {
  try {
    simulate(of);
  } catch (const simulation_error& error) {
    return error.what();
  }
  return "";
}

TEST(SimulationErrors, name_the_line_of_a_loop_that_spins_without_an_await) {
  const subject raw = subject_of<raw_spinlock>(lock_traits{});
  cell some = cell_of("throughput", raw, "fifo", 2);
  some.settings.hold = 100 * us;
  const std::string failure = failure_of(some);
  EXPECT_NE(failure.find("without an await"), std::string::npos) << failure;
  EXPECT_NE(failure.find("catalogue_test.cpp:"), std::string::npos) << failure;
}

TEST(SimulationErrors, report_a_lock_that_does_not_exclude) {
  const subject broken = subject_of<no_lock>(lock_traits{});
  cell some = cell_of("throughput", broken, "fifo", 2);
  some.settings.hold = 1 * us;
  EXPECT_NE(failure_of(some).find("does not exclude"), std::string::npos);
}

TEST(SimulationErrors, name_the_thread_when_virtual_time_stands_still) {
  cell some = cell_of("throughput", lock_named("ticket_spinlock"), "fifo", 2);
  some.cost = costs{};
  some.settings.hold = 1 * us;
  const std::string failure = failure_of(some);
  EXPECT_NE(failure.find("virtual time does not advance"), std::string::npos) << failure;
  EXPECT_NE(failure.find("thread "), std::string::npos) << failure;
}

}  // namespace

}  // namespace lockyard::simulation
