// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small numbers for living threads, for the native world: a thread claims the lowest free slot at
// its first use and releases it when the thread ends.

#include <lockyard/world/process_state.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The slots of a process: one bit for each slot, set while a living thread has the slot.
class [[gnu::visibility("default")]] slot_registry {
 public:
  static constexpr std::uint32_t capacity = 4096;
  static constexpr state_traits process_traits{.key = state_key{"slot_registry"}.value(),
                                               .starts_as_zeros = true};

  /// Claims the lowest free slot; returns `no_slot` if all are taken.
  std::uint32_t claim() noexcept {
    for (std::size_t i = 0; i < word_count; ++i) {
      // relaxed(revalidated): the fetch_or below decides; a stale value costs another round.
      std::uint64_t seen = words_[i].load(std::memory_order_relaxed);
      while (~seen != 0) {
        const int bit = std::countr_one(seen);
        const std::uint64_t mask = std::uint64_t{1} << bit;
        // order[claim]: acquire; pairs [release]; the previous thread's writes to the slot's
        // state happen before this thread's accesses.
        seen = words_[i].fetch_or(mask, std::memory_order_acquire);
        if ((seen & mask) == 0) return static_cast<std::uint32_t>(i * 64) + std::uint32_t(bit);
      }
    }
    return no_slot;
  }

  void release(std::uint32_t slot) noexcept {
    const std::uint64_t mask = std::uint64_t{1} << (slot % 64);
    // order[release]: release; pairs [claim]; publishes this thread's writes to the slot's next
    // thread.
    words_[slot / 64].fetch_and(~mask, std::memory_order_release);
  }

 private:
  static constexpr std::size_t word_count = capacity / 64;

  std::atomic<std::uint64_t> words_[word_count]{};
};

/// A thread's record of its slot. Trivially destructible, so that other objects' destructors can
/// use it until the thread has ended.
struct [[gnu::visibility("default")]] slot_memory {
  std::uint32_t slot = no_slot;
  bool asked = false;
};

/// Releases a thread's slot when the thread ends.
struct [[gnu::visibility("default")]] slot_guard {
  slot_registry* registry = nullptr;
  slot_memory* memory = nullptr;

  constexpr slot_guard() noexcept = default;
  slot_guard(const slot_guard&) = delete;
  slot_guard& operator=(const slot_guard&) = delete;
  ~slot_guard() {
    if (memory == nullptr || memory->slot == no_slot) return;
    registry->release(memory->slot);
    memory->slot = no_slot;
  }
};

}  // namespace lockyard::inline v0::detail
