// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/annotations.hpp>
#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/mutex_waiters.hpp>
#include <lockyard/detail/timed_lock.hpp>
#include <lockyard/world/default.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0 {

template <world W>
class basic_condition_variable;

/// The default mutex: it takes one byte, costs one locked operation and a plain store while no
/// thread sleeps, and its waiters sleep. docs/locks/mutex.md explains it in detail.
///
/// Use: everywhere, unless waits must be first come, first served (fair_mutex), or a thread of high
///   priority must not wait for one of low priority (pi_mutex).
/// Source: the summary and its barrier after the asymmetric Dekker protocols of D. Dice, H. Huang
///   and M. Yang (2001); the parking lot after F. Pizlo (2016); the active waiter after the
///   designated waker of M. Burrows and S. Ghemawat; the combination is this library's.
/// Guarantees: mutual exclusion; no lost wake-up (below). A newcomer may barge; once the first
///   sleeper has been unparked, a newcomer has barged past it, and its wait exceeds `patience`, the
///   next unlock that finds no active waiter hands it the lock. Not recursive. A signal handler
///   must not take a mutex, nor fork: its own thread may hold a bucket lock. In a forked child it
///   stays held if a thread held it, and only the forking thread can unlock it. The next owner may
///   destroy the mutex as soon as it holds it: after the store that releases, unlock uses the
///   bucket and the address only; if another mutex lies there by then, its first sleeper may be
///   woken for no reason. Within one process only. On x86 unlock does not order non-temporal
///   stores: they need an sfence before it.
/// Size: 1 byte. All zero bytes are the free state.
///
/// The protocol. held_ says free or held and no more, so that a plain store can release it. The
/// rest is in the parking lot's bucket (mutex_waiters.hpp) and in the nodes of the sleepers:
///
/// | word | owner writes | waiter writes | under the bucket lock | order |
/// |---|---|---|---|---|
/// | held_ | false, or nothing: a handoff | true | where it may unpark | release; acquire |
/// | summary | fence elided; an unpark's changes | mark, count, barrier | yes | relaxed, barrier |
/// | active_waiter | unparked | awake, or neither | to unpark, to sleep | relaxed, barrier |
/// | last_unpark | the time of an unpark | to restart `patience` | no | hint |
/// | reason_ in the node | retry, active or owner | none | yes | release; acquire |
///
/// Barrier: one on all cores by the waiter, or a fence on both sides. An unlocker looks at the
/// summary, releases, and looks again. Then it unparks the first sleeper, unless the lock has an
/// active waiter: one that is awake, or being woken, and bound to look at held_ again.
///
/// I1 The bucket's summary covers a linked node before its thread looks at held_ for the last time.
/// I2 An active waiter either acquires the lock, or retires under the bucket lock, then executes a
///    barrier that every unlock sees, or a fence where unlock has one too, and then looks at held_
///    again. An unparked thread takes the role before it looks, unless another waiter is awake.
/// No lost wake-up: a thread sleeps after it has entered itself in the summary, has made that
/// visible, and has still found the lock held; if the kernel has begun to refuse barriers, it looks
/// again every millisecond. An unlock that releases later sees the summary in its second look and
/// unparks the first sleeper, or finds an active waiter, whose last look, by I2, comes after the
/// release. Every thread that links its node later sees an unlock that releases under the bucket
/// lock. Lifetime: N1 to N3 of parking_lot.hpp. The mutants mutex_* hang if the second look, a
/// sleeper's barrier, or I2's barrier or fence is missing; so do those that weaken other fences.
template <world W = default_world, release_fence Fence = release_fence::asymmetric>
class LOCKYARD_CAPABILITY basic_mutex : public detail::timed_lock<basic_mutex<W, Fence>, W> {
  using mutex_waiters = detail::mutex_waiters<W>;
  using guarded_bucket = detail::guarded_bucket<W>;
  using waiter_summary = detail::waiter_summary;
  using node = typename mutex_waiters::node;
  using wake_reason = typename mutex_waiters::wake_reason;
  static constexpr bool has_fence = Fence == release_fence::full;
  /// Catches short holds at once, and leaves the line to an owner that holds it long or often: a
  /// look takes the line away from the owner, and a switch of owners moves the data too.
  using spacing = wait_policies::backing_off<32, 8192>;

 public:
  /// How long newcomers may barge past sleepers after an unpark; and the least age of a wait that
  /// ends by a handoff.
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
    release(mutex_waiters::to_look_at(this));
  }

  /// As unlock(), but if a thread sleeps for the mutex, hands it off to the first sleeper. For an
  /// owner that takes the mutex again at once and must let others have it.
  void unlock_fair() noexcept LOCKYARD_RELEASE() {
    const typename W::releasing scope{this};
    mutex_waiters waiters{this};
    if (waiters.may_have_waiters(waiters.summary())) [[unlikely]]
      return hand_off(waiters);
    release(waiters);
  }

 private:
  friend detail::timed_lock<basic_mutex, W>;
  friend basic_condition_variable<W>;

  // The owner's side. After the release the lock may be gone: `waiters` has its address as a name.
  void release(mutex_waiters waiters) noexcept {
    if (has_fence || !waiters.has_no_waiters()) [[unlikely]] {
      unlock_with_waiters();
      return;
    }
    // order[unlock]: release; pairs [take]; publishes the critical section.
    held_.store(false, std::memory_order_release);
    W::asymmetric_fence_light(W::registered);
    if (!waiters.has_no_waiters()) [[unlikely]]
      unpark_one(waiters);
  }

  /// Releases while a thread sleeps in the bucket, or the bucket needs a fence. Not cold: many
  /// locks share a bucket, and many owners come back while other threads sleep.
  [[gnu::noinline]] void unlock_with_waiters() noexcept {
    mutex_waiters waiters{this};
    const waiter_summary before = waiters.summary();
    if (waiters.may_have_waiters(before) && !waiters.has_active_waiter()) {
      return unlock_under_bucket_lock(waiters);
    }
    // order[unlock_with_waiters]: release; pairs [take]; publishes the critical section.
    held_.store(false, std::memory_order_release);
    if (has_fence || !before.may_elide_fence()) {
      // order[released]: seq_cst; pairs [mutex_waiters.hpp:enqueued, mutex_waiters.hpp:retired,
      // moved]; forbids the cycle in which this thread misses a sleeper, or a retiring active
      // waiter, and that thread, which may have the heavy fence instead, misses the release above.
      W::fence(std::memory_order_seq_cst);
    } else {
      W::asymmetric_fence_light(W::registered);
    }
    const waiter_summary now = waiters.summary();
    if (waiters.may_have_waiters(now)) {
      if (!waiters.has_active_waiter()) unpark_one(waiters);
    } else if (!has_fence && now.word() == 0) {
      elide_fence(waiters);
    }
  }

  /// Releases a lock for which a thread may sleep, and which has no active waiter.
  [[gnu::noinline, gnu::cold]] void unlock_under_bucket_lock(mutex_waiters waiters) noexcept {
    waiters.under_bucket_lock([&](guarded_bucket& home) { return release_or_hand_off(home); });
  }

  /// Hands off to the first sleeper, if there is one. An active waiter does not matter: the mutex
  /// stays held, and its next owner's unlock comes later.
  [[gnu::noinline, gnu::cold]] void hand_off(mutex_waiters waiters) noexcept {
    waiters.under_bucket_lock([&](guarded_bucket& home) {
      node* const first = home.first();
      return first != nullptr ? home.unpark(*first, wake_reason::owner) : release_or_hand_off(home);
    });
  }

  /// Hands off to the first sleeper if it was unparked before, its wait exceeds `patience`, and
  /// there is no active waiter; releases the lock otherwise. Returns the sleeper to wake.
  [[nodiscard]] typename mutex_waiters::sleeper release_or_hand_off(guarded_bucket& home) noexcept {
    node* const first = home.first();
    if (first != nullptr && first->was_unparked() && W::now() - first->since() > patience &&
        !home.has_active_waiter()) {
      return home.unpark(*first, wake_reason::owner);
    }
    // order[release_or_hand_off]: release; pairs [take]; publishes the critical section.
    held_.store(false, std::memory_order_release);
    return home.unpark_first();
  }

  [[gnu::noinline, gnu::cold]] static void unpark_one(mutex_waiters waiters,
                                                      bool has_barriers = true) noexcept {
    waiters.under_bucket_lock([&](guarded_bucket& home) {
      if (!has_barriers) home.require_fence();
      return home.unpark_first();
    });
  }

  /// Makes later unlocks leave their fence out, as soon as one unlock finds that possible.
  [[gnu::noinline, gnu::cold]] static void elide_fence(mutex_waiters waiters) noexcept {
    if (W::asymmetric_fence_register()) guarded_bucket{waiters}.elide_fence();
  }

  // For a condition variable
  [[nodiscard]] bool looks_free() const noexcept {
    // relaxed(hint): a thread that is told to retry looks itself.
    return !held_.load(std::memory_order_relaxed);
  }
  /// Called after sleepers were moved to this lock. The owner acquired it after they began to wait,
  /// so its unlock has a fence, or sees them before it releases; see condition_bucket.hpp.
  [[nodiscard]] typename mutex_waiters::sleeper unpark_if_free(guarded_bucket& home) noexcept {
    // order[moved]: seq_cst; pairs [released]; forbids the cycle named there.
    W::fence(std::memory_order_seq_cst);
    // relaxed(fence): ordered by the fence above.
    return held_.load(std::memory_order_relaxed) ? nullptr : home.unpark_first();
  }
  /// Acquires the lock for a thread whose node has been moved here.
  void lock_after_move(mutex_waiters waiters, node& self) noexcept {
    wait_in_turn(waiters, self, {.is_queued = true, .is_covered = true});
  }

  // The waiter's side
  bool take() noexcept {
    // relaxed(revalidated): the exchange catches a stale "free".
    if (held_.load(std::memory_order_relaxed)) return false;
    // order[take]: acquire; pairs [unlock, unlock_with_waiters, release_or_hand_off]; the critical
    // section starts after the last one's end.
    return !held_.exchange(true, std::memory_order_acquire);
  }

  [[gnu::noinline, gnu::cold]] void lock_contended() noexcept { take_until(W::never); }

  struct progress {
    bool is_queued = false;   ///< its node is linked, or was linked and has a wake reason
    bool is_covered = false;  ///< every later unlock sees the linked node in the summary
    bool is_active = false;   ///< it is the active waiter
    bool may_spin = false;
  };

  /// Returns false if the deadline passed first.
  [[gnu::noinline, gnu::cold]] bool take_until(typename W::deadline limit) noexcept {
    typename W::contended scope{this};
    mutex_waiters waiters{this};
    node self{this, detail::waiter_kind::mutex, W::now()};
    progress at{.may_spin = true};
    // While no thread sleeps, no unlock asks for an active waiter.
    if (const waiter_summary now = waiters.summary(); waiters.may_have_waiters(now)) {
      if (waiters.is_active_waiter_late(self.since())) {
        waiters.restart_patience(self.since());
        W::yield();
        if (take()) return true;
      }
      at.may_spin = waiters.may_barge(now, self.since(), patience);
      at.is_active = at.may_spin && waiters.become_active_waiter();
    }
    return scope.result(wait_in_turn(waiters, self, at, limit));
  }

  bool wait_in_turn(mutex_waiters waiters, node& self, progress at,
                    typename W::deadline limit = W::never) noexcept {
    for (;; at.is_queued = false) {
      if (!at.is_queued) {
        // 1. Spin: a newcomer, and later the active waiter only.
        if (at.may_spin && spin()) {
          if (at.is_active) waiters.retire_active_waiter();
          return true;
        }
        // 2. Enqueue; an active waiter retires at the same time.
        at.is_covered = waiters.template enqueue<has_fence>(self, at.is_active);
      }
      // 3. Sleep, after a last look at the lock.
      const bool in_time = sleep(self, at.is_covered, limit);
      // 4. Read the wake reason, or leave the queue without one.
      const wake_reason reason = waiters.end_sleep(self);
      if (reason == wake_reason::owner) return true;
      at.is_active = reason == wake_reason::active && waiters.arrive_as_active_waiter();
      // 5. Retry.
      if (take()) {
        if (at.is_active) waiters.retire_active_waiter();
        return true;
      }
      // 6. Give up at the deadline.
      if (!in_time) {
        give_up(waiters, at);
        return false;
      }
      // 7. Become the active waiter, unless there is one.
      at.is_active = at.is_active || waiters.become_active_waiter();
      at.may_spin = at.is_active;
    }
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
  bool sleep(const node& self, bool is_covered, typename W::deadline limit) noexcept {
    // relaxed(revalidated): take() decides; ordered by the barrier or fence of enqueue().
    while (held_.load(std::memory_order_relaxed) && self.reason() == wake_reason::none) {
      if (is_covered) {
        if (self.sleep(limit) == W::wait_result::timed_out) return false;
      } else {
        // An unlock under way may have missed the summary.
        self.sleep(W::deadline_after(std::chrono::milliseconds{1}));
        if (W::passed(limit)) return false;
      }
    }
    return true;
  }

  /// Passes on what an unlock may expect of a waiter that leaves without the lock.
  void give_up(mutex_waiters waiters, progress at) noexcept {
    if (!at.is_active) {
      // An unlock may have missed this thread in the summary, and woken no other.
      if (!at.is_covered) unpark_one(waiters);
      return;
    }
    const bool is_sure = waiters.template retire_visibly<has_fence>();
    // relaxed(fence): ordered by the fence or the barrier of retire_visibly().
    if (!is_sure || !held_.load(std::memory_order_relaxed)) unpark_one(waiters, is_sure);
  }

  atomic<W, bool> held_{false};
};

using mutex = basic_mutex<>;

namespace detail {

/// Returns whether waiters of both sleep in one bucket; studies measure the cost of that.
template <world W, release_fence Fence>
bool share_bucket(const basic_mutex<W, Fence>& one, const basic_mutex<W, Fence>& other) noexcept {
  using lot = typename mutex_waiters<W>::lot;
  return &lot::bucket_of(&one) == &lot::bucket_of(&other);
}

}  // namespace detail

}  // namespace lockyard::inline v0
