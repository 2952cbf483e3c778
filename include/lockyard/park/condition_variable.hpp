// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/adaptive_spin.hpp>
#include <lockyard/detail/condition_bucket.hpp>
#include <lockyard/detail/condition_waits.hpp>
#include <lockyard/detail/mutex_waiters.hpp>
#include <lockyard/park/mutex.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <type_traits>
#include <utility>

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
/// lock, and finds the node or one that has waited longer. The node's wake reason becomes `retry`;
/// or the node goes on as a sleeper of the mutex, under the bucket lock, so that its thread cannot
/// give up in between: the owner's unlock finds it there, or the notifier finds the mutex free and
/// unparks its first sleeper (`mutex_waiters.hpp` says why a fence suffices). When notify_all() has
/// released the bucket lock between two batches, threads may wait with another mutex, where they
/// must not be moved to the first one: each batch compares mutex_ again. A waiter whose deadline
/// passes looks under the bucket lock: it was not notified if its node is still linked here, and
/// was notified otherwise. Lifetime: N1 to N3 of parking_lot.hpp. A notifier touches the
/// condition variable for the last time before it releases or moves the last waiter, and a notified
/// waiter touches it no more. A stop looks at its own waiter's node to know whether it was
/// notified. A thread looks at the mutex only while nodes that need it cannot leave. Clients
/// condition_*; the mutants condition_* hang, or use freed memory.
template <world W = default_world>
class basic_condition_variable : public detail::condition_waits<basic_condition_variable<W>, W> {
  using mutex_type = basic_mutex<W>;
  using mutex_waiters = detail::mutex_waiters<W>;
  using node = typename mutex_waiters::node;
  using sleeper = typename mutex_waiters::sleeper;
  using wake_list = typename mutex_waiters::wake_list;
  using wake_reason = typename mutex_waiters::wake_reason;
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

  template <class Lock, class Watch>
  bool wait_once(Lock& held, Watch watch, typename W::deadline limit = W::never) noexcept {
    static_assert(std::is_same_v<Lock, mutex_type>,
                  "condition_variable waits with a lockyard::mutex or a std::unique_lock of one; "
                  "condition_variable_any waits with any lock");
    mutex_waiters waiters{&held};
    waiter self{this, detail::waiter_kind::condition, W::now()};
    {
      const typename W::releasing scope{&held};
      begin(held, waiters, self);
    }
    // Between the scopes: a stop is not part of the mutex.
    [[maybe_unused]] const auto watched = watch([&]() noexcept { return interrupt(held, self); });
    const typename W::acquiring scope{&held};
    return wait_until_notified(held, waiters, self, limit);
  }

 private:
  enum class which : bool { first, all };

  struct waiter : node {
    using node::node;
    /// Under the bucket lock: the thread looks at its wake reason, and needs no wake.
    var<detail::unwatched<W>, bool> spins{false};
  };

  /// The bucket of the mutex, under its lock, with the waiters of this condition variable.
  class condition_bucket : public detail::condition_bucket<W> {
    using base = detail::condition_bucket<W>;

   public:
    using base::base;
    [[nodiscard]] waiter* first_waiter() const noexcept {
      return static_cast<waiter*>(base::first_waiter());
    }
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
    std::uint32_t waits = 0;  ///< to be ended: as many as there were when it began, or one
    std::uint32_t wakes = 0;  ///< how many may be woken at once; the others are moved
  };

  /// Between two batches other notifiers may end all waits that are left. Then the mutex and the
  /// condition variable may have ended, or threads may wait with another mutex, so each batch
  /// begins with is_awaited_with().
  [[gnu::noinline, gnu::cold]] void notify_those_with(mutex_type* with, which ends) noexcept {
    notification left;
    for (bool has_begun = false;;) {
      wake_list sleepers;
      {
        condition_bucket home{mutex_waiters{with}, this};
        if (has_begun) {
          if (!is_awaited_with(*with, home)) return;
        } else {
          // relaxed(locked): by I1 mutex_ stays as it is if it is `with`.
          mutex_type* const found = mutex_.load(std::memory_order_relaxed);
          if (found == nullptr) return;
          if (std::exchange(with, found) != found) continue;
          left = begin_notification(*with, home, ends);
          has_begun = true;
        }
        end_batch(*with, home, left, sleepers);
      }
      sleepers.wake();
      if (left.waits == 0) return;
    }
  }

  /// Returns whether a thread waits, and waits with this mutex, which may have ended if not. A node
  /// that is found here by the condition variable's address has its thread's condition variable at
  /// that address, which therefore exists; by I1 this bucket lock protects its mutex_.
  [[nodiscard]] bool is_awaited_with(const mutex_type& with,
                                     const condition_bucket& home) const noexcept {
    // relaxed(locked): the bucket lock protects it.
    return home.first_waiter() != nullptr && mutex_.load(std::memory_order_relaxed) == &with;
  }

  notification begin_notification(const mutex_type& with, condition_bucket& home,
                                  which ends) noexcept {
    waiter* const oldest = home.first_waiter();
    if (oldest == nullptr) {
      // The child of a fork has inherited mutex_.
      // relaxed(locked): the bucket lock protects it.
      mutex_.store(nullptr, std::memory_order_relaxed);
      return {};
    }
    learn_from(*oldest, W::now());
    if (ends == which::first) return {.waits = 1};
    // end_batch() may unpark one more.
    return {.waits = mutex_waiters::bucket::length(oldest),
            .wakes = with.looks_free() ? mutex_waiters::lot::batch - 1 : 0};
  }

  /// Adds the sleepers to wake after the bucket lock's release.
  void end_batch(mutex_type& with, condition_bucket& home, notification& left,
                 wake_list& sleepers) noexcept {
    const time_point now = W::now();
    bool moves = false;
    for (auto room = mutex_waiters::lot::batch; room > 0 && left.waits > 0; --room) {
      waiter* const oldest = home.first_waiter();
      if (oldest == nullptr) {
        left.waits = 0;
        break;
      }
      --left.waits;
      const bool is_last = mutex_waiters::bucket::length(oldest) == 1;
      // relaxed(locked): the bucket lock protects it.
      if (is_last) mutex_.store(nullptr, std::memory_order_relaxed);
      if (!oldest->spins.read() && left.wakes > 0) {
        --left.wakes;
        sleepers.add(*home.unpark_waiter(*oldest, wake_reason::retry));
      } else if (notify_or_move(home, *oldest, now)) {
        moves = true;
      }
    }
    if (!moves) return;
    if (const auto unparked = with.unpark_if_free(home)) sleepers.add(*unparked);
  }

  /// Ends one wait alone, for a stop. Returns false if the wait has ended already.
  bool interrupt(mutex_type& with, waiter& one) noexcept {
    const typename W::notifying scope{this};
    sleeper unparked = nullptr;
    bool ends = false;
    {
      condition_bucket home{mutex_waiters{&with}, this};
      ends = waits(one);
      if (ends) {
        if (notify_or_move(home, one, W::now())) unparked = with.unpark_if_free(home);
        forget_mutex_of_last(home);
      }
    }
    if (unparked != nullptr) W::wake(*unparked, 1);
    return ends;
  }

  /// Returns whether the waiter is a sleeper of the mutex from now on.
  static bool notify_or_move(condition_bucket& home, waiter& one, time_point now) noexcept {
    if (one.spins.read()) {
      static_cast<void>(home.unpark_waiter(one, wake_reason::retry));
      return false;
    }
    home.move_waiter(one, now);
    return true;
  }

  // Under the bucket lock, for callers that may come after the last notification: whether the node
  // is linked here; and, if it was until now, the last touch.

  bool waits(const waiter& one) const noexcept {
    return one.reason() == wake_reason::none && one.kind() == detail::waiter_kind::condition;
  }
  void forget_mutex_of_last(const condition_bucket& home) noexcept {
    // order[left]: release; pairs [notify]; the last touch, for a thread without the bucket lock.
    if (home.first_waiter() == nullptr) mutex_.store(nullptr, std::memory_order_release);
  }

  void learn_from(const waiter& notified, time_point now) noexcept {
    if (notified.spins.read()) {
      spin_.record_successful_spin();
    } else if (!spin_.is_worthwhile()) {
      spin_.record_wait_without_spin(now - notified.since());
    }
  }

  // The waiter's side

  /// Links the node and releases the mutex.
  void begin(mutex_type& held, mutex_waiters waiters, waiter& self) noexcept {
    self.prepare_to_sleep();
    self.spins.write(spin_.is_worthwhile());
    sleeper unparked = nullptr;
    {
      condition_bucket home{waiters, this};
      // relaxed(locked): the bucket lock protects it.
      [[maybe_unused]] const mutex_type* const other = mutex_.load(std::memory_order_relaxed);
      assert((other == nullptr || other == &held) &&
             "lockyard::condition_variable: threads wait with different mutexes");
      // relaxed(locked): as above.
      mutex_.store(&held, std::memory_order_relaxed);
      home.link_waiter(self);
      unparked = held.release_or_hand_off(home);
    }
    if (unparked != nullptr) W::wake(*unparked, 1);
  }

  /// Waits until notified and until this thread has the mutex. Returns false if there is a deadline
  /// and it passed first.
  bool wait_until_notified(mutex_type& held, mutex_waiters waiters, waiter& self,
                           typename W::deadline limit) noexcept {
    if (self.spins.read()) spin(waiters, self);
    const bool in_time = sleep(waiters, self, limit);
    // A moved waiter keeps its place, though an unlock may have unparked it already.
    if (in_time && self.kind() == detail::waiter_kind::mutex) {
      held.lock_after_move(waiters, self);
    } else if (!held.take()) {
      held.lock_contended();
    }
    return in_time;
  }

  /// Does not look at the wait's deadline, which may pass unnoticed by a spin's length.
  void spin(mutex_waiters waiters, waiter& self) noexcept {
    self.spin(W::spin_limit());
    if (self.reason() != wake_reason::none) return;
    const condition_bucket home{waiters, this};
    if (self.reason() == wake_reason::none) {
      self.spins.write(false);
      spin_.record_failed_spin();
    }
  }

  /// Sleeps until the node has a wake reason. At the deadline the node may have been moved: then
  /// the thread waits for the mutex without a deadline.
  bool sleep(mutex_waiters waiters, waiter& self, typename W::deadline limit) noexcept {
    while (self.reason() == wake_reason::none) {
      if (self.sleep(limit) == W::wait_result::timed_out) return !give_up(waiters, self);
    }
    return true;
  }

  /// Returns false if this thread was notified.
  bool give_up(mutex_waiters waiters, waiter& self) noexcept {
    condition_bucket home{waiters, this};
    if (!waits(self)) return false;
    home.unlink_waiter(self);
    self.mark_awake();
    spin_.record_failed_spin();
    forget_mutex_of_last(home);
    return true;
  }

  atomic<W, mutex_type*> mutex_{nullptr};
  [[no_unique_address]] detail::adaptive_spin<W> spin_;
};

using condition_variable = basic_condition_variable<>;

}  // namespace lockyard::inline v0
