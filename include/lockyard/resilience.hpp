// SPDX-License-Identifier: Apache-2.0
#pragma once

// The settings of a resilient lock's recovery.

#include <lockyard/detail/durations.hpp>

#include <cstdint>

namespace lockyard::inline v0 {

/// The thread that gets the error when a cycle of waiting threads is found; the other threads
/// continue to wait.
enum class deadlock_victim : std::uint8_t {
  detector,  ///< the thread that finds the cycle; several threads may find it, and fail together
  youngest,  ///< the thread that began to wait last; if it does not leave, after two more checks
             ///< the thread that finds the cycle
};

/// The settings of one type of locks.
struct resilience {
  bool recovers = true;  ///< false: a plain lock, for comparison: no table, no check, no error
  bool named = true;     ///< false: the lock has no name, and is 4 bytes instead of 16
  deadlock_victim victim = deadlock_victim::youngest;
  std::uint32_t pending_ms = 250;  ///< the stall time-outs, unless set_stall_limits changes them
  std::uint32_t head_ms = 500;
};

/// How long a waiter may be next before it gets `timed_out`. `pending` limits the first waiter's
/// wait for the owner. `head` limits the wait of the queue's head for the owner and the first
/// waiter; when the head times out, the whole queue leaves. `never` switches a limit off. Time in
/// which the waiter itself was stopped does not count.
struct stall_limits {
  static constexpr std::chrono::nanoseconds never = std::chrono::nanoseconds::max();

  std::chrono::nanoseconds pending;
  std::chrono::nanoseconds head;

  friend constexpr bool operator==(const stall_limits&, const stall_limits&) noexcept = default;
};

}  // namespace lockyard::inline v0
