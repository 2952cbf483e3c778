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

/// What stands between the release of a mutex and the look for its sleepers.
enum class release_fence : std::uint8_t {
  asymmetric,  ///< nothing; whoever goes to sleep makes up for it (where the kernel has membarrier)
  full,        ///< a fence
};

/// The mutex to take by default: one byte, one locked operation and a plain store while nobody
/// sleeps, and it sleeps. docs/locks/mutex.md tells it at length.
///
/// The byte says free or held and no more, so that a plain store can release it. Everything about
/// waiters is in the parking lot's bucket (attendance.hpp): an announcement of who sleeps there,
/// and whether the lock is attended, which means that one of its waiters is awake, or on its way,
/// and others count on it. While the lock is attended unlock wakes nobody.
/// Use: everywhere, unless waits must be first come first served (fair_mutex), or a thread of high
///   priority must not wait for one of low priority (pi_mutex).
/// Source: the announcement and its barrier after the asymmetric Dekker protocols of D. Dice, H.
///   Huang and M. Yang (2001); the parking lot after F. Pizlo (2016); the one awake waiter after
///   the designated waker of M. Burrows and S. Ghemawat; the combination is this library's.
/// Guarantees: mutual exclusion; no lost wake-up (below). A newcomer may overtake; the first
///   sleeper, once roused, overtaken, and waiting for longer than `patience`, is handed the lock at
///   the next unlock that finds it unattended. Not recursive. A signal handler must take no mutex:
///   it may wait for the guard of a bucket that its own thread holds. After fork, held by the
///   forking thread alone. May be destroyed by the next owner as soon as that one holds it: after
///   the store that releases, unlock uses the bucket and the address only; if another mutex lies
///   there by then, its first sleeper may be woken for no reason. Within one process only. On x86
///   unlock does not order non-temporal stores: they need an sfence before it.
/// Size: 1 byte. All zero bytes are the free state.
///
/// | held_ | meaning |
/// |---|---|
/// | false | free |
/// | true | held, or being handed over |
///
/// I1 A linked node is announced in its bucket before its thread looks at held_ for the last time.
/// I2 A thread that attends the lock either acquires it, or ends its attendance under the guard
///    and then looks at held_ again, with a barrier between that every unlock sees, or a fence
///    where unlock has one too. A thread that was called answers before it looks: an unlock that
///    relied on it relies from then on on the thread that is awake.
/// No lost wake-up: a thread sleeps after it has announced itself, has made that visible (by such a
/// barrier or fence), and has still found the lock held; where no barrier can be had any more, it
/// sleeps for a millisecond at most. An unlock that releases later sees the announcement in its
/// second look, takes the guard, and ends the sleep of the first one; or it finds the lock
/// attended, and by I2 that thread's last look comes after the release. An unlock that holds the
/// guard while it releases is seen by every thread that links its node later. Lifetime: N1 to N3 of
/// parking_lot.hpp. The mutants mutex_* hang if the second look or a sleeper's barrier goes, or
/// I2's barrier, or its fence where a waiter gives up; `lockyard check --mutants` weakens the other
/// fences, and each then hangs.
template <world W = default_world, release_fence Fence = release_fence::asymmetric>
class LOCKYARD_CAPABILITY basic_mutex : public detail::timed_lock<basic_mutex<W, Fence>, W> {
  using attendance = detail::attendance<W>;
  using node = typename attendance::node;
  using fate = typename attendance::fate;
  static constexpr bool has_fence = Fence == release_fence::full;
  /// Short holds are taken over at once; an owner that holds it long or often is left in peace.
  using spacing = wait_policies::backing_off<32, 512>;

 public:
  /// How long newcomers may overtake sleepers before one of them is roused.
  static constexpr std::chrono::microseconds patience{200};

  constexpr basic_mutex() noexcept = default;
  basic_mutex(const basic_mutex&) = delete;
  basic_mutex& operator=(const basic_mutex&) = delete;

  /// Precondition: the calling thread does not hold the mutex.
  /// Effects: acquires the mutex; while it is held, spins for as long as a sleep would cost, unless
  /// sleepers have waited too long, and then sleeps.
  /// Synchronisation: what earlier owners did before unlock happens before the return.
  /// Progress: starvation-free if every owner unlocks and every thread is run by the scheduler, but
  /// for the guard of the bucket, which is held for some dozen instructions.
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
  /// Effects: releases it, or hands it over, and wakes at most one thread.
  /// Synchronisation: everything done before happens before the next acquisition's return.
  /// Progress: wait-free while nobody sleeps in the bucket, but for the first unlock there; else
  /// it may wait for the bucket's guard, and it wakes at most one thread.
  void unlock() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    release(attendance::to_look_at(this));
  }

  /// As unlock(), but hands the mutex over if a thread sleeps for it: to the one that has waited
  /// for longest, before any thread that spins or comes. For an owner that takes the mutex again at
  /// once and is not to keep others from it. Progress: as unlock().
  void unlock_fair() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    attendance waiters{this};
    if (waiters.is_concerned(waiters.announced())) [[unlikely]]
      return hand_over(waiters);
    release(waiters);
  }

  /// Whether waiters of both sleep in one bucket: for studies of what that costs.
  static bool shares_bucket(const basic_mutex& one, const basic_mutex& other) noexcept {
    return &attendance::lot::bucket_of(&one) == &attendance::lot::bucket_of(&other);
  }

 private:
  friend detail::timed_lock<basic_mutex, W>;
  friend basic_condition_variable<W>;

  // The owner's side. After the release the lock may be gone: `waiters` has its address as a name.

  /// With a bucket to look at.
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

  /// Somebody sleeps in the bucket, or it is not open. Not cold: many locks share a bucket, and
  /// many an owner comes back while others sleep.
  [[gnu::noinline]] void unlock_watched() noexcept {
    attendance waiters{this};
    const detail::announcement before = waiters.announced();
    const bool concerned = waiters.is_concerned(before);
    if (concerned && !waiters.is_attended()) return unlock_guarded(waiters);
    // order[unlock_watched]: release; pairs [take]; publishes the critical section.
    held_.store(false, std::memory_order_release);
    if (has_fence || !before.is_open()) {
      // order[released]: seq_cst; pairs [attendance.hpp:joined, attendance.hpp:left, moved];
      // forbids the cycle in which this thread misses a sleeper, or an end of attendance, and that
      // one, who may have the heavy fence instead, the release above.
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

  /// Somebody may sleep for this lock, and nobody attends it.
  [[gnu::noinline, gnu::cold]] void unlock_guarded(attendance waiters) noexcept {
    waiters.under_guard([&] { return release_guarded(waiters); });
  }

  /// To the first sleeper, if there is one. Whether the mutex is attended does not matter: it stays
  /// held, and its next owner's unlock comes later.
  [[gnu::noinline, gnu::cold]] void hand_over(attendance waiters) noexcept {
    waiters.under_guard([&] {
      node* const first = waiters.first();
      return first != nullptr ? waiters.release(*first, fate::owner) : release_guarded(waiters);
    });
  }
  /// Under the guard; returns whom to wake behind it.
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

  /// A hint for a condition variable.
  [[nodiscard]] bool seems_free() const noexcept {
    // relaxed(hint): who is told that it may go on looks itself.
    return !held_.load(std::memory_order_relaxed);
  }
  /// Under the guard, when a condition variable has moved sleepers to this lock. Who owns it
  /// acquired it after they began to wait, so its unlock has a fence, or sees them before it
  /// releases; see attendance.hpp.
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

  /// From the first unlock on that finds it possible, unlock leaves its fence out.
  [[gnu::noinline, gnu::cold]] static void open(attendance waiters) noexcept {
    if (!W::asymmetric_fence_register()) return;
    waiters.guard().lock();
    waiters.open();
    waiters.guard().unlock();
  }

  // The waiter's side

  bool take() noexcept {
    // relaxed(revalidated): a stale "free" is caught by the exchange.
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
    // While nobody sleeps nobody asks who is awake.
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

  /// From the sleep on, which may have ended. The node is linked and announced, or has been told
  /// something.
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
          // An unlock may have counted on this thread before its sleep.
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

  /// Newcomers stay awake in front of sleepers, for it saves wake-ups; but not for ever, and not
  /// where the bucket's clock may be another lock's.
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

  /// Until the node was told something, or the lock looks free, or the deadline has passed; false
  /// in the last case.
  template <class... Deadline>
  bool sleep(const node& self, bool is_covered, Deadline... limit) noexcept {
    // relaxed(revalidated): take() decides; ordered behind the announcement by its fence.
    while (held_.load(std::memory_order_relaxed) && self.seen() == fate::asleep) {
      if (is_covered) {
        if (self.sleep(limit...) == W::wait_result::timed_out) return false;
      } else {
        // An unlock under way may have missed the announcement.
        self.sleep(W::deadline_after(std::chrono::milliseconds{1}));
        if ((W::passed(limit) || ...)) return false;
      }
    }
    return true;
  }

  /// By a waiter that gives up while others count on it. If an unlock may have done so without
  /// being seen, somebody else looks.
  void hand_on(attendance waiters) noexcept {
    const bool is_sure = waiters.template leave<has_fence>();
    // relaxed(fence): ordered by the fence or the barrier of leave().
    if (!is_sure || !held_.load(std::memory_order_relaxed)) rouse_one(waiters, is_sure);
  }

  typename W::template atomic<bool> held_{false};
};

using mutex = basic_mutex<>;

}  // namespace lockyard::inline v0
