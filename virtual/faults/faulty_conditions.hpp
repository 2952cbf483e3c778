// SPDX-License-Identifier: Apache-2.0
#pragma once

// basic_condition_variable and the one for any lock in small, with one of their rules left out.

#include <lockyard/detail/condition_bucket.hpp>
#include <lockyard/detail/condition_waits.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

#include "faulty_mutex.hpp"

namespace lockyard::checker {

enum class condition_fault : std::uint8_t {
  none,              ///< shows that the fault is found, not this copy
  links_late,        ///< the mutex is free before the waiter can be found
  moves_silently,    ///< the summary does not count a waiter that is moved to the mutex
  expects_silently,  ///< owners may skip their fence while a thread can be moved
  looks_first,       ///< whether the mutex is free, before the move
  never_looks,       ///< whether the mutex is free
  forgets_others,    ///< when one is notified
  gives_up_moved,    ///< who was notified gives up all the same
  trusts_deadline,   ///< a thread that is woken too late counts as not notified
  touches_late,      ///< the condition variable, after the last waiter may have gone
  ignores_stop,      ///< that was requested before the waiter was linked
  stops_late,        ///< and touches the condition variable though the wait has ended
};

template <world W, condition_fault Fault>
class faulty_condition : public detail::condition_waits<faulty_condition<W, Fault>, W> {
  using mutex = faulty_mutex<W, mutex_fault::none>;
  using mutex_waiters = detail::mutex_waiters<W>;
  using condition_bucket = detail::condition_bucket<W>;
  using lot = typename mutex_waiters::lot;
  using node = typename mutex_waiters::node;
  using wake_reason = typename mutex_waiters::wake_reason;
  static constexpr auto relaxed = std::memory_order_relaxed;

 public:
  void notify_one() noexcept { notify(false); }
  void notify_all() noexcept { notify(true); }

 protected:
  friend detail::condition_waits<faulty_condition, W>;

  template <class Watch>
  bool wait_once(mutex& held, Watch watch, typename W::deadline limit = W::never) noexcept {
    mutex_waiters waiters{&held};
    node self{this, detail::waiter_kind::condition, W::now()};
    if (Fault == condition_fault::links_late) held.unlock();
    const auto end = [&]() noexcept { interrupt(held, self); };
    if constexpr (Fault == condition_fault::ignores_stop) {
      self.mark_awake();
      [[maybe_unused]] const auto watched = watch(end);
      begin(held, waiters, self);
      return end_wait(held, waiters, self, limit);
    } else {
      begin(held, waiters, self);
      [[maybe_unused]] const auto watched = watch(end);
      return end_wait(held, waiters, self, limit);
    }
  }

 private:
  void begin(mutex& held, mutex_waiters& waiters, node& self) noexcept {
    typename mutex_waiters::sleeper sleeper = nullptr;
    {
      condition_bucket home{waiters, this};
      self.prepare_to_sleep();  // here, so that a stop that is not ignored finds the node linked
      mutex_.store(&held, relaxed);
      if (Fault == condition_fault::expects_silently) {
        lot::bucket_of(&held).link(self);
      } else {
        home.link_waiter(self);
      }
      if (Fault != condition_fault::links_late) sleeper = held.release_or_hand_off(home);
    }
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }

  bool end_wait(mutex& held, mutex_waiters& waiters, node& self,
                typename W::deadline limit = W::never) noexcept {
    const bool in_time = sleep(waiters, self, limit);
    if (in_time) {
      held.sleep_until_turn(waiters, self, true);
    } else {
      held.lock();
    }
    return in_time && Fault != condition_fault::trusts_deadline;
  }

  void interrupt(mutex& with, node& one) noexcept {
    mutex_waiters waiters{&with};
    typename mutex_waiters::sleeper sleeper = nullptr;
    {
      condition_bucket home{waiters, this};
      const bool still_waits =
          one.reason() == wake_reason::none && one.kind() == detail::waiter_kind::condition;
      if (still_waits) move(home, with, one);
      if (still_waits || Fault == condition_fault::stops_late) forget_mutex_of_last(home);
      W::fence(std::memory_order_seq_cst);
      if (still_waits && !with.held_.load(relaxed)) sleeper = home.unpark_first();
    }
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }

  void forget_mutex_of_last(const condition_bucket& home) noexcept {
    if (home.first_waiter() == nullptr) mutex_.store(nullptr, std::memory_order_release);
  }

  void notify(bool all) noexcept {
    if (mutex* const with = mutex_.load(std::memory_order_acquire)) end_waits(*with, all);
  }

  void end_waits(mutex& with, bool all) noexcept {
    mutex_waiters waiters{&with};
    const bool was_free = Fault == condition_fault::looks_first && !with.held_.load(relaxed);
    typename mutex_waiters::sleeper sleeper = nullptr;
    {
      condition_bucket home{waiters, this};
      node* each = home.first_waiter();
      if (each == nullptr) return;
      const bool leaves_some = !all && mutex_waiters::bucket::next(*each) != nullptr;
      const bool forgets = !leaves_some || Fault == condition_fault::forgets_others;
      if (forgets && Fault != condition_fault::touches_late) mutex_.store(nullptr, relaxed);
      while (each != nullptr) {
        node* const next = all ? mutex_waiters::bucket::next(*each) : nullptr;
        move(home, with, *each);
        each = next;
      }
      W::fence(std::memory_order_seq_cst);
      const bool is_free =
          Fault == condition_fault::looks_first ? was_free : !with.held_.load(relaxed);
      if (is_free && Fault != condition_fault::never_looks) sleeper = home.unpark_first();
    }
    if (Fault == condition_fault::touches_late) mutex_.store(nullptr, relaxed);
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }

  static void move(condition_bucket& home, mutex& with, node& moved) noexcept {
    if (Fault == condition_fault::moves_silently) {
      lot::bucket_of(&with).move(moved, &with, detail::waiter_kind::mutex, W::now());
    } else if (Fault == condition_fault::expects_silently) {
      lot::bucket_of(&with).remove(moved);
      home.link_waiter(moved);
      home.move_waiter(moved, W::now());
    } else {
      home.move_waiter(moved, W::now());
    }
  }

  bool sleep(mutex_waiters& waiters, node& self, typename W::deadline limit = W::never) noexcept {
    while (self.reason() == wake_reason::none) {
      if (self.sleep(limit) == W::wait_result::timed_out) return !give_up(waiters, self);
    }
    return true;
  }

  bool give_up(mutex_waiters& waiters, node& self) noexcept {
    condition_bucket home{waiters, this};
    bool gives_up = self.reason() == wake_reason::none;
    if (gives_up && self.kind() == detail::waiter_kind::condition) {
      home.unlink_waiter(self);
      self.mark_awake();
      forget_mutex_of_last(home);
    } else if (gives_up && Fault == condition_fault::gives_up_moved) {
      home.unlink(self);
    } else {
      gives_up = false;
    }
    return gives_up;
  }

  atomic<W, mutex*> mutex_{nullptr};
};

enum class any_fault : std::uint8_t {
  none,
  links_late,    ///< the lock is free before the waiter can be found
  forgets,       ///< the remaining waiters, when one is notified
  gives_up,      ///< without a look at what it was reason
  touches_late,  ///< the condition variable, after the last waiter may have gone
};

template <world W, any_fault Fault>
class faulty_condition_any : public detail::condition_waits<faulty_condition_any<W, Fault>, W> {
  using lot = detail::parking_lot<detail::unwatched<W>>;
  using node = typename lot::node;
  using wake_reason = typename lot::wake_reason;
  static constexpr auto kind = detail::waiter_kind::any_condition;
  static constexpr auto relaxed = std::memory_order_relaxed;

 public:
  void notify_one() noexcept {
    if (!is_awaited_.load(relaxed)) return;
    auto& home = lot::bucket_of(this);
    home.bucket_lock().lock();
    node* const first = home.first(this, kind);
    const bool is_last = first == nullptr || home.next(*first) == nullptr;
    if (Fault == any_fault::forgets) is_awaited_.store(false, relaxed);
    if (is_last && Fault != any_fault::touches_late) is_awaited_.store(false, relaxed);
    const auto* const sleeper =
        first != nullptr ? &home.unpark(*first, wake_reason::retry) : nullptr;
    if (is_last && Fault == any_fault::touches_late) is_awaited_.store(false, relaxed);
    home.bucket_lock().unlock();
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }
  void notify_all() noexcept {
    while (is_awaited_.load(relaxed)) notify_one();
  }

 protected:
  friend detail::condition_waits<faulty_condition_any, W>;

  template <class Lock, class Watch>
  bool wait_once(Lock& lock, Watch /*none*/, typename W::deadline limit = W::never) noexcept {
    auto& home = lot::bucket_of(this);
    node self{this, kind, {}};
    self.prepare_to_sleep();
    if (Fault == any_fault::links_late) lock.unlock();
    home.bucket_lock().lock();
    is_awaited_.store(true, relaxed);
    home.link(self);
    home.bucket_lock().unlock();
    if (Fault != any_fault::links_late) lock.unlock();
    const auto left = [&] {
      if (home.first(this, kind) == nullptr) is_awaited_.store(false, relaxed);
    };
    wake_reason reason = wake_reason::none;
    if (Fault == any_fault::gives_up && limit != W::never) {
      if (self.sleep(limit) == W::wait_result::timed_out) {
        home.bucket_lock().lock();
        if (self.reason() == wake_reason::none) home.remove(self);
        left();
        home.bucket_lock().unlock();
      } else {
        reason = lot::sleep(home, self, left, limit);
      }
    } else {
      reason = lot::sleep(home, self, left, limit);
    }
    lock.lock();
    return reason != wake_reason::none;
  }

 private:
  atomic<W, bool> is_awaited_{false};
};

}  // namespace lockyard::checker
