// SPDX-License-Identifier: Apache-2.0
#pragma once

// Locks that serve the harness itself.

#include <lockyard/detail/os.hpp>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <peers/names.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::controls {

/// Does nothing, alone or shared. The compiler may not move the critical section out of it.
class null_lock {
 public:
  void lock() noexcept {
    // order[entry]: seq_cst; pairs [exit]; for the compiler alone, no test: no other thread is
    // involved.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  bool try_lock() noexcept {
    lock();
    return true;
  }
  void unlock() noexcept {
    // order[exit]: seq_cst; pairs [entry]; for the compiler alone, no test: as above.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  void lock_shared() noexcept { lock(); }
  bool try_lock_shared() noexcept { return try_lock(); }
  void unlock_shared() noexcept { unlock(); }
};

/// Admits every thread at once: a try_lock while the lock is held succeeds, which a check detects
/// with any number of cores and under any load.
class broken_lock : public null_lock {};

/// yielding_spinlock as it would be without a world: one exchange, one store.
class handwritten_spinlock {
 public:
  void lock() noexcept {
    while (!try_lock()) {
      // relaxed(revalidated): the exchange decides.
      for (int pauses = 0; locked_.load(std::memory_order_relaxed); ++pauses) {
        if (pauses < 16) {
          detail::arch::pause();
        } else {
          pauses = -1;
          sched_yield();
        }
      }
    }
  }
  bool try_lock() noexcept {
    // order[spin_take]: acquire; pairs [spin_release]; starts after the last critical section.
    return !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept {
    // order[spin_release]: release; pairs [spin_take]; publishes the critical section.
    locked_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> locked_{false};
};

/// futex_mutex as it would be without a world.
class handwritten_futex_mutex {
 public:
  void lock() noexcept {
    if (try_lock()) return;
    // order[futex_retake]: acquire; pairs [futex_release]; starts after the last critical section.
    while (state_.exchange(2, std::memory_order_acquire) != 0) {
      syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, 2, nullptr);
    }
  }
  bool try_lock() noexcept {
    std::uint32_t free = 0;
    // order[futex_take]: acquire; pairs [futex_release]; starts after the last critical section.
    // relaxed(hint): a failure promises nothing.
    return state_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void unlock() noexcept {
    // order[futex_release]: release; pairs [futex_take, futex_retake]; publishes the section.
    if (state_.exchange(0, std::memory_order_release) == 2) {
      syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1);
    }
  }

 private:
  std::atomic<std::uint32_t> state_{0};
};

/// Enters the kernel for each call, free or not, as a mutex does that is a kernel object: pi_mutex
/// without its way past the kernel.
class kernel_mutex {
 public:
  void lock() noexcept {
    detail::os::futex_lock_pi(&word_, nullptr, [] { return true; });
    take_over();
  }
  bool try_lock() noexcept {
    if (detail::os::call(SYS_futex, &word_, FUTEX_TRYLOCK_PI_PRIVATE, 0, nullptr, nullptr, 0) != 0)
      return false;
    take_over();
    return true;
  }
  void unlock() noexcept {
    // order[kernel_release]: release; pairs [kernel_take]; publishes the critical section. It
    // changes nothing: the kernel sets the word, and orders its own accesses.
    word_.fetch_or(0, std::memory_order_release);
    detail::os::futex_unlock_pi(&word_);
  }

 private:
  void take_over() noexcept {
    // order[kernel_take]: acquire; pairs [kernel_release]; starts after the last critical section.
    word_.fetch_or(0, std::memory_order_acquire);
  }

  std::atomic<std::uint32_t> word_{0};  ///< the owner's thread id, set by the kernel
};

/// No lock: the operation that needs one is an atomic addition instead. The study patterns uses the
/// lock-free counterpart of its data.
template <class Addition>
class counter_without_lock {
 public:
  /// Its users leave out the data that a lock would protect.
  static constexpr bool counts_by_itself = true;

  void lock() noexcept { Addition::add_one(count_); }
  bool try_lock() noexcept {
    lock();
    return true;
  }
  void unlock() noexcept {}

 private:
  std::atomic<std::uint64_t> count_{0};
};

struct atomic_addition {
  static void add_one(std::atomic<std::uint64_t>& count) noexcept {
    // relaxed(atomicity): a count.
    count.fetch_add(1, std::memory_order_relaxed);
  }
};
class lock_free : public counter_without_lock<atomic_addition> {};

/// By compare-and-exchange: after a failure it tries again at once.
struct exchanged_addition {
  static void add_one(std::atomic<std::uint64_t>& count) noexcept {
    // relaxed(revalidated): the exchange decides.
    std::uint64_t seen = count.load(std::memory_order_relaxed);
    // relaxed(atomicity): a count.
    while (!count.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
    }
  }
};
class cas_counter : public counter_without_lock<exchanged_addition> {};

/// The same with contention management: after each failure it pauses twice as long before it looks
/// again (Dice and others, 2013).
struct backing_off_addition {
  static void add_one(std::atomic<std::uint64_t>& count) noexcept {
    constexpr unsigned most_pauses = 256;
    for (unsigned pauses = 1;; pauses = pauses < most_pauses ? pauses * 2 : pauses) {
      // relaxed(revalidated): the exchange decides.
      std::uint64_t seen = count.load(std::memory_order_relaxed);
      // relaxed(atomicity): a count.
      if (count.compare_exchange_strong(seen, seen + 1, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
        return;
      }
      for (unsigned i = 0; i < pauses; ++i) detail::arch::pause();
    }
  }
};
class backing_off_cas_counter : public counter_without_lock<backing_off_addition> {};

}  // namespace lockyard::inline v0::controls
