// SPDX-License-Identifier: Apache-2.0
#pragma once

// Scheduled operations: they are due at times of a schedule, not when the last operation is done.
// The schedule does not wait for the lock: a thread that is late stays late until it has caught up.

#include "clock.hpp"
#include "random.hpp"

#include <cmath>
#include <cstdint>

namespace lockyard::harness {

/// A Poisson process: its gaps are drawn from an exponential distribution, independent of the past.
class arrivals {
 public:
  /// With a mean of 0, all operations are due at once, without end.
  arrivals(double mean_gap_ns, std::uint64_t seed) noexcept
      : mean_{mean_gap_ns / clock::ns_per_tick()}, draws_{seed} {}

  /// The first operation is due one gap later.
  void begin(ticks at) noexcept { last_ = static_cast<double>(at); }

  [[nodiscard]] bool are_endless() const noexcept { return mean_ == 0; }

  ticks next() noexcept {
    last_ -= mean_ * std::log1p(-draws_.next_share());  // below 1, so never the logarithm of 0
    return static_cast<ticks>(last_);
  }

  /// Returns how many operations are due before `end`, counted from `from`.
  std::uint64_t count_until(ticks end, ticks from) noexcept {
    std::uint64_t count = 0;
    if (are_endless()) return 0;
    for (ticks due = from; due < end; due = next()) ++count;
    return count;
  }

 private:
  double mean_;  ///< in ticks
  double last_ = 0;
  xorshift draws_;
};

}  // namespace lockyard::harness
