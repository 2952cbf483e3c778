// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/attendance.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

template <world W>
class basic_condition_variable;

/// The barrier between the release of a mutex and the look for its sleepers.
enum class release_fence : std::uint8_t {
  asymmetric,  ///< nothing; a sleeper makes up for it (where the kernel has membarrier)
  full,        ///< a fence
};

/// The default mutex: it takes one byte, costs one locked operation and a plain store while no
/// thread sleeps, and its waiters sleep. docs/locks/mutex.md explains it in detail.
///
/// The byte says free or held and no more, so that a plain store can release it. Everything about
/// waiters is in the parking lot's bucket (`attendance.hpp`): a summary of the waiters that sleep
/// there, and whether the lock has an active waiter, which is awake, or being woken, and bound to
/// retry. While the lock has an active waiter, unlock wakes no thread.
/// Use: everywhere, unless waits must be first come, first served (fair_mutex), or a thread of high
///   priority must not wait for one of low priority (pi_mutex).
/// Source: the summary and its barrier after the asymmetric Dekker protocols of D. Dice, H. Huang
///   and M. Yang (2001); the parking lot after F. Pizlo (2016); the active waiter after the
///   designated waker of M. Burrows and S. Ghemawat; the combination is this library's.
/// Guarantees: mutual exclusion; no lost wake-up (below). A newcomer may barge; once the first
///   sleeper has been unparked, a newcomer has barged past it, and its wait exceeds `patience`, the
///   next unlock that finds no active waiter hands it the lock. Not recursive. A signal handler
///   must take no mutex: it may wait for a bucket lock that its own thread holds. After fork, held
///   by the forking thread alone. The next owner may destroy the mutex as soon as it holds it:
///   after the store that releases, unlock uses the bucket and the address only; if another mutex
///   lies there by then, its first sleeper may be woken for no reason. Within one process only. On
///   x86 unlock does not order non-temporal stores: they need an sfence before it.
/// Size: 1 byte. All zero bytes are the free state.
///
/// | held_ | meaning |
/// |---|---|
/// | false | free |
/// | true | held, or being handed off |
///
/// I1 The bucket's summary covers a linked node before its thread looks at held_ for the last time.
/// I2 An active waiter either acquires the lock, or retires under the bucket lock and then looks at
///    held_ again; between the two it has a barrier that every unlock sees, or a fence where unlock
///    has one too. An unparked thread answers before it looks: an unlocker that relied on the woken
///    waiter now relies on the waiter that is awake.
/// No lost wake-up: a thread sleeps after it has entered itself in the summary, has made that
/// visible (by such a barrier or fence), and has still found the lock held; where the barrier is no
/// longer available, it sleeps for a millisecond at most. An unlock that releases later sees the
/// summary in its second look, takes the bucket lock, and unparks the first sleeper; or it finds an
/// active waiter, whose last look, by I2, comes after the release. Every thread that links its node
/// later sees an unlock that holds the bucket lock while it releases. Lifetime: N1 to N3 of
/// parking_lot.hpp. The mutants mutex_* hang if the second look, a sleeper's barrier, I2's barrier,
/// or I2's fence where a waiter gives up is missing; `lockyard check --mutants` weakens the other
/// fences, and each of those mutants hangs.
template <world W = default_world, release_fence Fence = release_fence::asymmetric>
class LOCKYARD_CAPABILITY basic_mutex : public detail::timed_lock<basic_mutex<W, Fence>, W> {
  using attendance = detail::attendance<W>;
  using node = typename attendance::node;
  using fate = typename attendance::fate;
  static constexpr bool has_fence = Fence == release_fence::full;
  /// Catches short holds at once, and leaves an owner that holds it long or often undisturbed.
  using spacing = wait_policies::backing_off<32, 512>;

 public:
  /// The time for which newcomers may barge past sleepers before an unlock unparks one of them.
  static constexpr std::chrono::microseconds patience{200};

  constexpr basic_mutex() noexcept = default;
  basic_mutex(const basic_mutex&) = delete;
  basic_mutex& operator=(const basic_mutex&) = delete;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex; while it is held, spins for as long as a sleep would cost, unless
  /// sleepers have waited too long, and then sleeps.
  /// Synchronisation: everything earlier owners did before unlock happens before the return.
  /// Progress: starvation-free if every owner unlocks and the scheduler runs every thread, except
  /// for the bucket lock, whose critical sections are bounded (B2 in parking_lot.hpp).
  void lock() noexcept LOCKYARD_ACQUIRE() {
    const typename W::acquiring scope{this};
    if (!take()) [[unlikely]]
      lock_contended();
  }

  /// Precondition: as lock(). Effects: acquires the mutex if it is free; returns whether it did.
  /// Synchronisation: as lock() if it returns true, none otherwise. Progress: wait-free.
  [[nodiscard]] bool try_lock() noexcept LOCKYARD_TRY_ACQUIRE(true) {
    typename W::acquiring scope{this, W::trying};
    return scope.result(take());
  }

  /// Precondition: the calling thread holds the mutex.
  /// Effects: releases it, or hands it off, and wakes at most one thread.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free while no thread sleeps in the bucket, except for the first unlock there;
  /// otherwise it may wait for the bucket lock, and it wakes at most one thread.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    release(attendance::to_look_at(this));
  }

  /// As unlock(), but if a thread sleeps for the mutex, hands it off to the oldest waiter, before
  /// any thread that spins or arrives. For an owner that takes the mutex again at once and must let
  /// others have it. Progress: as unlock().
  void unlock_fair() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    attendance waiters{this};
    if (waiters.is_concerned(waiters.announced())) [[unlikely]]
      return hand_over(waiters);
    release(waiters);
  }

  /// Returns whether waiters of both sleep in one bucket; studies measure the cost of that.
  static bool shares_bucket(const basic_mutex& one, const basic_mutex& other) noexcept {
    return &attendance::lot::bucket_of(&one) == &attendance::lot::bucket_of(&other);
  }

 private:
  friend detail::timed_lock<basic_mutex, W>;
  friend basic_condition_variable<W>;

  // The owner's side. After the release the lock may be gone: `waiters` has its address as a name.

  /// Releases the lock and looks at the bucket of `waiters`.
  void release(attendance waiters) noexcept {
    if (has_fence || !waiters.is_silent()) [[unlikely]] {
      unlock_watched();
      return;
    }
    // order[unlock]: release; pairs [take]; publishes the critical section.
    held_.store(false, std::memory_order_release);
    W::asymmetric_fence_light(W::registered);
    if (!waiters.is_silent()) [[unlikely]]
      rouse_one(waiters);
  }

  /// Releases while a thread sleeps in the bucket, or the bucket needs a fence. Not cold: many
  /// locks share a bucket, and many owners come back while other threads sleep.
  [[gnu::noinline]] void unlock_watched() noexcept {
    attendance waiters{this};
    const detail::announcement before = waiters.announced();
    const bool concerned = waiters.is_concerned(before);
    if (concerned && !waiters.is_attended()) return unlock_guarded(waiters);
    // order[unlock_watched]: release; pairs [take]; publishes the critical section.
    held_.store(false, std::memory_order_release);
    if (has_fence || !before.is_open()) {
      // order[released]: seq_cst; pairs [attendance.hpp:joined, attendance.hpp:left, moved];
      // forbids the cycle in which this thread misses a sleeper, or a retiring active waiter, and
      // that thread, which may have the heavy fence instead, misses the release above.
      W::fence(std::memory_order_seq_cst);
    } else {
      W::asymmetric_fence_light(W::registered);
    }
    const detail::announcement now = waiters.announced();
    if (waiters.is_concerned(now)) {
      if (!waiters.is_attended()) rouse_one(waiters);
    } else if (!has_fence && now.word() == 0) {
      open(waiters);
    }
  }

  /// Releases a lock for which a thread may sleep, and which has no active waiter.
  [[gnu::noinline, gnu::cold]] void unlock_guarded(attendance waiters) noexcept {
    waiters.under_guard([&] { return release_guarded(waiters); });
  }

  /// Hands off to the first sleeper, if there is one. An active waiter does not matter: the mutex
  /// stays held, and its next owner's unlock comes later.
  [[gnu::noinline, gnu::cold]] void hand_over(attendance waiters) noexcept {
    waiters.under_guard([&] {
      node* const first = waiters.first();
      return first != nullptr ? waiters.release(*first, fate::owner) : release_guarded(waiters);
    });
  }
  /// Under the bucket lock; returns the sleeper to wake after the bucket lock's release.
  [[nodiscard]] typename attendance::sleeper release_guarded(attendance& waiters) noexcept {
    node* const first = waiters.first();
    if (first != nullptr && first->was_roused() && W::now() - first->since() > patience &&
        !waiters.is_attended()) {
      return waiters.release(*first, fate::owner);
    }
    // order[unlock_guarded]: release; pairs [take]; publishes the critical section.
    held_.store(false, std::memory_order_release);
    return waiters.rouse();
  }

  /// Returns a hint for a condition variable.
  [[nodiscard]] bool seems_free() const noexcept {
    // relaxed(hint): a thread that is told to retry looks itself.
    return !held_.load(std::memory_order_relaxed);
  }
  /// Under the bucket lock, after a condition variable has moved sleepers to this lock. The owner
  /// acquired it after they began to wait, so its unlock has a fence, or sees them before it
  /// releases; see `attendance.hpp`.
  [[nodiscard]] typename attendance::sleeper rouse_if_free(attendance& waiters) noexcept {
    // order[moved]: seq_cst; pairs [released]; forbids the cycle named there.
    W::fence(std::memory_order_seq_cst);
    // relaxed(fence): ordered by the fence above.
    return held_.load(std::memory_order_relaxed) ? nullptr : waiters.rouse();
  }

  [[gnu::noinline, gnu::cold]] static void rouse_one(attendance waiters,
                                                     bool has_barriers = true) noexcept {
    waiters.under_guard([&] {
      if (!has_barriers) waiters.close();
      return waiters.rouse();
    });
  }

  /// Makes later unlocks leave their fence out, as soon as one unlock finds that possible.
  [[gnu::noinline, gnu::cold]] static void open(attendance waiters) noexcept {
    if (!W::asymmetric_fence_register()) return;
    waiters.guard().lock();
    waiters.open();
    waiters.guard().unlock();
  }

  // The waiter's side

  bool take() noexcept {
    // relaxed(revalidated): the exchange catches a stale "free".
    if (held_.load(std::memory_order_relaxed)) return false;
    // order[take]: acquire; pairs [unlock, unlock_watched, unlock_guarded]; the critical section
    // starts after the last one's end.
    return !held_.exchange(true, std::memory_order_acquire);
  }

  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
    const typename W::contended scope{this};
    wait_for_turn();
  }
  [[gnu::noinline, gnu::cold]] bool take_until(typename W::deadline limit) noexcept {
    typename W::contended scope{this};
    return scope.result(wait_for_turn(limit));
  }

  template <class... Deadline>
  bool wait_for_turn(Deadline... limit) noexcept {
    attendance waiters{this};
    node self{this, detail::waiter_kind::mutex, W::now()};
    bool stays_awake = true;
    bool attends = false;
    // While no thread sleeps, no unlock asks for an active waiter.
    if (const detail::announcement now = waiters.announced(); waiters.is_concerned(now)) {
      if (waiters.is_late(self.since())) {
        waiters.restart_patience(self.since());
        W::yield();
        if (take()) return true;
      }
      stays_awake = may_overtake(waiters, self, now);
      attends = stays_awake && waiters.attend();
    }
    if (stays_awake && spin()) {
      if (attends) waiters.stop_attending();
      return true;
    }
    const bool is_covered = waiters.template join<has_fence>(self, attends);
    return sleep_until_turn(waiters, self, is_covered, limit...);
  }

  /// Waits from the sleep on, which may have ended. The summary covers the linked node, or the node
  /// has its wake reason.
  template <class... Deadline>
  bool sleep_until_turn(attendance waiters, node& self, bool is_covered,
                        Deadline... limit) noexcept {
    for (;;) {
      const bool in_time = sleep(self, is_covered, limit...);
      const fate told = waiters.end_sleep(self);
      if (told == fate::owner) return true;
      bool attends = told == fate::designated && waiters.answer();
      if (take()) {
        if (attends) waiters.stop_attending();
        return true;
      }
      if (!in_time) {
        if (attends) {
          hand_on(waiters);
        } else if (!is_covered) {
          // An unlock may have relied on this thread before its sleep.
          rouse_one(waiters);
        }
        return false;
      }
      attends = attends || waiters.attend();
      if (attends && spin()) {
        waiters.stop_attending();
        return true;
      }
      is_covered = waiters.template join<has_fence>(self, attends);
    }
  }

  /// Returns whether a newcomer may stay awake although others sleep, which saves wake-ups; not
  /// without a limit, and not where the bucket's clock may be another lock's.
  static bool may_overtake(const attendance& waiters, const node& self,
                           detail::announcement now) noexcept {
    return now.is_of_one_lock() && self.since() - waiters.relieved() < patience;
  }

  bool spin() noexcept {
    const auto limit = W::spin_limit();
    spacing between_looks;
    // relaxed(revalidated): take() decides.
    while (W::await(held_, is_zero, std::memory_order_relaxed, between_looks, limit)) {
      if (take()) return true;
    }
    return false;
  }

  /// Sleeps until the node has a wake reason, or the lock looks free, or the deadline has passed;
  /// returns false in the last case.
  template <class... Deadline>
  bool sleep(const node& self, bool is_covered, Deadline... limit) noexcept {
    // relaxed(revalidated): take() decides; the summary's fence orders it after the summary.
    while (held_.load(std::memory_order_relaxed) && self.seen() == fate::asleep) {
      if (is_covered) {
        if (self.sleep(limit...) == W::wait_result::timed_out) return false;
      } else {
        // An unlock under way may have missed the summary.
        self.sleep(W::deadline_after(std::chrono::milliseconds{1}));
        if ((W::passed(limit) || ...)) return false;
      }
    }
    return true;
  }

  /// Retires an active waiter that gives up. If an unlock may have relied on it unseen, it unparks
  /// another thread to look.
  void hand_on(attendance waiters) noexcept {
    const bool is_sure = waiters.template leave<has_fence>();
    // relaxed(fence): ordered by the fence or the barrier of leave().
    if (!is_sure || !held_.load(std::memory_order_relaxed)) rouse_one(waiters, is_sure);
  }

  typename W::template atomic<bool> held_{false};
};

using mutex = basic_mutex<>;

}  // namespace lockyard::inline v0
