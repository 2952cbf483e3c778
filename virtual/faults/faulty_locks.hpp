// SPDX-License-Identifier: Apache-2.0
#pragma once

// Locks with a fault that the checker has to find. Each says what is wrong with it.

#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::checker {

/// The counters have one bit: a third thread draws the number that is being served.
template <world W>
class narrow_ticket_lock {
 public:
  void lock() noexcept {
    const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed) % 2;
    const auto is_mine = [mine](std::uint32_t called) { return called == mine; };
    W::await(serving_, is_mine, std::memory_order_acquire, wait_policies::pausing{});
  }
  void unlock() noexcept {
    const std::uint32_t mine = serving_.load(std::memory_order_relaxed);
    serving_.store((mine + 1) % 2, std::memory_order_release);
  }

 private:
  atomic<W, std::uint32_t> next_{0};
  atomic<W, std::uint32_t> serving_{0};
};

/// A try that fails has drawn a number nevertheless, and no thread will wait for it.
template <world W>
class drawing_ticket_lock {
 public:
  void lock() noexcept {
    const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    const auto is_mine = [mine](std::uint32_t called) { return called == mine; };
    W::await(serving_, is_mine, std::memory_order_acquire, wait_policies::pausing{});
  }
  [[nodiscard]] bool try_lock() noexcept {
    const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    return serving_.load(std::memory_order_acquire) == mine;
  }
  void unlock() noexcept {
    const std::uint32_t mine = serving_.load(std::memory_order_relaxed);
    serving_.store(mine + 1, std::memory_order_release);
  }

 private:
  atomic<W, std::uint32_t> next_{0};
  atomic<W, std::uint32_t> serving_{0};
};

/// The release store is overwritten by a relaxed one of the same thread, which was part of its
/// release sequence before C++20.
template <world W>
class twice_released_lock {
 public:
  void lock() noexcept {
    W::await_exchange(held_, 2U, is_zero, std::memory_order_acquire, wait_policies::pausing{});
  }
  void unlock() noexcept {
    held_.store(1, std::memory_order_release);
    held_.store(0, std::memory_order_relaxed);
  }

 private:
  atomic<W, std::uint32_t> held_{0};
};

enum class futex_fault : std::uint8_t {
  never_wakes,
  wakes_before_release,
  forgets_third,      ///< a thread that slept comes back as if no other thread slept
  trusts_wake,        ///< takes a return from sleep for ownership
  tries_by_exchange,  ///< a try that fails erases the mark for sleepers
};

/// The futex mutex of three states (free, held, held with sleepers) with one fault.
template <world W, futex_fault Fault>
class faulty_futex_mutex {
 public:
  void lock() noexcept {
    if (take()) return;
    while (state_.exchange(2, std::memory_order_acquire) != 0) {
      W::wait(state_, 2);
      if (Fault == futex_fault::trusts_wake) return;
      if (Fault == futex_fault::forgets_third && take()) return;
    }
  }
  [[nodiscard]] bool try_lock() noexcept {
    if (Fault == futex_fault::tries_by_exchange) {
      return state_.exchange(1, std::memory_order_acquire) == 0;
    }
    return take();
  }
  void unlock() noexcept {
    if (Fault == futex_fault::wakes_before_release) {
      if (state_.load(std::memory_order_relaxed) == 2) W::wake(state_, 1);
      state_.store(0, std::memory_order_release);
      return;
    }
    const bool anybody = state_.exchange(0, std::memory_order_release) == 2;
    if (anybody && Fault != futex_fault::never_wakes) W::wake(state_, 1);
  }

 private:
  bool take() noexcept {
    std::uint32_t expected = 0;
    return state_.compare_exchange_strong(expected, 1, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  atomic<W, std::uint32_t> state_{0};
};

/// The same, timed; a thread that gives up restores the state without sleepers.
template <world W>
class forgetful_futex_mutex : public detail::timed_lock<forgetful_futex_mutex<W>, W> {
 public:
  void lock() noexcept {
    while (state_.exchange(2, std::memory_order_acquire) != 0) W::wait(state_, 2);
  }
  [[nodiscard]] bool try_lock() noexcept { return take(); }
  void unlock() noexcept {
    if (state_.exchange(0, std::memory_order_release) == 2) W::wake(state_, 1);
  }

 private:
  friend detail::timed_lock<forgetful_futex_mutex, W>;

  bool take() noexcept {
    std::uint32_t expected = 0;
    return state_.compare_exchange_strong(expected, 1, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  bool take_until(typename W::deadline limit) noexcept {
    while (state_.exchange(2, std::memory_order_acquire) != 0) {
      if (W::wait(state_, 2, limit) != W::wait_result::timed_out) continue;
      std::uint32_t expected = 2;
      state_.compare_exchange_strong(expected, 1, std::memory_order_relaxed,
                                     std::memory_order_relaxed);
      return false;
    }
    return true;
  }

  atomic<W, std::uint32_t> state_{0};
};

/// Unlock reads the number of waiters after it has released the lock, which the next owner may
/// have ended by then.
template <world W>
class counting_mutex {
 public:
  void lock() noexcept {
    if (state_.exchange(1, std::memory_order_seq_cst) == 0) return;
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    while (state_.exchange(1, std::memory_order_seq_cst) != 0) W::wait(state_, 1);
    waiters_.fetch_sub(1, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    state_.store(0, std::memory_order_seq_cst);
    if (waiters_.load(std::memory_order_seq_cst) != 0) W::wake(state_, 1);
  }

 private:
  atomic<W, std::uint32_t> state_{0};
  atomic<W, std::uint32_t> waiters_{0};
};

}  // namespace lockyard::checker
