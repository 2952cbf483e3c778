// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/queued_word.hpp>

#include <cstdint>

namespace lockyard::inline v0::detail {

/// The bits of a resilient lock's words: the lock's own word, and its waiters' nodes.
///
/// | bits of the word | meaning |
/// |---|---|
/// | 0 | owned |
/// | 1 | asleep: unlock has to wake the next waiter (parks) |
/// | 2 | open: newcomers may barge past the waiters (parks) |
/// | 8 | pending: one waiter goes before the queue |
/// | 16 to 31 | tail: number of the queue's last node, or 0 |
///
/// | bits of a node | meaning |
/// |---|---|
/// | 0 | in use |
/// | 1 | granted: its waiter is the head of the queue |
/// | 2 | expired, only with granted: its waiter leaves, and all waiters behind it leave too |
/// | 3 | cancelled: its waiter is gone |
/// | 4 | passed: the next waiter behind it is the head of the queue |
/// | 5 | parked: its waiter has to be woken |
/// | 16 to 31 | number of the node behind, or 0 |
struct line_bits : queued_word {
  static constexpr std::uint32_t asleep = 2, open = 4;
  static constexpr std::uint32_t in_use = 1, granted = 2, expired = 4, cancelled = 8, passed = 16,
                                 parked = 32, one_in_next = 1U << 16U;

  static constexpr bool is_waited_for(std::uint32_t word) noexcept { return word >= pending; }
  static constexpr bool is_unwanted(std::uint32_t word) noexcept {
    return !is_waited_for(word) && (word & owned) == 0;
  }

  /// Returns the word without `bits`. If no thread waits any longer, no thread sleeps either, so
  /// only `owned` is kept, and try_lock can acquire a free lock.
  static constexpr std::uint32_t left_without(std::uint32_t word, std::uint32_t bits) noexcept {
    const std::uint32_t left = word & ~bits;
    return is_waited_for(left) ? left : left & owned;
  }
};

}  // namespace lockyard::inline v0::detail
