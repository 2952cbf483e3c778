// SPDX-License-Identifier: Apache-2.0
#pragma once

// basic_mutex in small, with one of its rules left out.

#include <lockyard/detail/mutex_waiters.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lockyard::checker {

enum class mutex_fault : std::uint8_t {
  none,            ///< shows that the fault is found, not the copy
  looks_once,      ///< unlock does not look again after its release
  has_no_barrier,  ///< a sleeper links itself, but an unlock may miss it
  arms_without,    ///< an unavailable barrier counts
  ends_by_fence,   ///< I2: an unlock without a fence may miss that the active waiter retires
  hands_on_without_barrier,  ///< the same for a waiter that gives up
  keeps_designation,         ///< a waiter that gives up hands nothing on
  leaves_uncovered,    ///< a waiter without a barrier, on which an unlock relies, just gives up
  frees_before_owner,  ///< unlock frees the lock, and then hands it off
  looks_late,          ///< unlock looks at the lock after its release
};

enum class condition_fault : std::uint8_t;
template <world W, condition_fault Fault>
class faulty_condition;

template <world W, mutex_fault Fault>
class faulty_mutex : public detail::timed_lock<faulty_mutex<W, Fault>, W> {
  using mutex_waiters = detail::mutex_waiters<W>;
  using guarded_bucket = detail::guarded_bucket<W>;
  using node = typename mutex_waiters::node;
  using wake_reason = typename mutex_waiters::wake_reason;
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto seq_cst = std::memory_order_seq_cst;

 public:
  void lock() noexcept {
    if (!take()) wait();
  }
  [[nodiscard]] bool try_lock() noexcept { return take(); }

  void unlock() noexcept {
    mutex_waiters waiters{this};
    const detail::waiter_summary before = waiters.summary();
    const bool may_have_waiters = waiters.may_have_waiters(before);
    if (may_have_waiters && !waiters.has_active_waiter()) return unlock_under_bucket_lock(waiters);
    held_.store(false, std::memory_order_release);
    if (!before.may_elide_fence()) {
      W::fence(seq_cst);
    } else {
      W::asymmetric_fence_light(W::registered);
    }
    if (Fault == mutex_fault::looks_once) return;
    const detail::waiter_summary now = waiters.summary();
    if (Fault == mutex_fault::looks_late && held_.load(relaxed)) return;
    if (waiters.may_have_waiters(now)) {
      if (!waiters.has_active_waiter()) unpark_one(waiters);
    } else if (now.word() == 0 && W::asymmetric_fence_register()) {
      guarded_bucket{waiters}.elide_fence();
    }
  }

 private:
  friend detail::timed_lock<faulty_mutex, W>;
  template <world, condition_fault>
  friend class faulty_condition;

  void unlock_under_bucket_lock(mutex_waiters waiters) noexcept {
    waiters.under_bucket_lock([&](guarded_bucket& home) { return release_or_hand_off(home); });
  }

  typename mutex_waiters::sleeper release_or_hand_off(guarded_bucket& home) noexcept {
    node* const first = home.first();
    const bool hands_over = first != nullptr && W::now() > first->since();
    if (!hands_over || Fault == mutex_fault::frees_before_owner) {
      held_.store(false, std::memory_order_release);
    }
    return hands_over ? home.unpark(*first, wake_reason::owner) : home.unpark_first();
  }

  static void unpark_one(mutex_waiters waiters) noexcept {
    waiters.under_bucket_lock([](guarded_bucket& home) { return home.unpark_first(); });
  }

  bool take() noexcept {
    return !held_.load(relaxed) && !held_.exchange(true, std::memory_order_acquire);
  }
  bool take_until(typename W::deadline limit) noexcept { return wait(limit); }

  /// Waiters do not spin: the active waiter is one that was unparked.
  bool wait(typename W::deadline limit = W::never) noexcept {
    mutex_waiters waiters{this};
    node self{this, detail::waiter_kind::mutex, W::now()};
    return sleep_until_turn(waiters, self, enqueue(waiters, self, false), limit);
  }

  bool sleep_until_turn(mutex_waiters waiters, node& self, bool is_covered,
                        typename W::deadline limit = W::never) noexcept {
    for (;;) {
      const bool in_time = sleep(self, is_covered, limit);
      const wake_reason reason = end_sleep(waiters, self);
      if (reason == wake_reason::owner) return true;
      const bool is_active = reason == wake_reason::active && waiters.arrive_as_active_waiter();
      if (take()) {
        if (is_active) waiters.retire_active_waiter();
        return true;
      }
      if (!in_time) {
        if (is_active) {
          if (Fault != mutex_fault::keeps_designation) hand_on(waiters);
        } else if (!is_covered && Fault != mutex_fault::leaves_uncovered) {
          unpark_one(waiters);
        }
        return false;
      }
      is_covered = enqueue(waiters, self, is_active);
    }
  }

  static bool enqueue(mutex_waiters waiters, node& self, bool is_active) noexcept {
    self.prepare_to_sleep();
    typename guarded_bucket::linked after;
    {
      guarded_bucket home{waiters};
      after = home.link(self);
      if (is_active) home.retire_active_waiter();
    }
    if (after.is_covered && (!is_active || Fault == mutex_fault::ends_by_fence)) {
      W::fence(seq_cst);
      return true;
    }
    if (Fault == mutex_fault::has_no_barrier) return true;
    const bool had_barrier = W::asymmetric_fence_heavy() || Fault == mutex_fault::arms_without;
    guarded_bucket{waiters}.record_barrier(self, after, had_barrier);
    return had_barrier;
  }

  bool sleep(const node& self, bool is_covered, typename W::deadline limit = W::never) noexcept {
    while (held_.load(relaxed) && self.reason() == wake_reason::none) {
      if (is_covered) {
        if (self.sleep(limit) == W::wait_result::timed_out) return false;
      } else {
        self.sleep(W::deadline_after(std::chrono::milliseconds{1}));
        if (W::passed(limit)) return false;
      }
    }
    return true;
  }

  static wake_reason end_sleep(mutex_waiters waiters, node& self) noexcept {
    guarded_bucket home{waiters};
    const wake_reason reason = self.reason();
    if (reason == wake_reason::none) home.unlink(self);
    return reason;
  }

  void hand_on(mutex_waiters waiters) noexcept {
    waiters.retire_active_waiter();
    const bool is_sure =
        Fault == mutex_fault::hands_on_without_barrier || W::asymmetric_fence_heavy();
    if (!is_sure) guarded_bucket{waiters}.require_fence();
    if (!is_sure || !held_.load(relaxed)) unpark_one(waiters);
  }

  atomic<W, bool> held_{false};
};

}  // namespace lockyard::checker
