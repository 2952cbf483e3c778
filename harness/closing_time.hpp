// SPDX-License-Identifier: Apache-2.0
#pragma once

// When a run is over whose operations are too short to look at the clock before each.

#include "clock.hpp"
#include "work.hpp"

#include <lockyard/detail/arch.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

namespace lockyard::harness {

/// A thread looks at the clock once in about this time of its own work, and in so many operations.
inline constexpr double look_after_ns = 2000;
inline constexpr double most_between_looks = 64;

/// Ends the run of all threads at once, as soon as one of them has seen that its time is over. Read
/// by all and written once, so it costs a load from a thread's own cache.
class alignas(detail::arch::interference_size) closing_time {
 public:
  explicit closing_time(const work_request& work)
      : between_looks_{std::bit_floor(static_cast<std::uint64_t>(std::clamp(
            look_after_ns / std::max(work.hold_ns + work.gap_ns, 1.0), 1.0, most_between_looks)))} {
  }

  /// Whether a thread looks at the clock before the operation of this number.
  [[nodiscard]] bool looks_before(std::uint64_t operation) const noexcept {
    return (operation & (between_looks_ - 1)) == 0;
  }
  bool has_come(std::uint64_t operations, ticks end) noexcept {
    if (looks_before(operations) && clock::now_early() >= end) {
      // relaxed(hint): who sees it late makes some operations more.
      over_.store(true, std::memory_order_relaxed);
    }
    // relaxed(hint): as above.
    return over_.load(std::memory_order_relaxed);
  }

 private:
  std::uint64_t between_looks_;  ///< a power of two
  std::atomic<bool> over_{false};
};

}  // namespace lockyard::harness
