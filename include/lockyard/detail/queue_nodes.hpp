// SPDX-License-Identifier: Apache-2.0
#pragma once

// The nodes of queues for locks whose nodes must not lie on the waiter's stack: a node is one word,
// which is never deallocated, with a number that fits into a lock's word.

#include <lockyard/detail/arch.hpp>
#include <lockyard/world/process_state.hpp>
#include <lockyard/world/world.hpp>

#include <array>
#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The nodes of all threads: a few for each slot. A node is a word; zero means that no thread uses
/// it, and the lock whose waiter uses the node defines all other values.
///
/// A thread has several nodes because its signal handlers may wait while the thread waits, and
/// because another thread may still use a node. The nodes stay with the slot when it passes from
/// thread to thread: a node that is still in use when its thread ends is not free for the slot's
/// next thread either.
/// Lifetime: the nodes live as long as the process, so a late access to a node never reaches other
/// memory.
template <world W, class Word = std::uint64_t, std::uint32_t Levels = 4>
class [[gnu::visibility("default")]] queue_nodes {
 public:
  using node = atomic<W, Word>;

  static constexpr std::uint32_t levels = Levels;
  static constexpr std::uint32_t last = W::slot_count * levels;
  static constexpr std::uint32_t none = 0;
  static constexpr state_traits process_traits{
      .key = state_key{"queue_nodes"}.add_world<W>().add(sizeof(Word)).add(Levels).value(),
      .starts_as_zeros = true};

  /// Claims a free node of the calling thread and stores `taken` in it, which must not be zero.
  /// Returns the node's number, 1 to `last`; `none` if all nodes are in use, or if the thread has
  /// no slot.
  static std::uint32_t claim(Word taken) noexcept {
    const std::uint32_t slot = W::thread_slot();
    if (slot == no_slot) return none;
    for (std::uint32_t number = slot * levels + 1; number <= (slot + 1) * levels; ++number) {
      Word free = 0;
      // relaxed(owner): only this thread claims its nodes; but one of its signal handlers may run
      // between a load and a store, so the claim is one step.
      if (of(number).compare_exchange_strong(free, taken, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
        return number;
      }
    }
    return none;
  }

  /// Precondition: a number that claim() has returned.
  static node& of(std::uint32_t number) noexcept {
    auto& all = W::template process_state<queue_nodes>().threads_;
    return all[(number - 1) / levels].nodes[(number - 1) % levels];
  }

 private:
  struct alignas(arch::interference_size) thread_nodes {
    std::array<node, levels> nodes{};
  };

  std::array<thread_nodes, W::slot_count> threads_{};
};

}  // namespace lockyard::inline v0::detail
