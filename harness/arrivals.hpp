// SPDX-License-Identifier: Apache-2.0
#pragma once

// When the operations of a thread are due that come by a schedule, and not when the last one is
// done. The schedule does not wait for the lock: who is late stays late until he has caught up.

#include "clock.hpp"
#include "draws.hpp"

#include <cmath>
#include <cstdint>

namespace lockyard::harness {

/// A Poisson process: gaps that are drawn from an exponential distribution, whatever came before.
class arrivals {
 public:
  /// With a mean of 0 all are due at once, and there is no end to them.
  arrivals(double mean_gap_ns, std::uint64_t seed) noexcept
      : mean_{mean_gap_ns / clock::ns_per_tick()}, draws_{seed} {}

  /// The first comes a gap later.
  void begin(ticks at) noexcept { last_ = static_cast<double>(at); }

  [[nodiscard]] bool are_endless() const noexcept { return mean_ == 0; }

  ticks next() noexcept {
    last_ -= mean_ * std::log1p(-draws_.next_share());  // below 1, so it is no logarithm of 0
    return static_cast<ticks>(last_);
  }

  /// How many are due before that time, from the given one on.
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
