// SPDX-License-Identifier: Apache-2.0
#pragma once

// The end of a run whose operations are too short to read the clock before each.

#include "clock.hpp"
#include "work.hpp"

#include <lockyard/detail/arch.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

namespace lockyard::harness {

/// A thread reads the clock about once in this time of its own work.
inline constexpr double look_after_ns = 2000;
inline constexpr double most_between_looks = 64;

/// Ends the run of all threads as soon as one of them sees that the time is over. All threads read
/// it and one writes it once, so that it costs a load from the thread's own cache.
class alignas(detail::arch::interference_size) closing_time {
 public:
  explicit closing_time(const work_request& work)
      : between_looks_{std::bit_floor(static_cast<std::uint64_t>(std::clamp(
            look_after_ns / std::max(work.hold_ns + work.gap_ns, 1.0), 1.0, most_between_looks)))} {
  }

  /// Tells whether a thread reads the clock before the operation with this number.
  [[nodiscard]] bool looks_before(std::uint64_t operation) const noexcept {
    return (operation & (between_looks_ - 1)) == 0;
  }
  bool has_come(std::uint64_t operations, ticks end) noexcept {
    if (looks_before(operations) && clock::now_early() >= end) {
      // relaxed(hint): a thread that sees it late makes some more operations.
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
