// SPDX-License-Identifier: Apache-2.0
#pragma once

// Events with a rule left out. Where the rule is a fence's, the event is the shipped one, in a
// world without that fence.

#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/detail/timed_wait.hpp>
#include <lockyard/world/world.hpp>

#include <model/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::checker {

struct without_barrier : model::model {
  static bool asymmetric_fence_heavy() noexcept { return true; }
};

struct trusting_barrier : model::model {
  static bool asymmetric_fence_heavy() noexcept {
    model::model::asymmetric_fence_heavy();
    return true;
  }
};

struct without_fence : model::model {
  static void fence(std::memory_order /*order*/) noexcept {}
};

struct without_registration : model::model {
  static bool asymmetric_fence_register() noexcept { return true; }
};

enum class count_fault : std::uint8_t {
  trusts_count,  ///< the barrier is skipped whenever another thread is counted
  keeps_armed,   ///< a barrier is taken to last when its waiter has gone
  forgets_key,   ///< commit does not compare
};

/// The event count, with one fault.
template <world W, count_fault Fault>
class faulty_event_count {
  using lot = detail::parking_lot<detail::unwatched<W>>;
  using node = typename lot::node;
  using wake_reason = typename lot::wake_reason;
  static constexpr auto kind = detail::waiter_kind::event_count;

 public:
  void notify_all() noexcept {
    W::asymmetric_fence_light();
    if (waiters_.load(relaxed) < one) return;
    epoch_.fetch_add(1, std::memory_order_release);
    auto& home = lot::bucket_of(this);
    home.bucket_lock().lock();
    while (node* const first = home.first(this, kind)) {
      count_out();
      W::wake(home.unpark(*first, wake_reason::retry), 1);
    }
    home.bucket_lock().unlock();
  }

  template <class Condition>
  void await(Condition holds) noexcept {
    while (!holds()) {
      const std::uint32_t before = waiters_.fetch_add(one, relaxed);
      const std::uint32_t enough = Fault == count_fault::trusts_count ? ~armed : armed;
      if ((before & enough) != 0) {
        W::fence(std::memory_order_acquire);
      } else {
        W::asymmetric_fence_heavy();
        waiters_.fetch_or(armed, relaxed);
      }
      const std::uint32_t epoch = epoch_.load(std::memory_order_acquire);
      if (holds()) {
        count_out();
        return;
      }
      sleep(epoch);
    }
  }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr std::uint32_t armed = 1, one = 2;

  void count_out() noexcept {
    std::uint32_t found = one;
    std::uint32_t less = 0;
    do {
      less = found - one;
      if (less < one && Fault != count_fault::keeps_armed) less = 0;
    } while (!waiters_.compare_exchange_strong(found, less, relaxed, relaxed));
  }

  void sleep(std::uint32_t epoch) noexcept {
    auto& home = lot::bucket_of(this);
    node self{this, kind, {}};
    self.prepare_to_sleep();
    home.bucket_lock().lock();
    const bool is_news =
        Fault != count_fault::forgets_key && epoch_.load(std::memory_order_acquire) != epoch;
    if (!is_news) home.link(self);
    home.bucket_lock().unlock();
    if (is_news) return count_out();
    lot::sleep(home, self, [] {}, W::never);
  }

  atomic<W, std::uint32_t> epoch_{0};
  atomic<W, std::uint32_t> waiters_{0};
};

enum class event_fault : std::uint8_t {
  wakes_one,   ///< although several wait (manual)
  looks_late,  ///< at the event, after it is set (manual)
  forgets,     ///< the other waiters, when the first one goes on (auto)
  overwrites,  ///< the mark for waiters (auto)
  gives_up,    ///< without a look at what it was reason (auto)
};

/// The event that is reset by hand, without its count of sets, and with one fault.
template <world W, event_fault Fault>
class faulty_manual_event : public detail::timed_wait<faulty_manual_event<W, Fault>, W> {
 public:
  void set() noexcept {
    const std::uint32_t before = state_.exchange(is_set, std::memory_order_release);
    if (Fault == event_fault::looks_late && state_.load(std::memory_order_relaxed) != is_set)
      return;
    if (before == awaited) W::wake(state_, Fault == event_fault::wakes_one ? 1 : UINT32_MAX);
  }
  [[nodiscard]] bool try_wait() const noexcept {
    return state_.load(std::memory_order_acquire) == is_set;
  }
  void wait() noexcept { wait_asleep(); }

 private:
  friend detail::timed_wait<faulty_manual_event, W>;
  static constexpr std::uint32_t unset = 0, is_set = 1, awaited = 2;

  bool wait_by(typename W::deadline limit) noexcept { return wait_asleep(limit); }

  bool wait_asleep(typename W::deadline limit = W::never) noexcept {
    std::uint32_t found = unset;
    state_.compare_exchange_strong(found, awaited, std::memory_order_acquire,
                                   std::memory_order_acquire);
    while (!try_wait()) {
      if (W::wait(state_, awaited, limit) == W::wait_result::timed_out) return try_wait();
    }
    return true;
  }

  atomic<W, std::uint32_t> state_{unset};
};

/// A lock that is an event which resets itself, with one fault.
template <world W, event_fault Fault>
class faulty_auto_event_lock : public detail::timed_lock<faulty_auto_event_lock<W, Fault>, W> {
  using lot = detail::parking_lot<detail::unwatched<W>>;
  using node = typename lot::node;
  using wake_reason = typename lot::wake_reason;
  static constexpr auto kind = detail::waiter_kind::auto_reset_event;

 public:
  void lock() noexcept { wait(); }
  [[nodiscard]] bool try_lock() noexcept { return take(); }

  void unlock() noexcept {
    std::uint8_t found = unset;
    if (Fault == event_fault::overwrites) {
      found = state_.exchange(is_set, std::memory_order_release);
      if (found != awaited) return;
    } else if (state_.compare_exchange_strong(found, is_set, std::memory_order_release,
                                              std::memory_order_relaxed)) {
      return;
    }
    auto& home = lot::bucket_of(this);
    home.bucket_lock().lock();
    node* const first = home.first(this, kind);
    if (first == nullptr) {
      state_.exchange(is_set, std::memory_order_release);
    } else {
      // With others behind it stands, but where a set has overwritten it: that fault shall be the
      // second token alone, and no sleeper be lost by it.
      const bool is_last = home.next(*first) == nullptr || Fault == event_fault::forgets;
      state_.store(is_last ? unset : awaited, std::memory_order_relaxed);
      W::wake(home.unpark(*first, wake_reason::owner), 1);
    }
    home.bucket_lock().unlock();
  }

 private:
  friend detail::timed_lock<faulty_auto_event_lock, W>;

  bool take() noexcept {
    std::uint8_t found = is_set;
    return state_.compare_exchange_strong(found, unset, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  bool take_until(typename W::deadline limit) noexcept { return wait(limit); }

  bool wait(typename W::deadline limit = W::never) noexcept {
    auto& home = lot::bucket_of(this);
    node self{this, kind, {}};
    self.prepare_to_sleep();
    home.bucket_lock().lock();
    bool taken = take();
    for (std::uint8_t found = unset; !taken && found != awaited;
         taken = found == is_set && take()) {
      found = unset;
      if (state_.compare_exchange_strong(found, awaited, std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
        break;
      }
    }
    if (!taken) home.link(self);
    home.bucket_lock().unlock();
    if (taken) return true;
    const wake_reason reason = lot::sleep(
        home, self,
        [&] {
          if (home.first(this, kind) == nullptr) state_.store(unset, std::memory_order_relaxed);
        },
        limit);
    if (Fault == event_fault::gives_up && limit != W::never) return false;
    return reason == wake_reason::owner;
  }

  atomic<W, std::uint8_t> state_{is_set};
  static constexpr std::uint8_t unset = 0, is_set = 1, awaited = 2;
};

}  // namespace lockyard::checker
