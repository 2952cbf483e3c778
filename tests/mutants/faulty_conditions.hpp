// SPDX-License-Identifier: Apache-2.0
#pragma once

// basic_condition_variable and the one for any lock in small, with one of their rules left out.

#include <lockyard/detail/attendance.hpp>
#include <lockyard/detail/condition_waits.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

#include "faulty_mutex.hpp"

namespace lockyard::checker {

enum class condition_fault : std::uint8_t {
  none,              ///< to show that what is found is the fault and not this copy
  links_late,        ///< the mutex is free before the waiter can be found
  moves_silently,    ///< who is moved to the mutex is not announced there
  expects_silently,  ///< owners may leave their fence out while somebody can be moved
  looks_first,       ///< whether the mutex is free, before the move
  never_looks,       ///< whether the mutex is free
  forgets_others,    ///< when one is notified
  gives_up_moved,    ///< who was notified gives up all the same
  trusts_deadline,   ///< whoever is woken too late to tell has not been notified
  touches_late,      ///< the condition variable, after the last waiter may have gone
  ignores_stop,      ///< that was requested before the waiter was linked
  stops_late,        ///< and touches the condition variable though the wait has ended
};

template <world W, condition_fault Fault>
class faulty_condition : public detail::condition_waits<faulty_condition<W, Fault>, W> {
  using mutex = faulty_mutex<W, mutex_fault::none>;
  using attendance = detail::attendance<W>;
  using lot = typename attendance::lot;
  using node = typename attendance::node;
  using fate = typename attendance::fate;
  static constexpr auto relaxed = std::memory_order_relaxed;

 public:
  void notify_one() noexcept { notify(false); }
  void notify_all() noexcept { notify(true); }

 protected:
  friend detail::condition_waits<faulty_condition, W>;

  template <class Watch, class... Deadline>
  bool wait_once(mutex& held, Watch watch, Deadline... limit) noexcept {
    attendance waiters{&held};
    node self{this, detail::waiter_kind::condition, W::now()};
    if (Fault == condition_fault::links_late) held.unlock();
    const auto end = [&]() noexcept { interrupt(held, self); };
    if constexpr (Fault == condition_fault::ignores_stop) {
      self.gets_up();
      [[maybe_unused]] const auto watched = watch(end);
      begin(held, waiters, self);
      return end_wait(held, waiters, self, limit...);
    } else {
      begin(held, waiters, self);
      [[maybe_unused]] const auto watched = watch(end);
      return end_wait(held, waiters, self, limit...);
    }
  }

 private:
  void begin(mutex& held, attendance& waiters, node& self) noexcept {
    waiters.guard().lock();
    self.falls_asleep();  // under the guard: a stop that is not ignored finds the node linked
    mutex_.store(&held, relaxed);
    if (Fault == condition_fault::expects_silently) {
      lot::bucket_of(&held).link(self);
    } else {
      waiters.expect(self);
    }
    typename attendance::sleeper sleeper = nullptr;
    if (Fault != condition_fault::links_late) sleeper = held.release_guarded(waiters);
    waiters.guard().unlock();
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }

  template <class... Deadline>
  bool end_wait(mutex& held, attendance& waiters, node& self, Deadline... limit) noexcept {
    const bool in_time = sleep(waiters, self, limit...);
    if (in_time) {
      held.sleep_until_turn(waiters, self, true);
    } else {
      held.lock();
    }
    return in_time && Fault != condition_fault::trusts_deadline;
  }

  void interrupt(mutex& with, node& one) noexcept {
    attendance waiters{&with};
    waiters.guard().lock();
    const bool waits = one.seen() == fate::asleep && one.kind() == detail::waiter_kind::condition;
    if (waits) move(waiters, with, one);
    if (waits || Fault == condition_fault::stops_late) note_who_is_left(waiters);
    W::fence(std::memory_order_seq_cst);
    const auto sleeper = !waits || with.held_.load(relaxed) ? nullptr : waiters.rouse();
    waiters.guard().unlock();
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }

  void note_who_is_left(attendance& waiters) noexcept {
    if (waiters.first_for(this) == nullptr) mutex_.store(nullptr, std::memory_order_release);
  }

  void notify(bool all) noexcept {
    if (mutex* const with = mutex_.load(std::memory_order_acquire)) end_waits(*with, all);
  }

  void end_waits(mutex& with, bool all) noexcept {
    attendance waiters{&with};
    const bool was_free = Fault == condition_fault::looks_first && !with.held_.load(relaxed);
    waiters.guard().lock();
    node* each = waiters.first_for(this);
    if (each == nullptr) return waiters.guard().unlock();
    const bool leaves_some = !all && attendance::bucket::next(*each) != nullptr;
    const bool forgets = !leaves_some || Fault == condition_fault::forgets_others;
    if (forgets && Fault != condition_fault::touches_late) mutex_.store(nullptr, relaxed);
    while (each != nullptr) {
      node* const next = all ? attendance::bucket::next(*each) : nullptr;
      move(waiters, with, *each);
      each = next;
    }
    W::fence(std::memory_order_seq_cst);
    const bool is_free =
        Fault == condition_fault::looks_first ? was_free : !with.held_.load(relaxed);
    const auto sleeper =
        is_free && Fault != condition_fault::never_looks ? waiters.rouse() : nullptr;
    waiters.guard().unlock();
    if (Fault == condition_fault::touches_late) mutex_.store(nullptr, relaxed);
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }

  static void move(attendance& waiters, mutex& with, node& moved) noexcept {
    if (Fault == condition_fault::moves_silently) {
      lot::bucket_of(&with).move(moved, &with, detail::waiter_kind::mutex, W::now());
    } else if (Fault == condition_fault::expects_silently) {
      lot::bucket_of(&with).remove(moved);
      waiters.expect(moved);
      waiters.move_expected(moved, W::now());
    } else {
      waiters.move_expected(moved, W::now());
    }
  }

  template <class... Deadline>
  bool sleep(attendance& waiters, node& self, Deadline... limit) noexcept {
    while (self.seen() == fate::asleep) {
      if (self.sleep(limit...) == W::wait_result::timed_out) return !give_up(waiters, self);
    }
    return true;
  }

  bool give_up(attendance& waiters, node& self) noexcept {
    waiters.guard().lock();
    bool gives_up = self.seen() == fate::asleep;
    if (gives_up && self.kind() == detail::waiter_kind::condition) {
      waiters.unlink_expected(self);
      self.gets_up();
      note_who_is_left(waiters);
    } else if (gives_up && Fault == condition_fault::gives_up_moved) {
      waiters.unlink(self);
    } else {
      gives_up = false;
    }
    waiters.guard().unlock();
    return gives_up;
  }

  typename W::template atomic<mutex*> mutex_{nullptr};
};

enum class any_fault : std::uint8_t {
  none,
  links_late,    ///< the lock is free before the waiter can be found
  forgets,       ///< those who still wait, when one is notified
  gives_up,      ///< without a look at what it was told
  touches_late,  ///< the condition variable, after the last waiter may have gone
};

template <world W, any_fault Fault>
class faulty_condition_any : public detail::condition_waits<faulty_condition_any<W, Fault>, W> {
  using lot = detail::parking_lot<typename W::unwatched>;
  using node = typename lot::node;
  using fate = typename lot::fate;
  static constexpr auto kind = detail::waiter_kind::any_condition;
  static constexpr auto relaxed = std::memory_order_relaxed;

 public:
  void notify_one() noexcept {
    if (!is_awaited_.load(relaxed)) return;
    auto& home = lot::bucket_of(this);
    home.guard().lock();
    node* const first = home.first(this, kind);
    const bool is_last = first == nullptr || home.next(*first) == nullptr;
    if (Fault == any_fault::forgets) is_awaited_.store(false, relaxed);
    if (is_last && Fault != any_fault::touches_late) is_awaited_.store(false, relaxed);
    const auto* const sleeper = first != nullptr ? &home.release(*first, fate::awake) : nullptr;
    if (is_last && Fault == any_fault::touches_late) is_awaited_.store(false, relaxed);
    home.guard().unlock();
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }
  void notify_all() noexcept {
    while (is_awaited_.load(relaxed)) notify_one();
  }

 protected:
  friend detail::condition_waits<faulty_condition_any, W>;

  template <class Lock, class Watch, class... Deadline>
  bool wait_once(Lock& lock, Watch /*none*/, Deadline... limit) noexcept {
    auto& home = lot::bucket_of(this);
    node self{this, kind, {}};
    self.falls_asleep();
    if (Fault == any_fault::links_late) lock.unlock();
    home.guard().lock();
    is_awaited_.store(true, relaxed);
    home.link(self);
    home.guard().unlock();
    if (Fault != any_fault::links_late) lock.unlock();
    const auto left = [&] {
      if (home.first(this, kind) == nullptr) is_awaited_.store(false, relaxed);
    };
    fate told = fate::asleep;
    if (Fault == any_fault::gives_up && sizeof...(Deadline) != 0) {
      if (self.sleep(limit...) == W::wait_result::timed_out) {
        home.guard().lock();
        if (self.seen() == fate::asleep) home.remove(self);
        left();
        home.guard().unlock();
      } else {
        told = lot::sleep(home, self, left, limit...);
      }
    } else {
      told = lot::sleep(home, self, left, limit...);
    }
    lock.lock();
    return told != fate::asleep;
  }

 private:
  typename W::template atomic<bool> is_awaited_{false};
};

}  // namespace lockyard::checker
