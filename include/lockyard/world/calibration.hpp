// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cost of waiting on this machine, for the native world: the first thread of a process that has
// to wait measures it, in about 20 microseconds.

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/bounds.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/os.hpp>
#include <lockyard/world/process_state.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The length of a pause, and how long it pays to spin. Threads that need it at the same time all
/// measure; every result is usable.
class [[gnu::visibility("default")]] calibration {
 public:
  using duration = std::chrono::nanoseconds;
  static constexpr state_traits process_traits{.key = state_key{"calibration"}.value(),
                                               .starts_as_zeros = true};

  /// Before any thread is bound to one of the processors that the process may use.
  void count_processors() noexcept {
    // relaxed(hint): a thread that misses the value counts the processors itself.
    processors_.store(os::allowed_processors(), std::memory_order_relaxed);
  }

  /// A spin that lasts as long as a sleep and a wake takes at most twice the time of the best
  /// choice.
  duration spin_budget() noexcept {
    // relaxed(hint): a stale zero costs another measurement.
    const std::uint32_t known = budget_ns_.load(std::memory_order_relaxed);
    return duration{known != 0 ? known : find_budget()};
  }

  /// Returns the number of pauses that take that long; at least one.
  std::uint32_t pauses_in(duration length) noexcept {
    // relaxed(hint): as above.
    std::uint32_t cost = pause_ps_.load(std::memory_order_relaxed);
    if (cost == 0) cost = find_pause();
    const std::int64_t longest = 1'000'000'000;  // a second: a longer time is not a pause
    const std::int64_t ps = at_most(at_least<std::int64_t>(length.count(), 0), longest) * 1000;
    return static_cast<std::uint32_t>(at_least<std::int64_t>(ps / cost, 1));
  }

 private:
  using clock = std::chrono::steady_clock;

  /// The least of several means, because interrupts only add time; in picoseconds.
  template <class Step>
  static std::uint32_t cost_ps(int steps, Step step) noexcept {
    auto least = duration::max();
    for (int run = 0; run < 4; ++run) {
      const auto start = clock::now();
      for (int i = 0; i < steps; ++i) step();
      least = at_most<duration>(least, clock::now() - start);
    }
    const std::int64_t each = least.count() * 1000 / steps;
    return static_cast<std::uint32_t>(
        at_most<std::int64_t>(at_least<std::int64_t>(each, 1), UINT32_MAX));
  }

  [[gnu::noinline, gnu::cold]] std::uint32_t find_pause() noexcept {
    const std::uint32_t cost = cost_ps(50, [] { arch::pause(); });
    // relaxed(hint): a thread that misses the value measures again.
    pause_ps_.store(cost, std::memory_order_relaxed);
    return cost;
  }

  [[gnu::noinline, gnu::cold]] std::uint32_t find_budget() noexcept {
    // One thread alone cannot measure a wake-up. In the studies `costs` and `wakeup` it takes 10 to
    // 200 times as long as a wake without sleepers; it grows with the processor's idle time. The
    // code takes the upper end, because a sleep also costs time in the thread that wakes.
    constexpr std::uint32_t ratio = 200, least_ns = 5'000, most_ns = 30'000;
    std::uint32_t budget = 1;
    // relaxed(hint): as above.
    const int counted = processors_.load(std::memory_order_relaxed);
    if ((counted != 0 ? counted : os::allowed_processors()) > 1) {
      const std::uint32_t word = 0;
      const std::uint64_t wake_ps = cost_ps(8, [&word] { os::futex_wake(&word, 1); });
      budget = static_cast<std::uint32_t>(at_most<std::uint64_t>(
          at_least<std::uint64_t>(wake_ps * ratio / 1000, least_ns), most_ns));
    }
    // relaxed(hint): as above.
    budget_ns_.store(budget, std::memory_order_relaxed);
    return budget;
  }

  std::atomic<int> processors_{0};
  std::atomic<std::uint32_t> pause_ps_{0};
  std::atomic<std::uint32_t> budget_ns_{0};
};

}  // namespace lockyard::inline v0::detail
