// SPDX-License-Identifier: Apache-2.0
#pragma once

// basic_mutex in small, with one of its rules left out.

#include <lockyard/detail/attendance.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lockyard::checker {

enum class mutex_fault : std::uint8_t {
  none,            ///< to show that what is found is the fault and not this copy
  looks_once,      ///< unlock does not look again after its release
  has_no_barrier,  ///< a sleeper announces itself, and is not sure to be seen
  arms_without,    ///< a barrier that could not be had counts
  ends_by_fence,   ///< I2: an unlock without a fence may miss a waiter's end of attendance
  hands_on_without_barrier,  ///< the same of a waiter that gives up
  keeps_designation,         ///< a waiter that gives up hands nothing on
  leaves_uncovered,    ///< a waiter that could have no barrier, and was counted on, just gives up
  frees_before_owner,  ///< unlock frees the lock, and then hands it over
  looks_late,          ///< unlock looks at the lock after its release
};

enum class condition_fault : std::uint8_t;
template <world W, condition_fault Fault>
class faulty_condition;

template <world W, mutex_fault Fault>
class faulty_mutex : public detail::timed_lock<faulty_mutex<W, Fault>, W> {
  using attendance = detail::attendance<W>;
  using node = typename attendance::node;
  using fate = typename attendance::fate;
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto seq_cst = std::memory_order_seq_cst;

 public:
  void lock() noexcept {
    if (!take()) wait();
  }
  [[nodiscard]] bool try_lock() noexcept { return take(); }

  void unlock() noexcept {
    attendance waiters{this};
    const detail::announcement before = waiters.announced();
    const bool concerned = waiters.is_concerned(before);
    if (concerned && !waiters.is_attended()) return unlock_guarded(waiters);
    held_.store(false, std::memory_order_release);
    if (!before.is_open()) W::fence(seq_cst);
    if (Fault == mutex_fault::looks_once) return;
    const detail::announcement now = waiters.announced();
    if (Fault == mutex_fault::looks_late && held_.load(relaxed)) return;
    if (waiters.is_concerned(now)) {
      if (!waiters.is_attended()) rouse(waiters);
    } else if (now.word() == 0 && W::asymmetric_fence_register()) {
      waiters.guard().lock();
      waiters.open();
      waiters.guard().unlock();
    }
  }

 private:
  friend detail::timed_lock<faulty_mutex, W>;
  template <world, condition_fault>
  friend class faulty_condition;

  void unlock_guarded(attendance waiters) noexcept {
    waiters.guard().lock();
    const auto sleeper = release_guarded(waiters);
    waiters.guard().unlock();
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }

  typename attendance::sleeper release_guarded(attendance& waiters) noexcept {
    node* const first = waiters.first();
    const bool hands_over = first != nullptr && W::now() > first->since();
    if (!hands_over || Fault == mutex_fault::frees_before_owner) {
      held_.store(false, std::memory_order_release);
    }
    return hands_over ? waiters.release(*first, fate::owner) : waiters.rouse();
  }

  static void rouse(attendance waiters) noexcept {
    waiters.guard().lock();
    const auto sleeper = waiters.rouse();
    waiters.guard().unlock();
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }

  bool take() noexcept {
    return !held_.load(relaxed) && !held_.exchange(true, std::memory_order_acquire);
  }
  bool take_until(typename W::deadline limit) noexcept { return wait(limit); }

  /// Waiters do not spin: it is a designated one that attends.
  template <class... Deadline>
  bool wait(Deadline... limit) noexcept {
    attendance waiters{this};
    node self{this, detail::waiter_kind::mutex, W::now()};
    return sleep_until_turn(waiters, self, announce(waiters, self, false), limit...);
  }

  template <class... Deadline>
  bool sleep_until_turn(attendance waiters, node& self, bool is_covered,
                        Deadline... limit) noexcept {
    for (;;) {
      const bool in_time = sleep(self, is_covered, limit...);
      const fate told = end_sleep(waiters, self);
      if (told == fate::owner) return true;
      const bool attends = told == fate::designated && waiters.answer();
      if (take()) {
        if (attends) waiters.stop_attending();
        return true;
      }
      if (!in_time) {
        if (attends) {
          if (Fault != mutex_fault::keeps_designation) hand_on(waiters);
        } else if (!is_covered && Fault != mutex_fault::leaves_uncovered) {
          rouse(waiters);
        }
        return false;
      }
      is_covered = announce(waiters, self, attends);
    }
  }

  static bool announce(attendance waiters, node& self, bool attends) noexcept {
    self.falls_asleep();
    waiters.guard().lock();
    const auto after = waiters.link(self);
    if (attends) waiters.stop_attending();
    waiters.guard().unlock();
    if (after.is_armed && (!attends || Fault == mutex_fault::ends_by_fence)) {
      W::fence(seq_cst);
      return true;
    }
    if (Fault == mutex_fault::has_no_barrier) return true;
    const bool had_barrier = W::asymmetric_fence_heavy() || Fault == mutex_fault::arms_without;
    waiters.guard().lock();
    waiters.settle(self, after, had_barrier);
    waiters.guard().unlock();
    return had_barrier;
  }

  template <class... Deadline>
  bool sleep(const node& self, bool is_covered, Deadline... limit) noexcept {
    while (held_.load(relaxed) && self.seen() == fate::asleep) {
      if (is_covered) {
        if (self.sleep(limit...) == W::wait_result::timed_out) return false;
      } else {
        self.sleep(W::deadline_after(std::chrono::milliseconds{1}));
        if ((W::passed(limit) || ...)) return false;
      }
    }
    return true;
  }

  static fate end_sleep(attendance waiters, node& self) noexcept {
    waiters.guard().lock();
    const fate told = self.seen();
    if (told == fate::asleep) waiters.unlink(self);
    waiters.guard().unlock();
    return told;
  }

  void hand_on(attendance waiters) noexcept {
    waiters.stop_attending();
    const bool is_sure =
        Fault == mutex_fault::hands_on_without_barrier || W::asymmetric_fence_heavy();
    if (!is_sure) {
      waiters.guard().lock();
      waiters.close();
      waiters.guard().unlock();
    }
    if (!is_sure || !held_.load(relaxed)) rouse(waiters);
  }

  typename W::template atomic<bool> held_{false};
};

}  // namespace lockyard::checker
