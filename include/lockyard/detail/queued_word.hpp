// SPDX-License-Identifier: Apache-2.0
#pragma once

// The word that queued_spinlock and resilient_spinlock have in common, and the step that appends a
// node to the queue.

#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The parts of the word: an owner, one waiter that precedes the queue, and the number of the
/// queue's last node. Linux exchanges the tail alone, as half a word. C++ has no access to a part
/// of an atomic, so here an exchange also replaces `owned` and `pending`, and a subtraction
/// restores them.
///
/// Invariants. A part of the word shows a number; its true number is what it would show without the
/// exchanges that are not restored yet.
/// W1 `owned` and `pending` show 0 or 1, and never less than their true numbers. An exchange makes
///    them show 1, which adds 1 or nothing to what they showed before; its thread later subtracts
///    just that. Every other step changes the true number and the number shown alike, and adds to a
///    part only in a read-modify-write that finds 0 there.
/// W2 While an exchange is not restored, its thread has a node in the queue, so there is a tail.
/// By W1, a word that shows a free lock is one of a free lock, and a subtraction never borrows from
/// the part above. By W2, the word of a free lock that no thread waits for, 0, is exact.
/// The lock's users keep W1 and W2: they add to `owned` and `pending` only as W1 says, and remove
/// the tail only when no thread in the queue may still be in append_to_queue().
struct queued_word {
  static constexpr std::uint32_t owned = 1, pending = 1U << 8U, one_in_tail = 1U << 16U;
};

/// Makes `self` the tail, and returns the word before. Its `owned` and `pending` may show too much
/// (W1); its tail is exact. `found` is a guess at the word.
/// Progress: wait-free. Compare-exchange goes first, because it needs one access to the lock's
/// cache line; but each failure moves the line, too, so many threads that append at the same time
/// would keep the line from the owner. An exchange cannot fail.
template <world W>
std::uint32_t append_to_queue(atomic<W, std::uint32_t>& word, std::uint32_t found,
                              std::uint32_t self) noexcept {
  constexpr auto owned = queued_word::owned, pending = queued_word::pending,
                 one_in_tail = queued_word::one_in_tail;
  constexpr int attempts = 3;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    // (tail,pending,owned)  t,p,o -> self,p,o
    // order[append]: acq_rel; pairs [append, append_anyhow, queued_spinlock.hpp:head]; a link adds
    // to the claim of the predecessor's node, and the zero that ended that node's last use does not
    // overwrite the link.
    // relaxed(revalidated): the next attempt compares the value found, and the exchange needs none.
    if (word.compare_exchange_strong(found, found % one_in_tail + self * one_in_tail,
                                     std::memory_order_acq_rel, std::memory_order_relaxed)) {
      return found;
    }
  }
  // (tail,pending,owned)  t,p,o -> self,1,1
  // order[append_anyhow]: acq_rel; pairs [append, append_anyhow, queued_spinlock.hpp:head]; as for
  // [append].
  found = word.exchange(self * one_in_tail + pending + owned, std::memory_order_acq_rel);
  if (const std::uint32_t surplus = ~found & (pending | owned); surplus != 0) {
    // (tail,pending,owned)  t,1,1 -> t,p,o
    // relaxed(atomicity): by W1 it enables no step that the true numbers do not enable, and it
    // continues the release sequence of the last unlock.
    word.fetch_sub(surplus, std::memory_order_relaxed);
  }
  return found;
}

}  // namespace lockyard::inline v0::detail
