// SPDX-License-Identifier: Apache-2.0
#pragma once

// Spinlocks that differ in one property each: the number of pauses before a yield, the instruction
// that takes the lock, the instruction that releases it.

#include <atomic>
#include <thread>

#if defined(__x86_64__)
#define SPIN_COUNTS_PAUSE() __builtin_ia32_pause()
#else
#define SPIN_COUNTS_PAUSE() __asm__ __volatile__("isb")
#endif

namespace spin_counts {

/// Waits for a free lock: pauses, and yields after every `Pauses` of them; 0 never yields.
template <unsigned Pauses>
class pause_then_yield {
 public:
  void operator()() noexcept {
    if (Pauses != 0 && ++paused_ >= Pauses) {
      paused_ = 0;
      std::this_thread::yield();
    } else {
      SPIN_COUNTS_PAUSE();
    }
  }

 private:
  unsigned paused_ = 0;
};

/// The lock of the text, with the number of pauses as a parameter (there it is 16).
template <unsigned Pauses>
class spinlock {
 public:
  void lock() noexcept {
    for (pause_then_yield<Pauses> wait; !try_lock(); wait()) {
    }
  }
  bool try_lock() noexcept {
    return !locked_.load(std::memory_order_relaxed) &&
           !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

using yield_after_1 = spinlock<1>;
using yield_after_4 = spinlock<4>;
using yield_after_16 = spinlock<16>;
using yield_after_64 = spinlock<64>;
using yield_after_256 = spinlock<256>;
using never_yield = spinlock<0>;

/// Tests only before its first exchange, and then exchanges in each turn.
class test_once {
 public:
  void lock() noexcept {
    if (try_lock()) return;
    for (pause_then_yield<16> wait; locked_.exchange(true, std::memory_order_acquire); wait()) {
    }
  }
  bool try_lock() noexcept {
    return !locked_.load(std::memory_order_relaxed) &&
           !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

/// Takes the lock by compare-exchange instead of exchange, with a test before it or without.
template <bool Tests>
class compare_exchange {
 public:
  void lock() noexcept {
    for (pause_then_yield<16> wait; !try_lock(); wait()) {
    }
  }
  bool try_lock() noexcept {
    if (Tests && locked_.load(std::memory_order_relaxed)) return false;
    bool expected = false;
    return locked_.compare_exchange_strong(expected, true, std::memory_order_acquire,
                                           std::memory_order_relaxed);
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

using test_and_compare = compare_exchange<true>;
using compare_only = compare_exchange<false>;

/// A ticket lock whose unlock is an atomic addition, which the text says doubles its cost.
template <bool IsAtomic>
class ticket {
 public:
  void lock() noexcept {
    const unsigned mine = next_.fetch_add(1, std::memory_order_relaxed);
    for (pause_then_yield<16> wait; serving_.load(std::memory_order_acquire) != mine; wait()) {
    }
  }
  bool try_lock() noexcept {
    unsigned serving = serving_.load(std::memory_order_acquire);
    return next_.compare_exchange_strong(serving, serving + 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void unlock() noexcept {
    if (IsAtomic) {
      serving_.fetch_add(1, std::memory_order_release);
    } else {
      serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
  }

 private:
  std::atomic<unsigned> next_{0};
  std::atomic<unsigned> serving_{0};
};

using ticket_stores = ticket<false>;
using ticket_adds = ticket<true>;

}  // namespace spin_counts
