// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distinguishes the child of a fork from its parent, for the native world.

#include <lockyard/world/process_state.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// Distinguishes forked children from their parents: a number that the kernel wipes in a child, so
/// that it is correct before any handler of fork runs there; and the last number of an ancestor.
struct [[gnu::visibility("default")]] fork_epoch {
  static constexpr state_traits process_traits{
      .key = state_key{"fork_epoch"}.value(), .starts_as_zeros = true, .is_wiped_on_fork = true};
  std::atomic<std::uint32_t> now{0};
};
struct [[gnu::visibility("default")]] last_fork_epoch {
  static constexpr state_traits process_traits{.key = state_key{"last_fork_epoch"}.value(),
                                               .starts_as_zeros = true};
  std::atomic<std::uint32_t> given{0};
};

/// Returns the number of this process: a new number in each child of a fork, from the child's first
/// instruction on; never 0.
inline std::uint32_t current_fork_epoch() noexcept {
  std::atomic<std::uint32_t>& now = state_of_process<fork_epoch>().now;
  // relaxed(owner): the kernel wipes it before the child's only thread starts.
  std::uint32_t known = now.load(std::memory_order_relaxed);
  if (known != 0) return known;
  auto& given = state_of_process<last_fork_epoch>().given;
  // relaxed(atomicity): a process and its ancestors never get the same number.
  const std::uint32_t next = given.fetch_add(1, std::memory_order_relaxed) + 1;
  // relaxed(atomicity): threads that call this at the same time agree.
  return now.compare_exchange_strong(known, next, std::memory_order_relaxed,
                                     std::memory_order_relaxed)
             ? next
             : known;
}

/// The process in which State::forget_in_child() was called last, or does not need the call.
template <class State>
struct [[gnu::visibility("default")]] forgetting_epoch {
  static constexpr state_traits process_traits{
      .key = state_key{"forgetting_epoch"}.add(State::process_traits.key).value(),
      .starts_as_zeros = true};
  std::atomic<std::uint32_t> last{0};
};

}  // namespace lockyard::inline v0::detail
