// SPDX-License-Identifier: Apache-2.0
#pragma once

// The scheduling policy of a thread, with the parameters of that policy.

#include <cstdint>
#include <string_view>

namespace lockyard::harness {

enum class policy : std::uint8_t { other, batch, idle, fifo, rr, deadline };

inline constexpr policy all_policies[] = {policy::other, policy::batch, policy::idle,
                                          policy::fifo,  policy::rr,    policy::deadline};

std::string_view name_of(policy which) noexcept;

/// Parameters that a policy does not use are 0.
struct schedule {
  policy of = policy::other;
  unsigned priority = 0;         ///< fifo and rr: 1 to 99
  int nice = 0;                  ///< other and batch: -20 to 19
  std::uint64_t slice_ns = 0;    ///< other and batch, Linux 6.12 or later; 0: the kernel's default
  std::uint64_t runtime_ns = 0;  ///< deadline: the time in each period, before the deadline
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;

  /// Tells whether a thread that never sleeps keeps all others off its processor.
  [[nodiscard]] bool outranks_others() const noexcept {
    return is_real_time() || of == policy::deadline;
  }
  /// Tells whether only a real-time thread can take the processor away.
  [[nodiscard]] bool is_real_time() const noexcept {
    return of == policy::fifo || of == policy::rr;
  }
};

/// Puts the calling thread under the schedule, and reads it back. Throws condition_error if the
/// kernel refuses, or grants something else.
void run_under(const schedule& wanted);

/// Throws condition_error if so many threads that never sleep, on so many processors, would leave
/// the rest of the machine neither a processor nor a share of time.
void leave_room(const schedule& wanted, unsigned threads, unsigned processors);

/// Returns the slice of a thread that asks for none; 0 if the kernel does not report it.
std::uint64_t default_slice_ns() noexcept;

}  // namespace lockyard::harness
