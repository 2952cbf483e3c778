// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lockyard/detail/durations.hpp>
#include <lockyard/detail/parking_lot.hpp>
#include <lockyard/detail/waiter_summary.hpp>
#include <lockyard/world/substitutes.hpp>
#include <lockyard/world/world.hpp>

#include <atomic>
#include <cstdint>

namespace lockyard::inline v0::detail {

template <world W>
class guarded_bucket;

/// What basic_mutex keeps in its bucket, as far as it may be used without the bucket lock: the
/// waiter summary, and the active waiter. An object of this class knows the lock by its address
/// only, and may outlive the lock. guarded_bucket, below, has what needs the bucket lock.
///
/// The bucket's word `active_waiter`:
///
/// | bits | meaning |
/// |---|---|
/// | 0 | a waiter is awake and is the lock's active waiter |
/// | 1 | a sleeper has been unparked, and becomes the active waiter when it arrives |
/// | 2 to 63 | the lock's address; no meaning if bits 0 and 1 are clear |
///
/// An unlocker that relies on an active waiter may rely on either bit. There are two bits because
/// an unparked thread may take long to arrive: until then another waiter can be the active one.
template <world W>
class mutex_waiters {
 public:
  using lot = parking_lot<unwatched<W>>;
  using bucket = typename lot::bucket;
  using node = typename lot::node;
  using wake_reason = typename lot::wake_reason;
  using wake_list = typename lot::wake_list;
  /// The sleeper to wake after the release of the bucket lock; then only its address is valid.
  using sleeper = const typename lot::sleeping_word*;

  explicit mutex_waiters(const void* lock) noexcept : lock_{lock}, bucket_{lot::bucket_of(lock)} {}

  /// Returns an object to call has_no_waiters() on. If that returns false, the object must not be
  /// used any further: its bucket may be a substitute of zero bytes, for which it is never true.
  static mutex_waiters to_look_at(const void* lock) noexcept {
    return {lock, const_cast<bucket&>(lot::bucket_to_look_at(lock))};
  }

  // The waiter summary

  [[nodiscard]] waiter_summary summary() const noexcept {
    // relaxed(fence): each load that a decision relies on comes after a fence, the other side's
    // barrier, or the acquisition of the bucket lock; all other loads are hints.
    return waiter_summary{bucket_.summary.load(std::memory_order_relaxed)};
  }
  /// Whether the bucket has no waiters, and unlock needs no fence.
  [[nodiscard]] bool has_no_waiters() const noexcept {
    return summary().word() == waiter_summary::no_waiters;
  }
  /// Whether threads may sleep for this lock, by a summary that was read earlier.
  [[nodiscard]] bool may_have_waiters(waiter_summary by) const noexcept {
    return by.includes(bucket::mark_of(lock_));
  }

  // The time for which newcomers may barge

  /// The time from which newcomers may barge: of the last unpark, or when the first sleeper came,
  /// or when a newcomer found the unparked one late.
  [[nodiscard]] typename W::time_point last_unpark() const noexcept {
    // relaxed(hint): it decides how long newcomers may barge.
    return bucket_.last_unpark.load(std::memory_order_relaxed);
  }
  /// Restarts the time for which newcomers may barge. Does nothing where threads sleep for several
  /// locks: all locks of the bucket share one clock, so the waiters of another lock could restart
  /// it again and again, and this lock's time would never run out.
  void restart_patience(typename W::time_point now) noexcept {
    if (!summary().is_of_one_lock()) return;
    // relaxed(hint): as in last_unpark().
    bucket_.last_unpark.store(now, std::memory_order_relaxed);
  }

  /// Returns whether a newcomer may stay awake although others sleep, which saves wake-ups; not
  /// without a limit, and not where the clock may be another lock's.
  [[nodiscard]] bool may_barge(waiter_summary by, typename W::time_point now,
                               std::chrono::microseconds patience) const noexcept {
    return by.is_of_one_lock() && now - last_unpark() < patience;
  }

  // The active waiter

  [[nodiscard]] bool has_active_waiter() const noexcept {
    // relaxed(fence): as in summary().
    const std::uintptr_t word = bucket_.active_waiter.load(std::memory_order_relaxed);
    return is_of_this_lock(word) && (word & (awake | unparked)) != 0;
  }
  /// Whether a sleeper was unparked so long ago that it seems to lack a processor. Where threads
  /// sleep for several locks this is unknown, and the result is false; see restart_patience().
  [[nodiscard]] bool is_active_waiter_late(typename W::time_point now) const noexcept {
    if (!summary().is_of_one_lock()) return false;
    // relaxed(hint): a wrong result costs one yield too many, or one too few.
    const std::uintptr_t word = bucket_.active_waiter.load(std::memory_order_relaxed);
    return is_of_this_lock(word) && (word & unparked) != 0 && now - last_unpark() > lateness;
  }
  /// Makes the caller the active waiter. Returns false if another waiter is awake already and has
  /// that role, or if the word belongs to another lock.
  bool become_active_waiter() noexcept {
    // relaxed(fence): an unlocker that finds an active waiter relies on retire_active_waiter() and
    // on the fence or barrier that follows retire_active_waiter().
    std::uintptr_t word = bucket_.active_waiter.load(std::memory_order_relaxed);
    while ((word & (awake | unparked)) == 0 || (is_of_this_lock(word) && (word & awake) == 0)) {
      if (exchange(word, name() | awake | (word & unparked))) return true;
    }
    return false;
  }
  /// Makes the caller, which was unparked as `active`, the active waiter. Returns false if another
  /// waiter is awake and has that role; that waiter keeps it.
  bool arrive_as_active_waiter() noexcept {
    // relaxed(fence): as in `become_active_waiter`.
    std::uintptr_t word = bucket_.active_waiter.load(std::memory_order_relaxed);
    while (!exchange(word, name() | awake)) {
    }
    return (word & awake) == 0;
  }
  /// Ends the role of the caller, which is the active waiter.
  void retire_active_waiter() noexcept {
    // relaxed(fence): the owner's own release comes later; a waiter executes a barrier afterwards.
    bucket_.active_waiter.fetch_and(~awake, std::memory_order_relaxed);
  }

  // Functions for a waiter. When one returns true, its effect is visible to every later unlock: by
  // a fence if unlock has a fence too (`UnlockHasFence`), otherwise by a barrier on all cores. When
  // it returns false, some unlock may miss the effect.

  /// Links the caller's node; if the caller is the active waiter, ends that role.
  template <bool UnlockHasFence>
  bool enqueue(node& own, bool is_active) noexcept;

  /// Ends the role of the caller, which is the active waiter and does not sleep.
  template <bool UnlockHasFence>
  bool retire_visibly() noexcept;

  /// Returns the node's wake reason. If it has none, unlinks the node and returns `none`.
  wake_reason end_sleep(node& own) noexcept;

  /// Calls `change` with the guarded bucket. Wakes the sleeper that `change` returns, if any, after
  /// the release of the bucket lock.
  template <class Change>
  void under_bucket_lock(Change change) noexcept;

 private:
  friend guarded_bucket<W>;

  mutex_waiters(const void* lock, bucket& home) noexcept : lock_{lock}, bucket_{home} {}

  static constexpr std::uintptr_t awake = 1, unparked = 2;
  static constexpr std::chrono::microseconds lateness{50};

  /// The lock's address without its highest bits, which are the same for all objects.
  [[nodiscard]] std::uintptr_t name() const noexcept {
    return reinterpret_cast<std::uintptr_t>(lock_) << 2U;
  }
  [[nodiscard]] bool is_of_this_lock(std::uintptr_t word) const noexcept {
    return (word & ~(awake | unparked)) == name();
  }
  bool exchange(std::uintptr_t& from, std::uintptr_t to) noexcept {
    // relaxed(fence): as in `become_active_waiter`.
    return bucket_.active_waiter.compare_exchange_strong(from, to, std::memory_order_relaxed,
                                                         std::memory_order_relaxed);
  }

  const void* lock_;
  bucket& bucket_;
};

/// The bucket of a mutex while the calling thread holds the bucket lock: from the object's
/// construction to its end. All functions that need the bucket lock are members of this class, or
/// of condition_bucket, which adds the queue of a condition variable.
template <world W>
class guarded_bucket {
 public:
  using waiters = mutex_waiters<W>;
  using node = typename waiters::node;
  using wake_reason = typename waiters::wake_reason;
  using sleeper = typename waiters::sleeper;

  explicit guarded_bucket(waiters of) noexcept : of_{of} { of_.bucket_.bucket_lock().lock(); }
  guarded_bucket(const guarded_bucket&) = delete;
  guarded_bucket& operator=(const guarded_bucket&) = delete;
  ~guarded_bucket() { of_.bucket_.bucket_lock().unlock(); }

  // The queue of the lock

  /// Returns the first sleeper, or null.
  [[nodiscard]] node* first() noexcept {
    return of_.may_have_waiters(summary()) ? bucket().first(of_.lock_, waiter_kind::mutex)
                                           : nullptr;
  }

  /// The state of the bucket right after a node was linked.
  struct linked {
    bool is_covered;          ///< a barrier has been executed for all marks
    std::uint32_t new_marks;  ///< how often the waiter summary had got a new mark
  };
  linked link(node& own) noexcept {
    if (!summary().has_sleepers()) of_.restart_patience(own.since());
    bucket().link(own);
    add_sleepers(1);
    return {.is_covered = summary().has_issued_barrier(), .new_marks = bucket().new_marks.read()};
  }
  void unlink(node& own) noexcept {
    bucket().remove(own);
    add_sleepers(-1);
  }

  /// Unparks the first sleeper, unless the lock has an active waiter. The sleeper becomes the
  /// active waiter if the bucket's word is free to record that. Returns the sleeper to wake, or
  /// null.
  [[nodiscard]] sleeper unpark_first() noexcept {
    node* const sleeps = first();
    if (sleeps == nullptr || has_active_waiter()) return nullptr;
    of_.restart_patience(W::now());
    return unpark(*sleeps, expect_active_waiter() ? wake_reason::active : wake_reason::retry);
  }
  /// Unlinks the sleeper, and ends its sleep for this reason; the caller wakes the result.
  [[nodiscard]] sleeper unpark(node& sleeps, wake_reason reason) noexcept {
    unlink(sleeps);
    return &bucket().write_reason(sleeps, reason);
  }

  [[nodiscard]] bool has_active_waiter() const noexcept { return of_.has_active_waiter(); }
  void retire_active_waiter() noexcept { of_.retire_active_waiter(); }

  // The fence of unlock

  /// Records that the barrier that `after` required was executed, or is unavailable. The barrier
  /// covers all marks that are set, unless a new mark was set after `after`.
  void record_barrier(const node& own, const linked& after, bool had_barrier) noexcept {
    if (!had_barrier) {
      require_fence();
    } else if (bucket().is_linked(own) && bucket().new_marks.read() == after.new_marks) {
      write(summary().with_issued_barrier());
    }
  }
  /// Makes unlock execute a fence until elide_fence(), because a barrier was unavailable.
  void require_fence() noexcept { write(summary().with_fence_required()); }
  /// Lets unlock omit its fence from now on, if no thread sleeps in the bucket.
  void elide_fence() noexcept {
    if (const waiter_summary now = summary(); !now.has_sleepers()) write(now.with_fence_elided());
  }

 protected:
  [[nodiscard]] const void* lock() const noexcept { return of_.lock_; }
  [[nodiscard]] typename waiters::bucket& bucket() const noexcept { return of_.bucket_; }
  [[nodiscard]] waiter_summary summary() const noexcept { return of_.summary(); }
  void restart_patience(typename W::time_point now) noexcept { of_.restart_patience(now); }

  void write(waiter_summary changed) noexcept {
    // relaxed(fence): a barrier or fence that the sleeper executes makes the store visible.
    bucket().summary.store(changed.word(), std::memory_order_relaxed);
  }
  /// Updates the waiter summary after a change of the queues by `more` sleepers.
  void add_sleepers(std::int32_t more) noexcept {
    const waiter_summary before = summary();
    const auto locks = bucket().count(waiter_kind::mutex);
    const waiter_summary now = before.with_sleepers(
        before.sleepers() + static_cast<std::uint32_t>(more), locks.marks, locks.objects > 1);
    if (now.has_new_marks_since(before)) bucket().new_marks.write(bucket().new_marks.read() + 1);
    write(now);
  }

 private:
  /// Records that a sleeper is being unparked as the active waiter of a lock that has none. Returns
  /// false if the word belongs to another lock.
  bool expect_active_waiter() noexcept {
    // relaxed(fence): as in `become_active_waiter`.
    std::uintptr_t word = bucket().active_waiter.load(std::memory_order_relaxed);
    while ((word & (waiters::awake | waiters::unparked)) == 0 || of_.is_of_this_lock(word)) {
      if (of_.exchange(word, of_.name() | waiters::unparked | (word & waiters::awake))) return true;
    }
    return false;
  }

  waiters of_;
};

template <world W>
template <bool UnlockHasFence>
bool mutex_waiters<W>::enqueue(node& own, bool is_active) noexcept {
  own.prepare_to_sleep();
  typename guarded_bucket<W>::linked after;
  {
    guarded_bucket<W> home{*this};
    after = home.link(own);
    if (is_active) home.retire_active_waiter();
  }
  // Another thread's barrier has made the lock's mark visible to every unlock; the end of the role
  // of active waiter needs a barrier of its own.
  if (UnlockHasFence || (after.is_covered && !is_active)) {
    // order[enqueued]: seq_cst; pairs [mutex.hpp:released]; forbids the cycle named there.
    W::fence(std::memory_order_seq_cst);
    return true;
  }
  const bool had_barrier = W::asymmetric_fence_heavy();
  guarded_bucket<W>{*this}.record_barrier(own, after, had_barrier);
  return had_barrier;
}

template <world W>
template <bool UnlockHasFence>
bool mutex_waiters<W>::retire_visibly() noexcept {
  guarded_bucket<W>{*this}.retire_active_waiter();
  if constexpr (UnlockHasFence) {
    // order[retired]: seq_cst; pairs [mutex.hpp:released]; forbids the cycle named there. No client
    // of the checker covers this line, because the search is too large; the mutant
    // mutex_hands_on_without_fence does.
    W::fence(std::memory_order_seq_cst);
    return true;
  } else {
    return W::asymmetric_fence_heavy();
  }
}

template <world W>
typename mutex_waiters<W>::wake_reason mutex_waiters<W>::end_sleep(node& own) noexcept {
  const wake_reason before = own.reason();
  if (before != wake_reason::none) return before;
  guarded_bucket<W> home{*this};
  const wake_reason now = own.reason();
  if (now == wake_reason::none) home.unlink(own);
  return now;
}

template <world W>
template <class Change>
void mutex_waiters<W>::under_bucket_lock(Change change) noexcept {
  sleeper to_wake = nullptr;
  {
    guarded_bucket<W> home{*this};
    to_wake = change(home);
  }
  if (to_wake != nullptr) W::wake(*to_wake, 1);
}

}  // namespace lockyard::inline v0::detail
