// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a waiter in a queue is known by, for locks whose nodes may not lie on the waiter's stack:
// one word, which never goes away, with a number that fits into a lock's word.

#include <lockyard/detail/arch.hpp>
#include <lockyard/world/process_state.hpp>
#include <lockyard/world/world.hpp>

#include <array>
#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The nodes of all threads: a few for each slot. A node is a word; zero means that nobody uses it,
/// and everything else is the affair of the lock whose waiter it is.
///
/// A thread has several because its signal handlers may wait while it does, and because another
/// thread may not have let go of a node yet. Slots pass on their nodes from thread to thread: one
/// that is still in use when its thread ends is not free for the slot's next one either.
/// Lifetime: that of the process. So a late look at a node is never a look at other memory.
template <world W, class Word = std::uint64_t, std::uint32_t Levels = 4>
class [[gnu::visibility("default")]] queue_nodes {
 public:
  using node = typename W::template atomic<Word>;

  static constexpr std::uint32_t levels = Levels;
  static constexpr std::uint32_t last = W::slot_count * levels;
  static constexpr std::uint32_t none = 0;
  static constexpr state_traits process_traits{
      .key = state_key{"queue_nodes"}.add_world<W>().add(sizeof(Word)).add(Levels).value(),
      .starts_as_zeros = true};

  /// Takes a free node of the calling thread and puts `taken` into it, which is not zero. Returns
  /// its number, 1 to `last`; `none` if all are in use, or if the thread has no slot.
  static std::uint32_t claim(Word taken) noexcept {
    const std::uint32_t slot = W::thread_slot();
    if (slot == no_slot) return none;
    for (std::uint32_t number = slot * levels + 1; number <= (slot + 1) * levels; ++number) {
      Word free = 0;
      // relaxed(owner): only this thread claims its nodes; but a handler of its own may come
      // between a load and a store, so it is one step.
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
