// SPDX-License-Identifier: Apache-2.0
#include "work.hpp"

#include "clock.hpp"

#include <lockyard/detail/arch.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>

namespace lockyard::harness {

namespace {

constexpr std::uint32_t calibration_steps = 10'000;
constexpr int calibration_rounds = 100;
constexpr int thorough_rounds = 1000;
// The number of long turns among bimodal lengths.
constexpr unsigned long_turns = worker::turns / 10;
constexpr double long_to_short = 10;

/// Returns the least of many rounds, since interruptions only add time.
template <class What>
double least_ns(int rounds, What what) noexcept {
  ticks least = std::numeric_limits<ticks>::max();
  for (int round = 0; round < rounds; ++round) {
    const ticks before = clock::now();
    what();
    least = std::min(least, elapsed(before, clock::now()));
  }
  return std::max(clock::ns(least), 1.0);
}

double measured_step_ns(int rounds) noexcept {
  return least_ns(rounds, [] { keep_busy(calibration_steps); }) / calibration_steps;
}

/// Returns the length at this place of all lengths in ascending order, for a mean of 1.
double length_at(unsigned place, lengths kind) noexcept {
  switch (kind) {
    case lengths::exponential: return -std::log1p(-(place + 0.5) / worker::turns);
    case lengths::bimodal: {
      constexpr double of_short =
          worker::turns / (worker::turns + long_turns * (long_to_short - 1));
      return place < worker::turns - long_turns ? of_short : of_short * long_to_short;
    }
    case lengths::constant:
    case lengths::recorded: break;
  }
  return 1;
}

std::uint32_t rounded(double steps) noexcept {
  return static_cast<std::uint32_t>(std::lround(steps));
}

}  // namespace

[[gnu::noinline, gnu::aligned(64)]] void keep_busy(std::uint32_t steps) noexcept {
  // A chain in which each step needs the last one: its speed is the multiplier's latency.
  std::uint64_t state = steps;
  for (; steps != 0; --steps) state = state * 6364136223846793005U + 1442695040888963407U;
  asm volatile("" : : "r"(state));  // makes the compiler keep the result
}

void keep_busy_apart(std::uint32_t steps) noexcept {
  detail::arch::settle();
  keep_busy(steps);
  detail::arch::settle();
}

std::uint32_t steps_apart(double length_ns) noexcept {
  constexpr int row = 16;
  const double step_ns = measured_step_ns(thorough_rounds);
  const auto first = static_cast<std::uint32_t>(std::lround(length_ns / step_ns));
  const double row_ns = least_ns(thorough_rounds, [first] {
    for (int i = 0; i < row; ++i) keep_busy_apart(first);
  });
  const double beyond_ns = row_ns / row - length_ns;
  return static_cast<std::uint32_t>(std::lround(std::max(first - beyond_ns / step_ns, 0.0)));
}

std::vector<std::uint32_t> steps_of(double mean_steps, lengths kind) {
  std::vector<std::uint32_t> found(worker::turns);
  for (unsigned i = 0; i < worker::turns; ++i) found[i] = rounded(mean_steps * length_at(i, kind));
  return found;
}

std::vector<worker::turn> shuffled_tables(std::vector<std::uint32_t> gaps,
                                          std::vector<std::uint32_t> holds, unsigned threads,
                                          std::uint64_t seed) {
  std::vector<worker::turn> tables;
  tables.reserve(std::size_t{threads} * worker::turns);
  std::mt19937_64 chance{seed};
  for (unsigned thread = 0; thread < threads; ++thread) {
    std::ranges::shuffle(gaps, chance);
    std::ranges::shuffle(holds, chance);
    for (unsigned i = 0; i < worker::turns; ++i) tables.push_back({gaps[i], holds[i]});
  }
  return tables;
}

workload::workload(const work_request& wanted, unsigned threads, std::uint64_t seed) {
  if (wanted.is_none()) return;
  step_ns_ = measured_step_ns(calibration_rounds);
  if (wanted.kind == lengths::recorded) {
    threads_ = threads;
    for (const recorded_turn& each : wanted.recording) {
      tables_.push_back({rounded(each.gap_ns / *step_ns_), rounded(each.hold_ns / *step_ns_)});
    }
    return;
  }
  tables_ = shuffled_tables(steps_of(wanted.gap_ns / *step_ns_, wanted.kind),
                            steps_of(wanted.hold_ns / *step_ns_, wanted.kind), threads, seed);
}

double workload::busy_ns(unsigned thread, std::uint64_t operations) const noexcept {
  if (!step_ns_) return 0;
  const auto table = table_of(thread);
  const std::uint64_t rounds = operations / table.size();
  const std::uint64_t rest = operations % table.size();
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto& each = table[(first_of(thread) + i) % table.size()];
    steps += (rounds + (i < rest ? 1 : 0)) * (std::uint64_t{each.gap_steps} + each.hold_steps);
  }
  return static_cast<double>(steps) * *step_ns_;
}

}  // namespace lockyard::harness
