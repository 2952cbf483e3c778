// SPDX-License-Identifier: Apache-2.0
#pragma once

// Parking locks with a rule left out that no order and no wake alone stands for.

#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/await.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::checker {

enum class spinner_fault : std::uint8_t {
  keeps_mark,        ///< a spinner that gives up leaves its 2, and a woken thread trusts it
  sleeps_as_first,   ///< a thread that finds 1 sleeps, too, so that no thread spins
  comes_back_alone,  ///< a thread that saw the lock free takes it as if no thread slept
};

/// The mutex with one spinner, with one fault.
template <world W, spinner_fault Fault>
class faulty_spinner_mutex : public detail::timed_lock<faulty_spinner_mutex<W, Fault>, W> {
 public:
  void lock() noexcept {
    if (!take()) wait();
  }
  [[nodiscard]] bool try_lock() noexcept { return take(); }
  void unlock() noexcept {
    const std::uint32_t found = state_.load(std::memory_order_relaxed);
    state_.store(0, std::memory_order_release);
    if (found == 2) W::wake(state_, 1);
  }

 private:
  friend detail::timed_lock<faulty_spinner_mutex, W>;

  bool take() noexcept {
    std::uint32_t expected = 0;
    return state_.compare_exchange_strong(expected, 1, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  bool take_until(typename W::deadline limit) noexcept { return wait(limit); }

  bool wait(typename W::deadline limit = W::never) noexcept {
    for (;;) {
      const std::uint32_t found = state_.exchange(2, std::memory_order_acquire);
      if (found == 0) return true;
      if (found == 2 || Fault == spinner_fault::sleeps_as_first) {
        if (W::wait(state_, 2, limit) == W::wait_result::timed_out) return false;
      } else if (!saw_free(limit)) {
        std::uint32_t expected = 2;
        if (Fault != spinner_fault::keeps_mark) {
          state_.compare_exchange_strong(expected, 1, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
        }
        W::wake(state_, 1);
        return false;
      } else if (Fault == spinner_fault::comes_back_alone && take()) {
        return true;
      }
    }
  }

  bool saw_free(typename W::deadline limit = W::never) noexcept {
    return W::await(state_, is_zero, std::memory_order_relaxed, wait_policies::pausing{}, limit)
        .has_value();
  }

  atomic<W, std::uint32_t> state_{0};
};

enum class ticket_fault : std::uint8_t {
  wakes_one,   ///< and that may not be the one whose number is called
  forgets,     ///< a waiter with a time-out draws a number and leaves with it
  looks_late,  ///< unlock looks for waiters in a word of the lock after its release
};

/// The ticket mutex, with one fault.
template <world W, ticket_fault Fault>
class faulty_ticket_mutex : public detail::timed_lock<faulty_ticket_mutex<W, Fault>, W> {
 public:
  void lock() noexcept { wait_for(next_.fetch_add(2, std::memory_order_relaxed)); }
  [[nodiscard]] bool try_lock() noexcept { return take(); }
  void unlock() noexcept {
    const std::uint32_t mine = serving_.load(std::memory_order_relaxed) & ~1U;
    bool wakes = (serving_.exchange(mine + 2, std::memory_order_release) & 1U) != 0;
    if (Fault == ticket_fault::looks_late) {
      wakes = next_.load(std::memory_order_relaxed) != mine + 2;
    }
    if (wakes) W::wake(serving_, Fault == ticket_fault::wakes_one ? 1 : UINT32_MAX);
  }

 private:
  friend detail::timed_lock<faulty_ticket_mutex, W>;

  bool take() noexcept {
    std::uint32_t called = serving_.load(std::memory_order_acquire) & ~1U;
    return next_.compare_exchange_strong(called, called + 2, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }

  bool take_until(typename W::deadline limit) noexcept {
    if (Fault == ticket_fault::forgets) {
      return wait_for(next_.fetch_add(2, std::memory_order_relaxed), limit);
    }
    while (!take()) {
      if (sleep(serving_.load(std::memory_order_relaxed), limit) == W::wait_result::timed_out) {
        return false;
      }
    }
    return true;
  }

  bool wait_for(std::uint32_t mine, typename W::deadline limit = W::never) noexcept {
    for (;;) {
      const std::uint32_t called = serving_.load(std::memory_order_acquire);
      if ((called & ~1U) == mine) return true;
      if (sleep(called, limit) == W::wait_result::timed_out) return false;
    }
  }

  typename W::wait_result sleep(std::uint32_t seen,
                                typename W::deadline limit = W::never) noexcept {
    const std::uint32_t marked = seen | 1U;
    if (seen != marked && !serving_.compare_exchange_strong(seen, marked, std::memory_order_relaxed,
                                                            std::memory_order_relaxed)) {
      return W::wait_result::changed;
    }
    return W::wait(serving_, marked, limit);
  }

  atomic<W, std::uint32_t> next_{0};
  atomic<W, std::uint32_t> serving_{0};
};

/// Unlock frees the word of a priority-inheritance mutex although the kernel has a waiter for it.
template <world W>
class freeing_pi_mutex {
 public:
  void lock() noexcept {
    if (!try_lock()) W::pi_lock(state_);
  }
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t expected = 0;
    return state_.compare_exchange_strong(expected, W::thread_id(), std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void unlock() noexcept { state_.store(0, std::memory_order_release); }

 private:
  atomic<W, std::uint32_t> state_{0};
};

}  // namespace lockyard::checker
