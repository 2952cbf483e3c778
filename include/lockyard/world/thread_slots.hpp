// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small numbers for living threads, for the native world: a thread claims the lowest free slot at
// its first question and gives it back when it ends.

#include <lockyard/world/world.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lockyard::inline v0::detail {

/// The slots of a process: one bit each, set while a living thread has it.
class slot_registry {
 public:
  static constexpr std::uint32_t capacity = 4096;

  /// Claims the lowest free slot; `no_slot` when all are taken.
  std::uint32_t claim() noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      // relaxed(revalidated): the fetch_or below decides; a stale value costs another round.
      std::uint64_t seen = words_[i].load(std::memory_order_relaxed);
      while (~seen != 0) {
        const int bit = std::countr_one(seen);
        const std::uint64_t mask = std::uint64_t{1} << bit;
        // order[claim]: acquire; pairs [give_back]; what the slot's last thread wrote to state kept
        // by slot happens before what this one does with it.
        seen = words_[i].fetch_or(mask, std::memory_order_acquire);
        if ((seen & mask) == 0) return static_cast<std::uint32_t>(i * 64) + std::uint32_t(bit);
      }
    }
    return no_slot;
  }

  void give_back(std::uint32_t slot) noexcept {
    const std::uint64_t mask = std::uint64_t{1} << (slot % 64);
    // order[give_back]: release; pairs [claim]; hands what this thread wrote to the slot's next
    // one.
    words_[slot / 64].fetch_and(~mask, std::memory_order_release);
  }

 private:
  std::array<std::atomic<std::uint64_t>, capacity / 64> words_{};
};

/// A thread's hold on its slot, given back by the destructor.
class slot_holder {
 public:
  constexpr slot_holder() noexcept = default;
  slot_holder(const slot_holder&) = delete;
  slot_holder& operator=(const slot_holder&) = delete;
  ~slot_holder() {
    if (slot_ != no_slot) registry_->give_back(slot_);
    registry_ = nullptr;
    slot_ = no_slot;
    asked_ = true;
  }

  /// The slot; `no_slot` also for whoever asks after this object's destruction at thread exit.
  std::uint32_t slot(slot_registry& registry) noexcept {
    if (!asked_) {
      asked_ = true;
      registry_ = &registry;
      slot_ = registry.claim();
    }
    return slot_;
  }

 private:
  slot_registry* registry_ = nullptr;
  std::uint32_t slot_ = no_slot;
  bool asked_ = false;
};

}  // namespace lockyard::inline v0::detail
