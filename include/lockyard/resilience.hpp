// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a resilient lock can be told about how it recovers.

#include <lockyard/detail/durations.hpp>

#include <cstdint>

namespace lockyard::inline v0 {

/// Who gets the error when a cycle of waiting threads is found; the others go on waiting.
enum class deadlock_victim : std::uint8_t {
  detector,  ///< whoever finds it: several threads may find the same cycle, and fail together
  youngest,  ///< who began to wait last; if that one does not leave, after two more looks the
             ///< finder
};

/// Of a type of locks.
struct resilience {
  bool recovers = true;  ///< false: a plain lock, for comparison: no table, no look, no error
  deadlock_victim victim = deadlock_victim::youngest;
  std::uint32_t pending_ms = 250;  ///< the stall time-outs, unless set_stall_limits says others
  std::uint32_t head_ms = 500;
};

/// How long somebody may be next in line before that one gets `timed_out`: the first that waits,
/// for an owner, and the head of the queue, for an owner and that first one, with whom the whole
/// queue leaves. `never` switches that off. The time in which the waiter itself was stopped
/// does not count.
struct stall_limits {
  static constexpr std::chrono::nanoseconds never = std::chrono::nanoseconds::max();

  std::chrono::nanoseconds pending;
  std::chrono::nanoseconds head;

  friend constexpr bool operator==(const stall_limits&, const stall_limits&) noexcept = default;
};

}  // namespace lockyard::inline v0
