// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace my {

/// Grants in the order of arrival. Waiting threads yield the processor.
class ticket_lock {
 public:
  void lock() noexcept {
    // relaxed(atomicity): the number only has to be unique.
    const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    // order[seen]: acquire; pairs [served]; starts after the last critical section.
    while (serving_.load(std::memory_order_acquire) != mine) sched_yield();
  }

  bool try_lock() noexcept {
    // order[free]: acquire; pairs [served]; starts after the last critical section, if it takes it.
    std::uint32_t mine = serving_.load(std::memory_order_acquire);
    // relaxed(atomicity): the turn cannot pass while no thread has the next number.
    return next_.compare_exchange_strong(mine, mine + 1, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }

  void unlock() noexcept {
    // relaxed(owner): only the owner writes it.
    const std::uint32_t mine = serving_.load(std::memory_order_relaxed);
    // order[served]: release; pairs [seen, free]; publishes the critical section.
    serving_.store(mine + 1, std::memory_order_release);
  }

 private:
  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> serving_{0};
};

}  // namespace my
