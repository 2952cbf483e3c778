// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/attendance.hpp>
#include <lockyard/detail/condition_waits.hpp>
#include <lockyard/detail/learnt_spin.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cassert>
#include <cstddef>
#include <type_traits>

namespace lockyard::inline v0 {

/// The condition variable for `mutex`. docs/locks/condition_variable.md explains it in detail.
///
/// Its waiters sleep in the bucket of their mutex. A notification under the mutex wakes no thread:
/// it moves sleepers of the condition variable to the sleepers of the mutex, where unlocks unpark
/// them one after the other. A notify_all() that finds the mutex free wakes up to 15 threads at
/// once, because a wake-up takes longer than most sections, and moves the others. A wait begins
/// with a spin if recent waits were short.
/// Use: with `mutex`. For other locks there is condition_variable_any, which cannot move waiters.
/// Source: waiters moved to the mutex after Linux's FUTEX_REQUEUE (J. Jelinek, U. Drepper) and the
///   condition variable of F. Pizlo's parking lot (2016); the combination with an unlock that has
///   no fence is this library's.
/// Guarantees: no lost wake-up (below). Notifications go to waiters in the order of their waits. A
///   signal handler must not use it. After fork the child's copy has no waiters, and goes on with
///   the same mutex. May be destroyed when all waiters have been notified, though some may not have
///   returned. Within one process.
/// Size: 16 bytes.
///
/// | mutex_ | meaning |
/// |---|---|
/// | null | no thread waits |
/// | a mutex | all waiters wait with this mutex |
///
/// I1 mutex_ goes from null to a mutex, and back, only under the bucket lock of that mutex. When
///    the bucket lock is free, mutex_ is not null while a node of this condition variable is
///    linked.
/// I2 A node is linked before its thread releases the mutex, under the bucket lock.
/// No lost wake-up: the notifier's change of the condition happens under the mutex. If a waiter has
/// released the mutex before that change, then by I2 the notifier sees mutex_ set, takes the bucket
/// lock, and finds the node or one that has waited longer. The node's wake reason becomes `awake`;
/// or the node goes on as a sleeper of the mutex, under the bucket lock, so that its thread cannot
/// give up in between: the owner's unlock finds it there, or the notifier finds the mutex free and
/// unparks its first sleeper (`attendance.hpp` says why a fence suffices). A waiter whose deadline
/// passes looks under the bucket lock: it was not notified if its node is still linked here, and
/// was notified otherwise.
/// Lifetime: N1 to N3 of parking_lot.hpp. A notifier touches the condition variable for the last
/// time before it releases or moves the last waiter, and a notified waiter touches it no more. A
/// stop looks at its own waiter's node to know whether it was notified. A thread looks at the mutex
/// only while nodes that need it cannot leave. Clients condition_*; the mutants condition_* hang,
/// or use freed memory.
template <world W = default_world>
class basic_condition_variable : public detail::condition_waits<basic_condition_variable<W>, W> {
  using mutex_type = basic_mutex<W>;
  using attendance = detail::attendance<W>;
  using node = typename attendance::node;
  using fate = typename attendance::fate;
  using time_point = typename W::time_point;

 public:
  constexpr basic_condition_variable() noexcept = default;
  basic_condition_variable(const basic_condition_variable&) = delete;
  basic_condition_variable& operator=(const basic_condition_variable&) = delete;

  // wait, wait_for, wait_until: see condition_waits. A lock is a basic_mutex<W>, or a
  // std::unique_lock that holds one. Precondition: all threads that wait at one time use the same
  // mutex.

  /// Effects: ends the wait of the oldest waiter, which returns when it has the mutex. The caller
  /// may hold the mutex, and need not.
  /// Synchronisation: none; the mutex provides it.
  /// Progress: wait-free while no thread waits; otherwise it may wait for the bucket lock, and
  /// wakes at most one thread, none while the mutex is held.
  void notify_one() noexcept { notify(which::first); }

  /// Effects: the same for all threads that wait when the call begins; some that begin later may
  /// return, too. Progress: the same, a step for each waiter, and it wakes at most one thread for
  /// every 16 that wait, and 15 more.
  void notify_all() noexcept { notify(which::all); }

 protected:
  friend detail::condition_waits<basic_condition_variable, W>;

  template <class Lock, class Watch, class... Deadline>
  bool wait_once(Lock& held, Watch watch, Deadline... limit) noexcept {
    static_assert(std::is_same_v<Lock, mutex_type>,
                  "condition_variable waits with a lockyard::mutex or a std::unique_lock of one; "
                  "condition_variable_any waits with any lock");
    attendance waiters{&held};
    waiter self{this, detail::waiter_kind::condition, W::now()};
    {
      const typename W::releasing scope{&held};
      begin(held, waiters, self);
    }
    // Between the scopes: a stop is not part of the mutex.
    [[maybe_unused]] const auto watched = watch([&]() noexcept { interrupt(held, self); });
    const typename W::acquiring scope{&held};
    return wait_until_notified(held, waiters, self, limit...);
  }

 private:
  enum class which : bool { first, all };

  struct waiter : node {
    using node::node;
    /// Under the bucket lock: the thread looks at its wake reason, and needs no wake.
    typename W::unwatched::template var<bool> spins{false};
  };

  // The notifier's side

  void notify(which ends) noexcept {
    const typename W::notifying scope{this};
    // Stale or not: a waiter that this load must see released the mutex before the caller acquired
    // it.
    // order[notify]: acquire; pairs [left]; a thread that destroys the condition variable after
    // this load, with no waiter left to notify, comes after a stop's last touch.
    if (mutex_type* const with = mutex_.load(std::memory_order_acquire)) [[unlikely]]
      notify_those_with(with, ends);
  }

  /// The rest of a notification.
  struct notification {
    std::uint32_t waits;  ///< to be ended: as many as there were when it began, or one
    std::uint32_t wakes;  ///< how many may be woken at once; the others are moved
  };

  [[gnu::noinline, gnu::cold]] void notify_those_with(mutex_type* with, which ends) noexcept {
    while (with != nullptr) {
      attendance waiters{with};
      waiters.guard().lock();
      // relaxed(locked): by I1 mutex_ stays as it is if it is `with`.
      mutex_type* const found = mutex_.load(std::memory_order_relaxed);
      if (found == with) return end_waits(*with, waiters, ends);
      waiters.guard().unlock();
      with = found;
    }
  }

  /// Under the bucket lock, which it releases. Between two batches other notifiers may end all
  /// waits that are left and destroy the condition variable, so this thread uses it only while a
  /// node of it is linked.
  void end_waits(mutex_type& with, attendance& waiters, which ends) noexcept {
    notification left{};
    if (waiter* const oldest = first(waiters)) {
      const bool ends_all = ends == which::all;
      left = {.waits = ends_all ? attendance::bucket::length(oldest) : 1,
              // The code below may unpark one more.
              .wakes = ends_all && with.seems_free() ? attendance::lot::batch - 1 : 0};
      learn_from(*oldest, W::now());
    } else {
      // The child of a fork has inherited mutex_.
      // relaxed(locked): the bucket lock protects it.
      mutex_.store(nullptr, std::memory_order_relaxed);
    }
    for (;;) {
      typename attendance::wake_list sleepers;
      end_batch(with, waiters, left, sleepers);
      waiters.guard().unlock();
      sleepers.wake();
      if (left.waits == 0) return;
      waiters.guard().lock();
    }
  }

  /// Under the bucket lock; adds the sleepers to wake after its release.
  void end_batch(mutex_type& with, attendance& waiters, notification& left,
                 typename attendance::wake_list& sleepers) noexcept {
    const time_point now = W::now();
    bool moves = false;
    for (auto room = attendance::lot::batch; room > 0 && left.waits > 0; --room) {
      waiter* const oldest = first(waiters);
      if (oldest == nullptr) {
        left.waits = 0;
        break;
      }
      --left.waits;
      // relaxed(locked): the bucket lock protects it.
      if (attendance::bucket::length(oldest) == 1) mutex_.store(nullptr, std::memory_order_relaxed);
      if (!oldest->spins.read() && left.wakes > 0) {
        --left.wakes;
        sleepers.add(waiters.release_expected(*oldest, fate::awake));
      } else if (tell_or_move(waiters, *oldest, now)) {
        moves = true;
      }
    }
    if (!moves) return;
    if (const auto sleeper = with.rouse_if_free(waiters)) sleepers.add(*sleeper);
  }

  /// Ends one wait alone, for a stop.
  void interrupt(mutex_type& with, waiter& one) noexcept {
    const typename W::notifying scope{this};
    attendance waiters{&with};
    typename attendance::sleeper sleeper = nullptr;
    waiters.guard().lock();
    if (waits(one)) {
      if (tell_or_move(waiters, one, W::now())) sleeper = with.rouse_if_free(waiters);
      note_who_is_left(waiters);
    }
    waiters.guard().unlock();
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }

  /// Under the bucket lock; returns whether the waiter is a sleeper of the mutex from now on.
  static bool tell_or_move(attendance& waiters, waiter& one, time_point now) noexcept {
    if (one.spins.read()) {
      static_cast<void>(waiters.release_expected(one, fate::awake));
      return false;
    }
    waiters.move_expected(one, now);
    return true;
  }

  // Under the bucket lock, for callers that may come after the last notification: whether the node
  // is linked here; and, if it was until now, the last touch.

  bool waits(const waiter& one) const noexcept {
    return one.seen() == fate::asleep && one.kind() == detail::waiter_kind::condition;
  }
  void note_who_is_left(attendance& waiters) noexcept {
    // order[left]: release; pairs [notify]; the last touch, for a thread without the bucket lock.
    if (first(waiters) == nullptr) mutex_.store(nullptr, std::memory_order_release);
  }

  void learn_from(const waiter& notified, time_point now) noexcept {
    if (notified.spins.read()) {
      spin_.sufficed();
    } else if (!spin_.is_worthwhile()) {
      spin_.would_have_had_to_last(now - notified.since());
    }
  }

  waiter* first(attendance& waiters) const noexcept {
    return static_cast<waiter*>(waiters.first_for(this));
  }

  // The waiter's side

  /// Links the node and releases the mutex.
  void begin(mutex_type& held, attendance& waiters, waiter& self) noexcept {
    self.falls_asleep();
    self.spins.write(spin_.is_worthwhile());
    waiters.guard().lock();
    // relaxed(locked): the bucket lock protects it.
    [[maybe_unused]] const mutex_type* const other = mutex_.load(std::memory_order_relaxed);
    assert((other == nullptr || other == &held) &&
           "lockyard::condition_variable: threads wait with different mutexes");
    // relaxed(locked): as above.
    mutex_.store(&held, std::memory_order_relaxed);
    waiters.expect(self);
    const auto sleeper = held.release_guarded(waiters);
    waiters.guard().unlock();
    if (sleeper != nullptr) W::wake(*sleeper, 1);
  }

  /// Waits until notified and until this thread has the mutex. Returns false if there is a deadline
  /// and it passed first.
  template <class... Deadline>
  bool wait_until_notified(mutex_type& held, attendance& waiters, waiter& self,
                           Deadline... limit) noexcept {
    if (self.spins.read()) spin(waiters, self);
    const bool in_time = sleep(waiters, self, limit...);
    // A moved waiter keeps its place, though an unlock may have unparked it already.
    if (in_time && self.kind() == detail::waiter_kind::mutex) {
      held.sleep_until_turn(waiters, self, true);
    } else if (!held.take()) {
      held.lock_contended();
    }
    return in_time;
  }

  /// Does not look at the wait's deadline, which may pass unnoticed by a spin's length.
  void spin(attendance& waiters, waiter& self) noexcept {
    self.spin(W::spin_limit());
    if (self.seen() != fate::asleep) return;
    waiters.guard().lock();
    if (self.seen() == fate::asleep) {
      self.spins.write(false);
      spin_.was_in_vain();
    }
    waiters.guard().unlock();
  }

  /// Sleeps until the node has a wake reason. At the deadline the node may have been moved: then
  /// the thread waits for the mutex without a deadline.
  template <class... Deadline>
  bool sleep(attendance& waiters, waiter& self, Deadline... limit) noexcept {
    while (self.seen() == fate::asleep) {
      if (self.sleep(limit...) == W::wait_result::timed_out) return !give_up(waiters, self);
    }
    return true;
  }

  /// Returns false if this thread was notified.
  bool give_up(attendance& waiters, waiter& self) noexcept {
    waiters.guard().lock();
    const bool gives_up = waits(self);
    if (gives_up) {
      waiters.unlink_expected(self);
      self.gets_up();
      spin_.was_in_vain();
      note_who_is_left(waiters);
    }
    waiters.guard().unlock();
    return gives_up;
  }

  typename W::template atomic<mutex_type*> mutex_{nullptr};
  [[no_unique_address]] detail::learnt_spin<W> spin_;
};

using condition_variable = basic_condition_variable<>;

}  // namespace lockyard::inline v0
