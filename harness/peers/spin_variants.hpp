// SPDX-License-Identifier: Apache-2.0
#pragma once

// Variants of the spinlock of M. Skarupke's text (2019), as in its benchmarks and its readers'
// proposals. Each differs from `yielding_spinlock` in one or two parts, so that a measurement shows
// what the part is worth.

#include <lockyard/detail/arch.hpp>
#include <lockyard/detail/os.hpp>

#include <peers/names.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::variants {

/// How a free lock is acquired.
enum class taking : std::uint8_t { exchange, compare_exchange };
/// Whether a waiter reads the lock until it is free before it tries to acquire it again.
enum class looking : std::uint8_t { reads, tries_only };
enum class releasing : std::uint8_t { stores, exchanges };

/// How a waiter passes the time: so many looks in a row, each followed by an idle loop or a pause
/// instruction, and then so many yields.
struct spinning {
  unsigned noops = 0;
  unsigned pauses = 16;
  unsigned yields = 1;
};

class waiter {
 public:
  explicit waiter(spinning by) noexcept : by_{by} {}

  void wait() noexcept {
    if (looks_ < by_.noops) {
      asm volatile("");  // the compiler keeps the loop
    } else if (looks_ < by_.noops + by_.pauses) {
      detail::arch::pause();
    } else {
      for (unsigned i = 0; i < by_.yields; ++i) detail::os::yield();
      looks_ = 0;
      return;
    }
    ++looks_;
  }

 private:
  spinning by_;
  unsigned looks_ = 0;
};

template <taking Take, looking Look, releasing Release, spinning By>
class spinlock {
 public:
  void lock() noexcept {
    waiter waits{By};
    while (!try_lock()) {
      if constexpr (Look == looking::reads) {
        // relaxed(revalidated): try_lock() decides.
        while (locked_.load(std::memory_order_relaxed)) waits.wait();
      } else {
        waits.wait();
      }
    }
  }
  bool try_lock() noexcept {
    if constexpr (Look == looking::reads) {
      // relaxed(revalidated): a stale "free" is caught below.
      if (locked_.load(std::memory_order_relaxed)) return false;
    }
    if constexpr (Take == taking::exchange) {
      // order[exchange]: acquire; pairs [store, unlock_exchange]; starts after the last critical
      // section.
      return !locked_.exchange(true, std::memory_order_acquire);
    } else {
      bool free = false;
      // order[compare]: acquire; pairs [store, unlock_exchange]; starts after the last critical
      // section. relaxed(hint): a failure promises nothing.
      return locked_.compare_exchange_strong(free, true, std::memory_order_acquire,
                                             std::memory_order_relaxed);
    }
  }
  void unlock() noexcept {
    if constexpr (Release == releasing::stores) {
      // order[store]: release; pairs [exchange, compare]; publishes the critical section.
      locked_.store(false, std::memory_order_release);
    } else {
      // order[unlock_exchange]: release; pairs [exchange, compare]; publishes the critical section.
      locked_.exchange(false, std::memory_order_release);
    }
  }

 private:
  std::atomic<bool> locked_{false};
};

class exchange_only
    : public spinlock<taking::exchange, looking::tries_only, releasing::stores, spinning{}> {};
/// One test-and-set, then a yield.
class exchange_once : public spinlock<taking::exchange, looking::tries_only, releasing::stores,
                                      spinning{.pauses = 0}> {};
class compare_exchange
    : public spinlock<taking::compare_exchange, looking::reads, releasing::stores, spinning{}> {};
class compare_exchange_only : public spinlock<taking::compare_exchange, looking::tries_only,
                                              releasing::stores, spinning{}> {};
class unlock_by_exchange
    : public spinlock<taking::exchange, looking::reads, releasing::exchanges, spinning{}> {};
template <spinning By>
using parameterised = spinlock<taking::exchange, looking::reads, releasing::stores, By>;
class sixteen_noops : public parameterised<spinning{.noops = 16, .pauses = 0}> {};
class four_pauses : public parameterised<spinning{.pauses = 4}> {};
class many_pauses : public parameterised<spinning{.pauses = 256}> {};
class four_yields : public parameterised<spinning{.yields = 4}> {};

/// `ticket_spinlock` whose unlock is an atomic addition.
class ticket_unlock_by_addition {
 public:
  void lock() noexcept {
    // relaxed(atomicity): a number; [serve] orders the critical section.
    const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    waiter waits{spinning{}};
    // order[serve]: acquire; pairs [add]; starts after the last critical section.
    while (serving_.load(std::memory_order_acquire) != mine) waits.wait();
  }
  bool try_lock() noexcept {
    // order[try_serve]: acquire; pairs [add]; starts after the last critical section.
    std::uint32_t mine = serving_.load(std::memory_order_acquire);
    // relaxed(atomicity): a number; [try_serve] has acquired.
    return next_.compare_exchange_strong(mine, mine + 1, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }
  void unlock() noexcept {
    // order[add]: release; pairs [serve, try_serve]; publishes the critical section.
    serving_.fetch_add(1, std::memory_order_release);
  }

 private:
  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> serving_{0};
};

}  // namespace lockyard::inline v0::variants
