// SPDX-License-Identifier: Apache-2.0

// A ticket lock, with exponential times with the lock and without it, is a closed queue with one
// server, whose throughput is known.

#include "machines.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace lockyard::simulation {

namespace {

/// The throughput per second of `customers` at one server: the server is idle with the probability
/// 1 / sum over k of n! / (n - k)! * (hold / gap)^k.
double closed_queue(int customers, double hold_s, double gap_s) {
  double term = 1, sum = 1;
  for (int k = 1; k <= customers; ++k) {
    term *= (customers - k + 1) * hold_s / gap_s;
    sum += term;
  }
  return (1 - 1 / sum) / hold_s;
}

class ClosedQueue : public testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(ClosedQueue, predicts_the_rate_of_a_ticket_lock_and_the_work_done) {
  const auto [threads, hold_us, gap_us] = GetParam();
  cell queue = cell_of("contention", lock_named("ticket_spinlock"), "fifo", threads);
  queue.cost = almost_free();
  queue.settings.hold = hold_us * us, queue.settings.gap = gap_us * us;
  queue.settings.duration = 30'000 * ms;
  const double expected = closed_queue(threads, hold_us * 1e-6, gap_us * 1e-6);
  const outcome found = simulate(queue);
  EXPECT_NEAR(value_of(found, "operations_per_s") / expected, 1, 0.005);
  const double work = expected * (hold_us + gap_us) * 1e-6;
  EXPECT_NEAR(value_of(found, "parallelism") / work, 1, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ClosedQueue,
                         testing::Values(std::tuple{2, 17, 50}, std::tuple{2, 50, 17},
                                         std::tuple{3, 30, 30}, std::tuple{4, 17, 50},
                                         std::tuple{4, 50, 17}, std::tuple{8, 20, 100}));

}  // namespace

}  // namespace lockyard::simulation
